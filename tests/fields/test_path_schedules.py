"""Path schedules: what is refused, and what they say of each leg."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import PathPlan, PathSchedule, SettingsError
from minitopo_dc.runs.check import check_fields
from minitopo_dc.scenario import Scenario

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
ISSUE: dict[str, Any] = {
    "initial": [1],
    "schedule": [{"at_s": 2, "open": 2}, {"at_s": 5, "backup": 2}, {"at_s": 7, "available": 2}],
}


def scenario(paths: object, **fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "mptcp", "mode": "multipath", "legs": [LEG, LEG]}
    return Scenario.check(values | {"paths": paths} | fields, "test")


def plan(initial: list[int] | None, *schedule: dict[str, Any], legs: int = 2) -> PathPlan:
    values = {"initial": initial, "schedule": schedule}
    return PathSchedule.check(values, "test").plan(legs)


def test_without_a_schedule_every_leg_has_a_path_to_the_end() -> None:
    (flow,) = scenario(None).resolved_flows
    assert flow.paths == PathPlan.whole(2) == plan(None)
    assert flow.paths.open_periods(2) == [(0.0, inf)]


def test_of_equal_times_the_order_of_the_list_holds() -> None:
    swapped = plan([1], {"at_s": 2, "open": 2}, {"at_s": 2, "abandon": 1})
    assert [event.action for event in swapped.events] == ["open", "abandon"]
    assert swapped.open_periods(1) == [(0.0, 2.0)]


def test_a_flow_of_mode_multipath_has_paths_of_its_own() -> None:
    flows = [{"mode": "multipath", "paths": ISSUE}, {"mode": "sc", "transport": "tcp"}]
    first, second = scenario(None, mode="flows", flows=flows).resolved_flows
    assert first.paths is not None
    assert first.paths.initial == (1,)
    assert second.paths is None


def test_periods_end_with_abandonment_and_a_backup_is_open_but_not_available() -> None:
    events = [(2, "open", 2), (4, "abandon", 1), (5, "backup", 2), (6, "open", 1)]
    wanted = plan([1], *({"at_s": at_s, action: leg} for at_s, action, leg in events))
    assert wanted.open_periods(1) == [(0.0, 4.0), (6.0, inf)]
    assert wanted.open_periods(2) == [(2.0, inf)]
    assert wanted.available_periods(2) == [(2.0, 5.0)]
    statuses = [wanted.status(2, at_s) for at_s in (1.9, 2.0, 4.9, 5.0)]
    assert statuses == [None, "available", "available", "backup"]

    times = [(1, "backup"), (2, "abandon"), (3, "open")]
    wanted = plan(None, *({"at_s": at_s, action: 2} for at_s, action in times))
    assert wanted.available_periods(2) == [(0.0, 1.0), (3.0, inf)]


@pytest.mark.parametrize(
    ("start_s", "end_s", "legs"),
    [(0, 2.5, (1,)), (0, 3.0, (1, 2)), (0, 0.9, ()), (1.5, 2.4, ()), (0, 9, (1, 2))],
)
def test_a_leg_is_to_be_used_when_it_was_available_for_long_enough(
    start_s: float, end_s: float, legs: tuple[int, ...]
) -> None:
    wanted = plan([1], {"at_s": 2, "open": 2})
    assert tuple(wanted.usable_periods(start_s, end_s, 1.0)) == legs
    times = [(1, "open"), (1.6, "abandon"), (3, "open"), (3.6, "abandon")]
    short = plan([1], *({"at_s": at_s, action: 2} for at_s, action in times))
    assert tuple(short.usable_periods(0, 9, 1.0)) == (1,)  # two short ones are no long one


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 5)), max_size=12))
def test_a_leg_is_available_only_while_it_is_open(steps: list[tuple[bool, float]]) -> None:
    events: list[dict[str, Any]] = []
    at_s, open_, backup = 0.0, True, False
    for abandons, wait_s in steps:
        at_s += wait_s
        if not open_:
            action, open_, backup = "open", True, False
        elif abandons:
            action, open_ = "abandon", False
        else:
            action, backup = ("available", False) if backup else ("backup", True)
        events.append({"at_s": at_s, action: 2})
    wanted = plan(None, *events)
    opened = wanted.open_periods(2)
    for begin, end in wanted.available_periods(2):
        assert any(first <= begin <= end <= last for first, last in opened)


def test_a_transport_that_keeps_its_paths_refuses_a_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minitopo_dc.runners.mptcp.runner.MptcpRunner.takes_paths", True)
    wanted = scenario(ISSUE, transport="mpquic", congestion_control="cubic")
    with pytest.raises(SettingsError) as caught:
        check_fields(wanted)
    said = str(caught.value)
    assert said.startswith("paths: transport mpquic has a path on every leg from the beginning to")
    assert "mptcp" in said.partition("allowed: ")[2]


def test_the_paths_of_a_host_are_scheduled_for_one_flow_only() -> None:
    first, second = {"mode": "multipath", "paths": ISSUE}, {"mode": "multipath"}
    check_fields(scenario(None, mode="flows", flows=[first, {"mode": "sc", "transport": "tcp"}]))
    check_fields(scenario(None, mode="flows", flows=[second, second]))
    with pytest.raises(SettingsError) as caught:
        check_fields(scenario(None, mode="flows", flows=[second, first]))
    assert str(caught.value) == (
        "flows.1.paths: the paths of transport mptcp are the client host's; leave them out, or "
        "flows.0"
    )
