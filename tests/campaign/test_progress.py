"""The progress of a campaign, in a notebook, a terminal and a log."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Bar
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
