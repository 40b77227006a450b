"""Advice for a user's own legs: Dual Connectivity or multipath, a tie, or not enough evidence.

`minitopo-dc advise` and `advise` are the same: each leg alone, Dual Connectivity and multipath run
over the legs on the virtual clock, seed after seed, until the interval of the difference is on one
side of the margin or the time is up (docs/advise.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.advice.candidates import QUIC, candidates_of, judged_of
from minitopo_dc.advice.neighbours import neighbours_of
from minitopo_dc.advice.sequence import Advice, Progress, Runs, decide
from minitopo_dc.campaign.executors import local
from minitopo_dc.clocks import build_missing, chosen_jobs
from minitopo_dc.comparison import check_resumed
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import RECEIVE_BUFFER_BYTES
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import XN_MS
from minitopo_dc.scratch import scratch

SECONDS = 60.0
"""For a verdict: as long as one waits for an answer."""
MIN_S, MAX_S = 1.0, 86_400.0
OVERHEAD_S = 8.0
"""Of `SECONDS`, for what is imported before, and for tables and figures behind the runs."""


def advise(
    legs: Sequence[Mapping[str, Any]],
    *,
    output: Path | None = None,
    progress: Progress = str,
    transports: Sequence[str] = QUIC,
    seconds: float = SECONDS,
    margin_percent: float | None = None,
    xn_ms: float = XN_MS,
    jobs: int | None = 1,
    **fields: Any,
) -> Advice:
    """Say whether Dual Connectivity or multipath is better over some legs, or neither.

    Args:
        legs: two or more, as in a scenario: `{"downlink": {"rate_mbps": 30}, "delay_ms": 10}`.
        output: a directory where runs are kept, and which goes on; None: they are not kept.
        progress: hears what is under way.
        transports: one with Dual Connectivity and one with multipath, of one stack.
        seconds: for the verdict, at most.
        margin_percent: within which both are a tie; None: the workload's (`MARGINS`).
        xn_ms: the delay of Xn one way, of the Dual Connectivity that is judged.
        jobs: runs at once, in processes; None: one per processor.
        fields: any other field of a scenario: `workload`, `congestion_control`, `seed`, ...

    Raises:
        SettingsError, TraceError: something is wrong, or cannot run here; nothing has been run.
    """
    base = base_of(legs, **fields)
    judged = judged_of(base.workload, margin_percent)
    build_missing(base.model_copy(update={"transport": name}) for name in transports)
    stack = candidates_of(base, transports, xn_ms)
    if not MIN_S <= seconds <= MAX_S:
        raise SettingsError(f"--time: {seconds:g}; allowed: {MIN_S:g} to {MAX_S:g} s")
    jobs = chosen_jobs(jobs, "virtual")
    with nullcontext(output) if output is not None else scratch() as place:
        check_resumed(place, stack.ways)
        until = time.monotonic() + max(seconds - OVERHEAD_S, seconds / 2)
        with local(jobs, until) as workers:
            advice = decide(stack, Runs(place, stack.ways, judged, workers, until, progress))
    return replace(advice, neighbours=neighbours_of(base, stack.stack, judged.margin))


def base_of(legs: Sequence[Mapping[str, Any]], **fields: Any) -> Scenario:
    """Return what all runs have in common; SettingsError if a field of a scenario is wrong."""
    options = {"receive_buffer_bytes": RECEIVE_BUFFER_BYTES, **fields.pop("options", {})}
    own = {"transport": QUIC[0], "mode": "sc", "clock": "virtual", "options": options}
    own["primary_leg"] = "nearest"
    return Scenario.check({**fields, **own, "legs": list(legs)}, "advise")
