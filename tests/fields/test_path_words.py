"""Path schedules on the command line and in Minitopo's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.cli.options.scenario import MODES
from minitopo_dc.comparison import scenario_of_row
from minitopo_dc.fields import PathPlan, SettingsError, parse_path_words
from minitopo_dc.fields.path_schedule import PathEvent
from minitopo_dc.minitopo import ParameterError
from minitopo_dc.runs.check import check_fields
from tests.cli.test_commands import rows_of, scenario
from tests.minitopo.files import DUAL, TWO_PATHS, read

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
        scenario_of_row(scenario(*given), row)
        for row in rows_of(*given, "--modes", *MODES, clock="real")
    ]
    plans = {run.mode: run.resolved_flows[0].paths for run in planned}
    assert plans == {**dict.fromkeys(MODES), "multipath": PLAN, "atsss": PLAN}


def test_with_a_schedule_transports_that_take_none_are_not_compared_unless_named() -> None:
    given = ("--legs", "10", "10", "--set", SET)
    compared = {row["transport"] for row in rows_of(*given, clock="real")}
    assert compared == {"mptcp", "tcp", "quic-picoquic", "mpquic-picoquic"}
    named = rows_of(*given, "--transports", "mpquic", clock="real")
    (run,) = [scenario_of_row(scenario(*given), row) for row in named]
    with pytest.raises(SettingsError, match="paths: transport mpquic has a path on every leg"):
        check_fields(run)


def test_a_schedule_for_no_multipath_run_is_refused() -> None:
    with pytest.raises(SettingsError, match="--set paths: no row of mode multipath"):
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
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, topology, xp)
    assert message in str(caught.value)
