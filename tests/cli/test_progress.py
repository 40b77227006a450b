"""What is said on standard error while runs are under way."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.cli.screen import Progress
from minitopo_dc.results.judge import blank_result
from minitopo_dc.scenario import Scenario

LEGS = [{"downlink": {"rate_mbps": 20}}] * 2
SCENARIO = Scenario.check({"transport": "quic", "mode": "dc", "legs": LEGS}, "test")
FAILED = replace(
    blank_result(SCENARIO, Path("run")), status="failed", reason="[/red] of [tc]\nmore"
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_a_run_that_failed_is_told_with_the_first_line_of_its_reason_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress([SCENARIO] * 2) as progress:
        progress.end(FAILED)
    shown = capsys.readouterr()
    assert shown.err == "1/2 quic dc (seed 1): failed [/red] of [tc]\n"
    assert shown.out == ""


def test_a_run_of_programs_shows_their_first_numbers_with_units(
    capsys: pytest.CaptureFixture[str],
) -> None:
    units = {"requests_per_s": "1/s", "request_mean_ms": "ms", "failed_requests": "", "more": "s"}
    numbers = {"requests_per_s": 61.234, "request_mean_ms": 8.1, "failed_requests": 0}
    result = replace(
        FAILED, status="ok", reason="", transport="command", workload="command",
        completion_s=20.01, leg_bytes=[1000, 2000], details={"units": units, **numbers},
    )  # fmt: skip
    with Progress([SCENARIO]) as progress:
        progress.end(result)
    shown = capsys.readouterr()
    first = "requests_per_s 61.2 1/s, request_mean_ms 8.10 ms, failed_requests 0"
    assert shown.err == f"1/1 command dc (seed 1): ok time 20.0 s, {first}\n"


@pytest.mark.parametrize(
    ("passed_s", "words"), [(0.5, "about 5 s left"), (60, "about 10 min left")]
)
def test_the_time_left_is_that_of_the_pace_so_far(
    passed_s: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shown(Progress):
        def text(self) -> str:
            return str(self._status.status)

    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    progress = Shown([SCENARIO] * 22)
    progress.end(FAILED)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + passed_s)
    progress.end(FAILED)
    assert progress.text() == f"3/22 quic dc … {words}"
