"""`python -m benchmarks`, a little of each."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import elements, page


def figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> Any:
    """What a benchmark prints."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    benchmarks.main()
    return json.loads(capsys.readouterr().out)[words[0]]


def test_cores_are_compared_on_equal_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--pairs", "1", "--size", "0.5", "--rows", "dc", "threshold")
    rows = figures(capsys, monkeypatch, "cores", *words)
    assert list(rows) == ["dc", "threshold"]
    assert all(row["ratio"] > 0 for row in rows.values())


def test_slots_of_a_carrier_cost_lone_packets_more_than_busy_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = figures(capsys, monkeypatch, "legs", "--packets", "20000", "--repetitions", "3")
    busy, lone = rows["a packet each 19 us"], rows["a packet each 1000 us"]
    assert busy["radio_ns"] < lone["radio_ns"]


def test_planning_is_compared_with_checks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--studies", "lwa", "--version", "sample")
    row = figures(capsys, monkeypatch, "planning", *words)["lwa"]
    assert row["runs"] > 0
    assert row["ratio"] == pytest.approx(row["run_ms"] / row["check_ms"], rel=0.1)


def test_the_cpu_time_of_elements_is_told_in_that_of_the_proxy() -> None:
    rows: list[dict[str, Any]] = [
        {"kind": "none", "lost": 0.0},
        {"kind": "proxy", "gnb_cpu_us": 4.0, "ue_cpu_us": 6.0},
        {"kind": "native", "gnb_cpu_us": 7.0, "ue_cpu_us": 8.0},
    ]
    kinds = elements.summary([row | {"rate": 500.0} for row in rows])["500/s"]
    ratios = {kind: row.get("cpu_to_proxy") for kind, row in kinds.items()}
    assert ratios == {"none": None, "proxy": 1.0, "native": 1.5}


@pytest.mark.long
@pytest.mark.root
def test_the_elements_lose_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--kinds", "proxy", "native", "--rates", "2000", "--seconds", "1")
    rows = figures(capsys, monkeypatch, "elements", *words, "--repetitions", "1")["2000/s"]
    assert [(row["lost"], row["disordered"]) for row in rows.values()] == [(0, 0)] * 2


def test_a_version_costs_less_than_a_second_and_each_step_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["benchmarks", "cost", "--parts", "version", "--repetitions", "1"]
    )
    benchmarks.main()
    out, err = capsys.readouterr()
    row = json.loads(out)["cost"]
    if row["unit"] == "CPU s":
        assert 0 <= row["version"]["tree"] < 1
    else:
        assert 1e6 < row["version"]["tree"] < 1e9
    assert err == "1/1 version of tree\n"


def test_an_interrupted_benchmark_of_the_page_prints_what_it_has_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*arguments: Any) -> None:
        arguments[-1].moves += [0.5, 0.7]
        raise KeyboardInterrupt

    monkeypatch.setattr(page, "_measure", measure)
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "page"])
    with pytest.raises(KeyboardInterrupt):
        benchmarks.main()
    row = json.loads(capsys.readouterr().out)["page"]
    assert (row["moves"], row["move_median_s"], row["opened_s"]) == (2, 0.6, None)
