"""Stops of a process in a download on the real clock: what they cost, and whether it is told.

Each stop has an undisturbed run of the same download right before it, whose goodput is the
reference: what loads the machine meanwhile has a part in both.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

from minitopo_dc.cli.screen import progress
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.trust import OFF
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch

if TYPE_CHECKING:  # what needs Mininet is imported when it is used: other benchmarks run without
    from minitopo_dc.real.run import Disturb
    from minitopo_dc.real.watch import Watch

MB_PER_S = 2.3
"""What such a download gets over its leg of 20 Mbit/s."""
SHORTEST_S, LONGEST_S = 0.05, 1.0
LATEST = 0.9
"""Of the download: the latest begin of a stop."""
PARTS = ("gnb", "ue", "server", "client")
POLL_S = 0.01


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the goodput and the verdict of downloads in which a process is stopped (root)."""
    rng = Random(options.seed)
    turns = [*product(range(options.repetitions), options.seconds, PARTS)]
    rows = [
        _pair(seconds, part, rng)
        for _, seconds, part in progress(turns, lambda turn: f"{turn[2]} stopped in {turn[1]:g} s")
    ]
    referred = [row for row in rows if row["error"] is not None and row["reference"] == "ok"]
    wrong = [row for row in referred if abs(row["error"]) > OFF]
    return {
        "pairs": len(rows),
        "with an undisturbed reference": len(referred),
        "wrong": len(wrong),
        "wrong and ok": [row for row in wrong if row["status"] == "ok"],
        "right and disturbed": sum(
            row["status"] == "disturbed" for row in referred if row not in wrong
        ),
        "rows": rows,
    }


def _pair(seconds: float, part: str, rng: Random) -> dict[str, Any]:
    scenario = _scenario(size_mb=MB_PER_S * seconds)
    stop_s = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** rng.random()
    after_s = rng.uniform(0.5, 0.5 + LATEST * seconds)
    before = _run(scenario, lambda _: nullcontext())
    stopped = _run(scenario, lambda watch: _stop(watch, part, after_s, stop_s))
    reference, goodput = _goodput(before), _goodput(stopped)
    evidence = stopped.details.get("trust", {}).get("evidence", {})
    return {
        "seconds": seconds,
        "part": part,
        "stop_s": round(stop_s, 3),
        "reference": before.status,
        "error": None if not reference or goodput is None else round(goodput / reference - 1, 4),
        "status": stopped.status,
        "lost": evidence.get("lost", {}).get("machine"),
        "stopped": max(evidence.get("stopped", {}).values(), default=0.0),
    }


def _scenario(size_mb: float) -> Scenario:
    """Return a download over one leg whose queue loses nothing: losses would scatter goodput."""
    downlink = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 1000}
    values = {
        "clock": "real",
        "transport": "quic",
        "mode": "sc",
        "congestion_control": "reno",
        "options": {"receive_buffer_bytes": None},
        "legs": [{"downlink": downlink, "uplink": downlink | {"queue_packets": 10_000}}] * 2,
        "workload": {"size_mb": size_mb},
    }
    return Scenario.check(values, "benchmarks stops")


def _goodput(result: RunResult) -> float | None:
    """Return the goodput in Mbit/s, also of a run that is disturbed."""
    goodput = result.details.get("as_measured", {}).get("goodput_mbps", result.goodput_mbps)
    return goodput if goodput is None else float(goodput)


def _run(scenario: Scenario, disturb: Disturb) -> RunResult:
    from minitopo_dc.real.run import run_real  # noqa: PLC0415 (Mininet)

    with scratch() as directory:
        return run_real(scenario, directory, disturb=disturb)


@contextmanager
def _stop(watch: Watch, part: str, after_s: float, stop_s: float) -> Iterator[None]:
    """Stop a part's process for `stop_s`, `after_s` after it began; never later than the block."""
    over = threading.Event()

    def work() -> None:
        while (pid := watch.pids().get(part)) is None:
            if over.wait(POLL_S):
                return
        if not over.wait(after_s):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                over.wait(stop_s)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the downloads."""
    parser.add_argument("--repetitions", type=int, default=3, help="of each stop (3)")
    parser.add_argument("--seed", type=int, default=1, help="of lengths and moments (1)")
    parser.add_argument(
        "--seconds", type=float, nargs="+", default=[1, 2, 5, 10, 20], help="of the downloads"
    )
