"""Lines of paths in Minitopo's files, with traces and drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.cli.exec import path_of_topology
from minitopo_dc.fields import PathEvent, PathPlan, SettingsError
from minitopo_dc.installation import shipped
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.minitopo.render import render
from minitopo_dc.scenario import Leg, Scenario, resolve_scenario
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


SECOND = 10**9
CHANNELS = "time_s,channel_1_mbps,channel_2_mbps,channel_1_cell,channel_2_cell\n"


def rendered(directory: Path, *values: str, kind: str = "mpquic-picoquic") -> Scenario:
    """The scenario of both files."""
    files = directory / "topo", directory / "xp"
    for file, name, given in zip(
        files,
        ("drive.topo", "download.xp"),
        (values, (f"type={kind}", "clock=virtual")),
        strict=True,
    ):
        file.write_text(render(name, given), encoding="utf-8")
    return read_minitopo(*files).scenario


def by_rule(environment: str, case: int | str, start: int) -> Scenario:
    """What a scenario with the drive's traces and the handover rule runs in its first minute."""
    file = shipped("traces") / f"drive_{environment}.csv"
    trace = {"trace": str(file), "delay_curve": "power", "jitter_ms": 0}
    radios = [trace | {"trace_column": f"channel_{number}_mbps"} for number in (1, 2, 3, 4)]
    values = {
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "legs": [{"downlink": radio, "uplink": radio} for radio in radios],
        "handover": {"case": case},
        "trace_offset_s": start,
        "timeout_s": 59,
        "clock": "virtual",
    }
    return resolve_scenario(Scenario.check(values, "test"))


def mbit(leg: Leg) -> list[float]:
    """What a leg can carry in each second."""
    radio = leg.direction("downlink")
    capacity = radio.capacity()
    down = {second for begin, end in radio.outages for second in range(int(begin), int(end))}
    return [
        0 if s in down else capacity.bits_between(s * SECOND, (s + 1) * SECOND) / 1e6
        for s in range(60)
    ]


@pytest.mark.parametrize("case", [1, 2, 4])
def test_a_file_has_the_paths_and_capacities_that_the_rule_makes(case: int, tmp_path: Path) -> None:
    given = rendered(tmp_path, "drive=road", f"case={case}", "start=100", "seconds=60")
    expected = by_rule("road", case, 100)
    (found,), (wanted,) = (
        [flow.paths for flow in each.resolved_flows] for each in (given, expected)
    )
    assert found is not None
    assert wanted is not None
    assert found.initial == wanted.initial
    assert [event for event in found.events if event.at_s < 59] == list(wanted.events)
    assert found.each_carries == wanted.each_carries is False
    assert list(map(mbit, given.legs)) == list(map(mbit, expected.legs))


def test_case_sp_is_one_path_with_the_best_capacity_of_each_second(tmp_path: Path) -> None:
    values = ("drive=road", "case=sp", "start=100", "seconds=60")
    given = rendered(tmp_path, *values, kind="quic-picoquic")
    (leg,) = given.legs
    assert mbit(leg) == mbit(by_rule("road", "sp", 100).legs[0])


def test_every_queue_is_a_round_trip_s_at_the_best_channel_s_mean(tmp_path: Path) -> None:
    queues = {leg.downlink.queue_packets for leg in rendered(tmp_path, "seconds=9").legs}
    assert queues == {11}  # ten packets of a round trip, and the queue field


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["case=5"], r"^case=5: the drive residential has 4 channels; allowed: sp, or 1 to 4"),
        (["start=1.5"], r"^start=1.5; allowed: whole s, 0 to 1000000"),
        (["curve=flat"], r"^curve=flat; allowed: power, exponential, linear, constant"),
        (["drive=moon"], r"^drive=moon: No such file or directory; allowed: residential, road, or"),
    ],
)
def test_a_wrong_value_names_what_is_allowed(values: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        render("drive.topo", values)


@pytest.mark.parametrize("case", ["sp", "1"])
def test_a_drive_without_any_capacity_is_refused(case: str, tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text(CHANNELS + "0,0,0,,\n1,0,0,,\n2,7,0,a,\n")
    with pytest.raises(SettingsError, match=r"no channel has any capacity from 0 to 2 s"):
        render("drive.topo", [f"drive={file}", f"case={case}", "seconds=2"])
