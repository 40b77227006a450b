"""CPU time of runs on the virtual clock, the native core against Python's.

Runs of the papers' default point by picoquic, and by the kernel's TCP and MPTCP where there is a
guest, in pairs one behind the other; the ratio is the median of the pairs'. A guest's own time is
part of it. Both cores give the same results, which is checked too. With `--rows` also split
policies in Python, which the native core calls for each packet, and QUIC by aioquic.
"""

from __future__ import annotations

import argparse
import resource
from typing import Any

import pandas as pd

from minitopo_dc.cli.screen import progress
from minitopo_dc.linux_guest import obstacle
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch
from minitopo_dc.virtual.run import run_virtual

LATE = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
PLAIN = {
    "downlink": {"rate_mbps": 700, "delay_ms": 6, "jitter_ms": 0, "queue_packets": 4096},
    "uplink": {"rate_mbps": 76, "jitter_ms": 0, "queue_packets": 2000},
}
"""What a carrier of n78 carries, without slots and HARQ."""
ROWS: dict[str, dict[str, Any]] = {
    "dc": {"mode": "dc"},
    "one leg": {"mode": "sc"},
    "multipath": {"mode": "multipath", "transport": "mpquic-picoquic"},
    "dc, least-delay, late": {"mode": "dc", "pdcp": LATE},
}
OTHER_ROWS: dict[str, dict[str, Any]] = {
    "radio leg": {"mode": "sc", "legs": [{"carrier": "nr-tdd-100"}]},
    "plain leg": {"mode": "sc", "legs": [PLAIN]},
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
KNOWN = ROWS | OTHER_ROWS | GUEST_ROWS


def cpu_s() -> float:
    """Return the CPU time (s) of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def pair(fields: dict[str, Any], size_mb: float) -> dict[str, float]:
    """Return CPU times (s) of a scenario on both cores, their ratio, and how fast time passes.

    Raises:
        RuntimeError: a run failed, or the results are not the same.
    """
    times, results = {}, []
    for core in ("python", "native"):
        values: dict[str, Any] = {
            "transport": "quic-picoquic",
            "clock": "virtual",
            "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
            "workload": {"size_mb": size_mb},
            "virtual": {"core": core},
        }
        scenario = Scenario.check(values | fields, "benchmark")
        with scratch() as directory:
            begin = cpu_s()
            results.append(run_virtual(scenario, directory))
            times[f"{core}_s"] = cpu_s() - begin
    simulated_s = results[1].completion_s
    if simulated_s is None or simulated_s != results[0].completion_s:
        raise RuntimeError("; ".join(f"{run.reason or run.completion_s}" for run in results))
    native_s = times["native_s"]
    rates = {"ratio": times["python_s"] / native_s, "simulated_s_per_cpu_s": simulated_s / native_s}
    return times | rates


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--size", type=float, default=40, metavar="MB")
    usual = [*ROWS, *(() if obstacle() else GUEST_ROWS)]
    parser.add_argument("--rows", nargs="+", choices=KNOWN, default=usual)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure CPU time of runs on the virtual clock, the native core against Python's."""
    for name in options.rows:
        pair(KNOWN[name], 0.1)  # what is imported and compiled once
    rows = [
        {"row": name} | pair(KNOWN[name], options.size)
        for name in progress([*options.rows] * options.pairs)
    ]
    groups = pd.DataFrame(rows).groupby("row", sort=False)
    ratios = groups["ratio"].agg(lambda values: sorted(values.round(2)))
    table: dict[Any, Any] = groups.median().round(3).assign(ratios=ratios).to_dict("index")
    return table
