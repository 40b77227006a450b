"""The progress of a campaign, in a notebook, a terminal and a log."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Bar, headline
from minitopo_dc.results.judge import blank_result
from minitopo_dc.scenario import Scenario
from tests.campaign.cases import scenario


class ZMQInteractiveShell:
    """The shell of a notebook's kernel."""


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook's cell shows, the last one last."""
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data["text/plain"])

    shell, display = ModuleType("getipython"), ModuleType("display")
    vars(shell)["get_ipython"] = ZMQInteractiveShell
    vars(display)["display"] = lambda *_, **__: Handle()
    for name, module in {
        "ipykernel": ModuleType("ipykernel"),
        "IPython.core.getipython": shell,
        "IPython.display": display,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return shown


def missing(number: int) -> dict[str, Scenario]:
    return {f"run-{place}": scenario() for place in range(number)}


def ended(**fields: Any) -> Any:
    return replace(blank_result(scenario(), Path("c/runs/a")), **fields)


def test_a_notebook_has_one_bar(
    outputs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = iter([0.0, 10.0])
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    with Bar(missing(2), done=2, shown=True) as bar:
        bar.end(ended(status="ok"))
        bar.end(ended(status="failed", reason="it broke\nmore"))
    assert outputs[0] == "█" * 20 + "░" * 20 + " 2/4 runs"
    assert outputs[1] == "█" * 30 + "░" * 10 + " 3/4 runs, about 10 s left"
    assert outputs[2] == "█" * 40 + " 4/4 runs, 1 failed"
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["2 of 4 runs were finished before", "failed: c/runs/a: it broke"]


def test_a_log_has_few_lines_and_none_unless_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(missing(3), done=0, shown=True) as bar:
        for _ in range(3):
            bar.end(ended(status="ok"))
    assert capsys.readouterr().err == "3/3 runs\n"
    with Bar(missing(1), done=1, shown=False) as bar:
        bar.end(ended(status="failed", reason="it broke"))
    assert capsys.readouterr().err == ""


def test_each_run_with_a_name_has_a_line_with_its_numbers_or_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = dict.fromkeys(["run-0", "run-1", "a"], "DC")
    with Bar(missing(2), done=0, names=names) as bar:
        bar.end(ended(status="ok", goodput_mbps=8.0, completion_s=1.5))
        bar.end(ended(status="failed", reason="[/red] of [tc]\nmore"))
    ok, failed = capsys.readouterr().err.splitlines()
    assert ok == "1/2 DC (seed 1): ok 8.00 Mbit/s in 1.5 s"
    assert failed == "2/2 DC (seed 1): failed [/red] of [tc]"


def test_a_run_of_programs_shows_their_first_numbers_with_units() -> None:
    units = {"requests_per_s": "1/s", "request_mean_ms": "ms", "failed_requests": "", "more": "s"}
    numbers = {"requests_per_s": 61.234, "request_mean_ms": 8.1, "failed_requests": 0}
    details = {"units": units, **numbers}
    result = ended(status="ok", workload="command", completion_s=20.01, details=details)
    first = "requests_per_s 61.2 1/s, request_mean_ms 8.10 ms, failed_requests 0"
    assert headline(result) == f"time 20.0 s, {first}"
