"""How long the rest of a campaign takes, by what has ended of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from minitopo_dc.campaign.execution.cost import Observed, kind_of, megabytes
from minitopo_dc.campaign.execution.time_left import TimeLeft
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario

LEGS = [{"downlink": {"rate_mbps": 30}}, {"downlink": {"rate_mbps": 10}}]
REQUESTS = {"kind": "request-response", "response_bytes": 1000, "count": 100, "interval_s": 0.1}


def scenario(**fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": LEGS, "workload": {"size_mb": 10}}
    return Scenario.check({"clock": "virtual", **values, **fields}, "test")


def result(
    given: Scenario, seconds: float, status: Literal["ok", "unsupported"] = "ok"
) -> RunResult:
    details = {"wall_s": seconds}
    return replace(blank_result(given, Path("run")), status=status, details=details)


def takes(given: Scenario) -> float:
    """As on a machine: a constant, more for a megabyte of requests than of a download."""
    rate = 10.0 if given.workload.kind == "request-response" else 0.1
    return 0.2 + rate * megabytes(given)


def test_downloads_and_requests_count_by_what_they_took() -> None:
    runs = [scenario(workload=each) for each in ({"size_mb": 40}, {"size_mb": 0.01}, REQUESTS)]
    left = TimeLeft(runs * 10)
    elapsed = 0.0
    for run in runs:
        elapsed += takes(run)
        left.end(run, result(run, takes(run)))
    truth = 9 * sum(map(takes, runs))
    assert left.seconds(elapsed) == pytest.approx(truth, rel=0.02)


def test_small_runs_at_the_beginning_do_not_make_the_large_ones_longer() -> None:
    small, large = scenario(workload={"size_mb": 0.01}), scenario(workload={"size_mb": 40})
    left = TimeLeft([small, small, large, large, large])
    for each in (small, large):
        left.end(each, result(each, takes(each)))
    elapsed = takes(small) + takes(large)
    assert left.seconds(elapsed) == pytest.approx(takes(small) + 2 * takes(large), rel=0.01)


def test_runs_that_were_timed_before_tell_what_kinds_take_that_are_still_to_come() -> None:
    fast, slow = scenario(mode="sc"), scenario()
    known = [Observed(kind_of(fast), 10, 1.0), Observed(kind_of(fast), 0, 0.1)]
    known += [Observed(kind_of(slow), 10, 4.0)]
    left = TimeLeft([fast, slow, slow], known)
    left.end(fast, result(fast, 1.0))
    assert left.seconds(1.0) == pytest.approx(8.0, rel=0.01)


def test_two_runs_at_once_take_half_the_time() -> None:
    run = scenario()
    left = TimeLeft([run] * 6)
    for _ in range(2):
        left.end(run, result(run, 3.0))
    assert left.seconds(3.0) == pytest.approx(6.0)


def test_a_run_that_cannot_be_is_not_left_and_tells_nothing() -> None:
    run = scenario()
    left = TimeLeft([run] * 3)
    left.end(run, result(run, 0.001, "unsupported"))
    assert left.seconds(0.001) is None
    left.end(run, result(run, 3.0))
    assert left.seconds(3.0) == pytest.approx(3.0)


def test_on_the_real_clock_runs_take_what_their_legs_need() -> None:
    minute = scenario(clock="real", transport="tcp", workload={"duration_s": 60})
    short = scenario(clock="real", transport="tcp", workload={"duration_s": 5})
    left = TimeLeft([short, short, minute])
    assert left.seconds(0.0) is None
    left.end(short, result(short, 12.0))
    assert left.seconds(12.0) == pytest.approx(12 / 10 * (10 + 65))
