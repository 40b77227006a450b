"""The native core against Python's: `python -m benchmarks.native_core` (no root, some minutes).

`--rows` says which runs; split policies in Python are in `fixed`, `threshold`, `bandit` and
`threshold-late`.

CPU time of runs of the papers' default point by picoquic, and by the kernel's TCP and MPTCP where
there is a guest, in pairs one behind the other, and the medians of the pairs' ratios. A guest's own
time is part of it. Both cores give the same results, which is checked too.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from minitopo_dc.linux_guest.library import missing
from minitopo_dc.pdcp import LegView, split_policy
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual

PAIRS = 9
SIZE_MB = 40
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
ASKED_ROWS: dict[str, dict[str, Any]] = {
    "fixed": {"mode": "dc", "pdcp": {"split": "benchmark-fixed"}},
    "threshold": {"mode": "dc", "pdcp": {"split": "threshold"}},
    "bandit": {"mode": "dc", "pdcp": {"split": "bandit", "report_ms": 20}},
    "threshold-late": {"mode": "dc", "pdcp": LATE | {"split": "threshold"}},
}
"""Split policies in Python, which the native core asks for each packet."""
GUEST_ROWS: dict[str, dict[str, Any]] = {
    "tcp, one leg": {"mode": "sc", "transport": "tcp"},
    "tcp, dc": {"mode": "dc", "transport": "tcp"},
    "mptcp": {"mode": "multipath", "transport": "mptcp"},
    "tcp, dc, least-delay, late": {"mode": "dc", "transport": "tcp", "pdcp": LATE},
}
"""The same with end hosts in a guest."""


@split_policy("benchmark-fixed")
class FixedShare:
    """A policy of one's own, that of docs/split-policies.md, which does not see its legs."""

    def __init__(self, legs: int) -> None:
        """Begin with nothing sent; `legs` has to be 2."""
        assert legs == 2
        self._sum = 0

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        """Return leg 1 for 70 % of all packets, and leg 0 for the others."""
        self._sum += 70
        if self._sum < 100:
            return (1,)
        self._sum -= 100
        return (0,)


def timed(core: str, fields: dict[str, Any], size_mb: float) -> tuple[float, RunResult]:
    """Return the CPU time (s) of one run in this process, and its result."""
    values: dict[str, Any] = {
        "transport": "quic-picoquic",
        "clock": "virtual",
        "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
        "workload": {"size_mb": size_mb},
        "virtual": {"core": core},
    }
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        scenario = Scenario.check(values | fields, "benchmark")
        begin = cpu_s()
        result = run_virtual(scenario, Path(name))
        return cpu_s() - begin, result


def cpu_s() -> float:
    """Return the CPU time (s) of this process and of its children that have ended."""
    return sum(os.times()[:4])


def ratio(fields: dict[str, Any], size_mb: float) -> tuple[float, float]:
    """Return the CPU time (s) of Python's core and of the native one, for the same scenario.

    Raises:
        RuntimeError: a run failed, or the results are not the same.
    """
    (python, one), (native, other) = (timed(core, fields, size_mb) for core in ("python", "native"))
    if (one.status, other.status) != ("ok", "ok") or one.completion_s != other.completion_s:
        raise RuntimeError(
            f"{one.reason or one.completion_s}; {other.reason or other.completion_s}"
        )
    return python, native


def measure(pairs: int, size_mb: float, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of each row; each repetition has all rows."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for fields in rows.values():
        ratio(fields, 0.1)  # what is imported and compiled once
    for _ in range(pairs):
        for name, fields in rows.items():
            found[name].append(ratio(fields, size_mb))
    return {
        name: {
            "python_s": round(median(each[0] for each in times), 3),
            "native_s": round(median(each[1] for each in times), 3),
            "ratio": round(median(one / other for one, other in times), 2),
            "ratios": sorted(round(one / other, 2) for one, other in times),
        }
        for name, times in found.items()
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--size", type=float, default=SIZE_MB, metavar="MB")
    known = ROWS | ASKED_ROWS | GUEST_ROWS
    usual = [*ROWS, *(() if missing() else GUEST_ROWS)]
    parser.add_argument("--rows", nargs="+", choices=known, default=usual)
    arguments = parser.parse_args()
    rows = {name: known[name] for name in arguments.rows}
    print(json.dumps(measure(arguments.pairs, arguments.size, rows), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
