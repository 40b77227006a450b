"""`template render drive.topo`: a drive and a handover rule as one topology file."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.installation import shipped
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.minitopo.render import render
from minitopo_dc.scenario import Leg, Scenario, resolve_scenario

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
    return resolve_scenario(Scenario.check(values, "test")).scenario


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
        (["case=two"], r"handover: case"),
        (["overlap_s=2"], r"handover: overlap_s"),
        (["start=1.5"], r"^start=1.5; allowed: whole s, 0 to 1000000"),
        (["seconds=0"], r"^seconds=0; allowed: whole s, 1 to 600"),
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


def test_a_drive_with_a_gap_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text(CHANNELS + "0,5,1,a,b\n3,6,1,a,b\n")
    with pytest.raises(SettingsError, match=r"drive\.csv:3: time 3 after 0 \(allowed: each second"):
        render("drive.topo", [f"drive={file}"])
