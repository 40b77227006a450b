"""CPU time of runs on the virtual clock, the native core against Python's.

Runs of the papers' default point by picoquic, and by the kernel's TCP and MPTCP where there is a
guest, in pairs one behind the other; the ratio is the median of the pairs'. A guest's own time is
part of it. Both cores give the same results, which is checked too. With `--rows` also split
policies in Python, which the native core calls for each packet, and QUIC by aioquic.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from minitopo_dc.linux_guest.library import missing
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual

LATE = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
ROWS: dict[str, dict[str, Any]] = {
    "dc": {"mode": "dc"},
    "one leg": {"mode": "sc"},
    "multipath": {"mode": "multipath", "transport": "mpquic-picoquic"},
    "dc, least-delay, late": {"mode": "dc", "pdcp": LATE},
}
OTHER_ROWS: dict[str, dict[str, Any]] = {
    "aioquic": {"mode": "dc", "transport": "quic"},
    "threshold": {"mode": "dc", "pdcp": {"split": "threshold"}},
    "bandit": {"mode": "dc", "pdcp": {"split": "bandit", "report_ms": 20}},
    "threshold-late": {"mode": "dc", "pdcp": LATE | {"split": "threshold"}},
}
GUEST_ROWS: dict[str, dict[str, Any]] = {
    "tcp, one leg": {"mode": "sc", "transport": "tcp"},
    "tcp, dc": {"mode": "dc", "transport": "tcp"},
    "mptcp": {"mode": "multipath", "transport": "mptcp"},
    "tcp, dc, least-delay, late": {"mode": "dc", "transport": "tcp", "pdcp": LATE},
}
"""The same with end hosts in a guest."""


class Pair(NamedTuple):
    """CPU times (s) of one scenario's runs on both cores, and the simulated time (s)."""

    python_s: float
    native_s: float
    simulated_s: float


def cpu_s() -> float:
    """Return the CPU time (s) of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def pair(fields: dict[str, Any], size_mb: float) -> Pair:
    """Run a scenario on Python's core and on the native one.

    Raises:
        RuntimeError: a run failed, or the results are not the same.
    """
    times: list[float] = []
    results = []
    for core in ("python", "native"):
        values: dict[str, Any] = {
            "transport": "quic-picoquic",
            "clock": "virtual",
            "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
            "workload": {"size_mb": size_mb},
            "virtual": {"core": core},
        }
        scenario = Scenario.check(values | fields, "benchmark")
        with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
            begin = cpu_s()
            results.append(run_virtual(scenario, Path(name)))
            times.append(cpu_s() - begin)
    one, other = results
    if one.completion_s is None or one.completion_s != other.completion_s:
        raise RuntimeError("; ".join(f"{run.reason or run.completion_s}" for run in results))
    return Pair(times[0], times[1], one.completion_s)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--size", type=float, default=40, metavar="MB")
    usual = [*ROWS, *(() if missing() else GUEST_ROWS)]
    known = ROWS | OTHER_ROWS | GUEST_ROWS
    parser.add_argument("--rows", nargs="+", choices=known, default=usual)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure CPU time of runs on the virtual clock, the native core against Python's."""
    known = ROWS | OTHER_ROWS | GUEST_ROWS
    pairs: dict[str, list[Pair]] = {name: [] for name in options.rows}
    for name in pairs:
        pair(known[name], 0.1)  # what is imported and compiled once
    for _ in range(options.pairs):
        for name, measured in pairs.items():
            measured.append(pair(known[name], options.size))
    return {name: summary(measured) for name, measured in pairs.items()}


def summary(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the medians of a row, all its ratios, and how fast simulated time passes."""
    ratios = sorted(round(pair.python_s / pair.native_s, 2) for pair in pairs)
    return {
        "python_s": round(median(pair.python_s for pair in pairs), 3),
        "native_s": round(median(pair.native_s for pair in pairs), 3),
        "ratio": median(ratios),
        "ratios": ratios,
        "simulated_s_per_cpu_s": round(median(pair.simulated_s / pair.native_s for pair in pairs)),
    }
