"""Lines of paths in Minitopo's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.cli.exec import path_of_topology
from minitopo_dc.fields import PathEvent, PathPlan, SettingsError
from tests.minitopo.files import TWO_PATHS, read

XP = "xpType:mpquic-picoquic\n"
THREE = TWO_PATHS + "path_c2r_2:10,10,4\n"


def plan(directory: Path, *lines: str, topology: str = TWO_PATHS) -> PathPlan:
    """Of a topology with these lines, and a multipath transport."""
    text = topology + "".join(f"pathAt_c2r_{line}\n" for line in lines)
    found = read(directory, text, XP).scenario.resolved_flows[0].paths
    assert found is not None
    return found


def test_a_path_that_is_opened_was_not_there_before_and_others_were(tmp_path: Path) -> None:
    events = (PathEvent(2, "open", 2), PathEvent(4, "abandon", 1))
    assert plan(tmp_path, "0:4,abandon", "1:2,open") == PathPlan((1,), events, each_carries=False)


def test_what_happens_at_0_s_is_how_paths_are_at_first(tmp_path: Path) -> None:
    found = plan(tmp_path, "1:0,open", "0:0,abandon", "2:0,backup", topology=THREE)
    assert found == PathPlan((2, 3), (PathEvent(0, "backup", 3),), each_carries=False)


def test_of_equal_times_what_is_opened_goes_first(tmp_path: Path) -> None:
    found = plan(tmp_path, "0:4,abandon", "1:4,open")
    assert found.events == (PathEvent(4, "open", 2), PathEvent(4, "abandon", 1))


def test_a_backup_becomes_available_again(tmp_path: Path) -> None:
    found = plan(tmp_path, "1:1.5,backup", "1:3,available")
    assert found.available_periods(2) == [(0, 1.5), (3, float("inf"))]


def test_outages_are_of_both_directions(tmp_path: Path) -> None:
    leg = read(tmp_path, TWO_PATHS + "outages_c2r_1:0-2, 4-6.5\n").scenario.legs[1]
    assert leg.outages == ((0, 2), (4, 6.5))
    assert leg.direction("uplink").outages == leg.outages


def test_a_topology_without_a_transfer_names_what_it_ignores(tmp_path: Path) -> None:
    notes = read(tmp_path, TWO_PATHS + "pathAt_c2r_1:2,open\n", "xpType:none\n").notes
    assert f"{tmp_path}/topo:6: pathAt_c2r_1: ignored, as all pathAt lines: nothing is" in notes[-1]


def test_a_program_of_the_user_s_opens_its_own_paths(tmp_path: Path) -> None:
    file = tmp_path / "topo"
    file.write_text(TWO_PATHS + "pathAt_c2r_1:2,open\n")
    assert "ignored, as all pathAt lines: a program opens" in path_of_topology(file)[1][-1]


OPEN = "pathAt_c2r_1:2,open\n"


@pytest.mark.parametrize(
    ("topology", "xp", "message"),
    [
        ("pathAt_c2r_2:1,open\n", XP, "topo:6: pathAt_c2r_2: there is no path_c2r_2; allowed: "),
        ("pathAt_r2s_0:1,open\n", XP, "topo:6: pathAt_r2s_0: a client's paths are those of type c"),
        ("pathAt_c2r_1:1,close\n", XP, "action 'close'; allowed: open, abandon, backup, available"),
        ("pathAt_c2r_1:1\n", XP, "topo:6: pathAt_c2r_1: 1 fields; write seconds,action"),
        (OPEN + "pathAt_c2r_1:1,abandon\n", XP, "topo:7: pathAt_c2r_1: 1 s is not after this path"),
        (OPEN + "pathAt_c2r_1:3,open\n", XP, "topo:7: pathAt_c2r_1: its path is open; at 3 s open"),
        (OPEN + "pathAt_c2r_0:1,abandon\n", XP, "topo:7: pathAt_c2r_0: the last path cannot be ab"),
        (OPEN + "pathAt_c2r_0:2,open\n", XP, "topo:6: pathAt_c2r_1: no path is there at 0 s"),
        ("pathAt_c2r_1:0,available\n", XP, "topo:6: pathAt_c2r_1: its path is available already"),
        (OPEN, "xpType:tcp\n", "topo:6: pathAt_c2r_1: mode sc has no paths to schedule; allowed"),
        (OPEN, XP + "paths:0\n", "xp:2: paths: {topo} has a schedule (pathAt_c2r_1); allowed: one"),
        ("outages_c2r_1:2\n", XP, "topo:6: outages_c2r_1: '2' is no outage; write from-to[,from"),
        ("outages_c2r_1:1-1\n", XP, "topo:6: outages_c2r_1: each time must be after the one bef"),
    ],
)
def test_a_wrong_line_is_one_error_with_its_place(
    topology: str, xp: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, TWO_PATHS + topology, xp)
    assert message.format(topo=tmp_path / "topo") in str(caught.value)
