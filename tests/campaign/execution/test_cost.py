"""What a dry run says of a campaign's time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.execution.cost import (
    CALIBRATION_MB,
    CALIBRATION_S,
    Observed,
    calibrate,
    kind_of,
    megabytes,
    real_cost,
    smaller,
    timed_runs,
    virtual_cost,
)
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.timing import REAL_OVERHEAD_S
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, pretend, run_with

LEGS = [{"downlink": {"rate_mbps": 30}}, {"downlink": {"rate_mbps": 10}}]


def scenario(**fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": LEGS, "workload": {"size_mb": 10}}
    return Scenario.check(values | fields, "test")


class Machine:
    """On which a run takes 20 ms, and 10 ms more for a megabyte."""

    def __init__(self) -> None:
        self.now = 0.0

    def run(self, given: Scenario, directory: Path) -> RunResult:
        carried = megabytes(given)
        self.now += 0.02 + 0.01 * carried
        return replace(pretend(given, directory), size_bytes=round(carried * 1e6))


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"mode": "sc", "leg": 2}, 80 / 10),
        ({"mode": "dc"}, 80 / 20),  # 1:1 at the slower leg's pace
        ({"pdcp": {"ratio": [3, 1]}}, 80 / 40),
        ({"pdcp": {"split": "least-delay"}}, 80 / 40),
        ({"mode": "dc-duplicate"}, 80 / 30),
        ({"workload": {"duration_s": 60}}, 60),
        ({"workload": {"size_mb": 10000}, "timeout_s": 100}, 100),
        ({"workload": {"kind": "request-response", "count": 11, "interval_s": 1}}, 20),
    ],
)
def test_a_run_on_the_real_clock_takes_what_full_legs_need(
    fields: dict[str, Any], seconds: float
) -> None:
    cost = real_cost([(scenario(clock="real", **fields), 3)])
    assert cost.seconds == pytest.approx(3 * (seconds + REAL_OVERHEAD_S), rel=1e-6)
    assert cost.low <= cost.seconds <= cost.high


def test_a_run_on_the_virtual_clock_takes_a_constant_and_so_much_a_megabyte() -> None:
    one, other = scenario(), scenario(mode="sc")
    observed = [
        Observed(kind_of(one), 0.01, 0.1),
        Observed(kind_of(one), 1, 0.6),
        Observed(kind_of(other), 1, 0.2),
    ]
    cost = virtual_cost([(one, 2), (other, 1)], observed, "2 runs")
    dc = (0.0 + 0.5) / 1.01
    assert cost.seconds == pytest.approx(2 * (0.1 + 10 * dc) + (0.1 + 10 * 0.1))
    assert cost.low < cost.seconds < cost.high
    unknown = virtual_cost([(scenario(mode="dc-duplicate"), 1)], observed, "")
    assert unknown.seconds == pytest.approx(0.1 + 10 * (dc + 0.1) / 2)


def test_calibration_finds_what_runs_take() -> None:
    runs = [(scenario(), 5), (scenario(mode="sc"), 1)]
    machine = Machine()
    observed = calibrate(runs, machine.run, lambda: machine.now)
    assert {each.kind for each in observed} == {kind_of(run) for run, _ in runs}
    assert max(each.megabytes for each in observed) == CALIBRATION_MB
    assert virtual_cost(runs, observed, "").seconds == pytest.approx(6 * 0.12, rel=0.05)


@pytest.mark.parametrize(
    "workload",
    [
        {"size_mb": 40},
        {"duration_s": 180},
        {"kind": "request-response", "response_bytes": 100_000, "duration_s": 300},
        {"kind": "request-response", "response_bytes": 10**9, "count": 7},
        {"size_mb": 0.001},
    ],
)
def test_a_calibrating_run_is_small_and_of_its_kind(workload: dict[str, Any]) -> None:
    given = scenario(workload=workload)
    made = smaller(given, CALIBRATION_MB)
    assert kind_of(made) == kind_of(given)
    one_answer = workload.get("response_bytes", 0) / 1e6
    timed = 20 / 8 * CALIBRATION_S if list(workload) == ["duration_s"] else 0
    assert megabytes(made) <= min(megabytes(given), max(CALIBRATION_MB, one_answer, timed))
    assert Scenario.check(made.model_dump(mode="json"), "again") == made


def test_flows_of_their_own_are_small_too() -> None:
    flows = [{"mode": "dc"}, {"mode": "sc", "workload": {"size_mb": 40}}]
    made = smaller(scenario(mode="flows", flows=flows), 0.5)
    assert [flow.workload.size_bytes for flow in made.resolved_flows] == [500_000, 500_000]


def test_splits_and_numberings_are_kinds_of_their_own() -> None:
    fields: list[dict[str, Any]] = [
        {},
        {"pdcp": {"numbering": "late"}},
        {"pdcp": {"split": "least-delay"}},
        {"mode": "sc"},
        {"transport": "quic-picoquic"},
    ]
    assert len({kind_of(scenario(**each)) for each in fields}) == len(fields)


def test_runs_that_a_directory_has_are_read_with_their_times(tmp_path: Path) -> None:
    root = run_with(tmp_path, document(), pretend)
    (root / "runs" / "broken").mkdir()
    found = timed_runs(Store(root))
    assert len(found) == 8
    assert {each.megabytes for each in found} == {0.1}
    assert timed_runs(Store(tmp_path / "none")) == []
