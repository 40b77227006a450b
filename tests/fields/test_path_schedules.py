"""Path schedules: what they say of each leg, as words of options and Minitopo's files."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.cli.options import MODES
from minitopo_dc.fields import PathPlan, PathSchedule, SettingsError, parse_path_words
from minitopo_dc.fields.path_schedule import PathEvent
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.check import check_fields
from minitopo_dc.scenario import Scenario
from minitopo_dc.ways import scenario_of_row
from tests.cli.test_commands import rows_of
from tests.cli.test_commands import scenario as options
from tests.minitopo.files import DUAL, TWO_PATHS, read

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

    swapped = plan([1], {"at_s": 2, "open": 2}, {"at_s": 2, "abandon": 1})
    assert [event.action for event in swapped.events] == ["open", "abandon"]  # the list's order
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
    monkeypatch.setattr(type(get_runner("mptcp")), "takes_paths", False)
    wanted = scenario(ISSUE, transport="mptcp", congestion_control="cubic")
    with pytest.raises(SettingsError) as caught:
        check_fields(wanted)
    said = str(caught.value)
    assert said.startswith("paths: transport mptcp has a path on every leg from the beginning to")
    assert "mpquic-picoquic" in said.partition("allowed: ")[2]


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


WORDS = ("1", "2:open:2", "4.5:abandon:1")
SET = "paths={initial: [1], schedule: [{at_s: 2, open: 2}, {at_s: 4.5, abandon: 1}]}"
PLAN = PathPlan((1,), (PathEvent(2, "open", 2), PathEvent(4.5, "abandon", 1)))


def test_the_first_word_has_the_initial_legs_and_the_others_are_changes() -> None:
    assert parse_path_words(WORDS, "test").plan(2) == PLAN
    assert parse_path_words(("2,1",), "test").plan(2).initial == (2, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one",), "test: 'one' is no list of legs; write LEG[,LEG...] [SECONDS:open|abandon|"),
        (("2:open:2",), "test: '2:open:2' is no list of legs"),
        (("1", "2:close:1"), "test: '2:close:1' is no change of a path; write LEG"),
        (("1", "2:open"), "test: '2:open' is no change of a path"),
        (("1", "soon:open:2"), "test: schedule.0.at_s: soon is no number in digits"),
        (("0",), "test: initial.0: 0; allowed: 1 to"),
        (("1", "3:open:2", "2:abandon:1"), "test: schedule: at_s 2 must not be before 3"),
    ],
)
def test_a_wrong_word_is_one_clear_error(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_path_words(words, "test")
    assert str(caught.value).startswith(message)


def test_a_comparison_schedules_the_paths_of_its_multipath_runs_only() -> None:
    given = ("--legs", "10", "10", "--set", SET, "--transports", "tcp", "mptcp")
    planned = [
        scenario_of_row(options(*given), row)
        for row in rows_of(*given, "--modes", *MODES, clock="real")
    ]
    plans = {run.mode: run.resolved_flows[0].paths for run in planned}
    assert plans == {**dict.fromkeys(MODES), "multipath": PLAN, "atsss": PLAN}


def test_with_a_schedule_transports_that_take_none_are_not_compared_unless_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(get_runner("mptcp")), "takes_paths", False)
    given = ("--legs", "10", "10", "--set", SET)
    compared = {row["transport"] for row in rows_of(*given, clock="real")}
    assert compared == {"tcp", "quic-picoquic", "mpquic-picoquic"}
    named = rows_of(*given, "--transports", "mptcp", clock="real")
    (run,) = [scenario_of_row(options(*given), row) for row in named]
    with pytest.raises(SettingsError, match="paths: transport mptcp"):
        check_fields(run)
    with pytest.raises(SettingsError, match=r"--set paths: .*multipath"):
        rows_of("--set", "paths.initial=[1]", "--transports", "tcp", clock="real")


def test_a_minitopo_file_numbers_its_paths_from_zero(tmp_path: Path) -> None:
    xp = "xpType:mptcp\npaths:0 2:open:1 4.5:abandon:0\n"
    assert read(tmp_path, TWO_PATHS, xp).scenario.resolved_flows[0].paths == PLAN


@pytest.mark.parametrize(
    ("topology", "xp", "message"),
    [
        (TWO_PATHS, "xpType:mptcp\npaths:0 2:opens:1\n", "xp:2: paths: '2:opens:1' is no change"),
        (TWO_PATHS, "xpType:mptcp\npaths:0 2:open:0\n", "its path is open; at 2 s open: 1 (leg 1"),
        (TWO_PATHS, "xpType:mptcp\npaths:2\n", "initial: leg 3 does not exist; allowed: 1 to 2"),
        (DUAL, "paths:0\nxpType:quic\n", "xp:1: paths: mode dc has no paths to schedule"),
        (TWO_PATHS, "xpType:tcp\npaths:0\n", "xp:2: paths: mode sc has no paths to schedule"),
    ],
)
def test_a_wrong_schedule_in_a_minitopo_file_names_its_line(
    topology: str, xp: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, topology, xp)
    assert message in str(caught.value)
