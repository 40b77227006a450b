"""Disturbances on purpose: their plan, what is wrong, and the limits that tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_checked
from minitopo_dc.real.run import disturbance
from minitopo_dc.real.run.disturbance import (
    CASES,
    DISTURBANCES,
    NONE,
    Disturbance,
    Row,
    errors,
    fit,
    load,
    measure,
    plan,
)
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.trust import LIMITS_VARIABLE, OFF
from minitopo_dc.scenario import Scenario

RIGHT = Row(
    number=0,
    kind="none",
    strength=0,
    part="",
    transport="quic",
    mode="sc",
    status="ok",
    goodput_mbps=18,
    reference_mbps=18,
    evidence={"waited": {"client": 0.04, "server": 0.02}},
)
STOPPED = replace(
    RIGHT, kind="stop", strength=1, goodput_mbps=12, evidence={"stopped": {"client": 0.4}}
)


def test_every_second_run_is_left_alone_and_all_disturbances_come_as_often() -> None:
    runs = len(DISTURBANCES) * 2
    planned = plan(runs, seed=1)
    assert [each for each, _ in planned[::2]] == [NONE] * runs
    assert set(Counter(each for each, _ in planned[1::2]).values()) == {2}
    assert len({str(case) for _, case in planned}) == len(CASES)
    assert planned == plan(runs, seed=1) != plan(runs, seed=2)


def test_the_moment_of_a_disturbance_follows_from_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[float] = []

    def run_real(
        scenario: Scenario, directory: Path, *, disturb: Callable[[None], Any]
    ) -> RunResult:
        with disturb(None):
            return blank_result(scenario, directory)

    @contextmanager
    def keep(_disturbance: Disturbance, _watch: None, after_s: float) -> Iterator[None]:
        moments.append(after_s)
        yield

    monkeypatch.setattr(disturbance, "run_real", run_real)
    monkeypatch.setattr(disturbance, "disturbed", keep)
    for number, seed in enumerate((1, 1, 2)):
        measure(1, seed, tmp_path / f"{number}", virtual=blank_result, ended=lambda _: None)
    assert moments[0] != moments[1]
    assert moments[:2] == moments[2:4] != moments[4:]


def test_a_run_differs_from_the_virtual_clock_or_from_the_median_of_its_kind() -> None:
    tcp = replace(RIGHT, transport="tcp", reference_mbps=None)
    rows = [RIGHT, STOPPED, *(replace(tcp, goodput_mbps=value) for value in (10, 20, 30))]
    rows.append(replace(tcp, kind="stop", goodput_mbps=15))
    rows.append(replace(RIGHT, status="failed", goodput_mbps=None))
    expected = [0, -1 / 3, -0.5, 0, 0.5, -0.25, None]
    assert errors(rows) == [each if each is None else pytest.approx(each) for each in expected]


def test_limits_lie_between_right_runs_and_wrong_ones() -> None:
    limits = fit([RIGHT, STOPPED])
    assert 0.04 < limits.waited < 0.16
    assert 0.01 < limits.stopped < 0.4
    assert not RIGHT.exceeds(limits)
    assert STOPPED.exceeds(limits)
    assert limits.backlog_drops == 0


def test_an_undisturbed_run_that_is_wrong_does_not_raise_limits() -> None:
    wrong = replace(RIGHT, goodput_mbps=18 * (1 - 2 * OFF), evidence={"waited": {"client": 0.9}})
    assert fit([RIGHT, wrong]).waited < 0.9


@pytest.mark.long
@pytest.mark.root
@pytest.mark.alone
def test_a_stopped_client_is_told_and_what_was_measured_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LIMITS_VARIABLE)
    wanted = next(
        each for each in DISTURBANCES if (each.kind, each.strength, each.part) == ("stop", 1, "ue")
    )
    monkeypatch.setattr(disturbance, "DISTURBANCES", (wanted,))
    monkeypatch.setattr(disturbance, "CASES", ({"transport": "quic", "mode": "sc"},))
    file = tmp_path / "runs.jsonl"
    rows = measure(1, 1, file, virtual=run_checked, ended=lambda _: None)
    assert [row.kind for row in rows] == ["none", "stop"]
    assert rows[1].status == "disturbed"
    assert rows[1].worst("stopped") > 0.1
    assert rows[1].goodput_mbps is not None
    assert (rows[1].reference_mbps or 0) > rows[1].goodput_mbps
    assert load(file) == rows
    resumed = measure(1, 1, file, virtual=run_checked, ended=lambda _: pytest.fail())
    assert resumed == rows
