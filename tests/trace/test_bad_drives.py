"""Drives that cannot be: one clear error in each command that reads them, or a stated rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.trace import TraceError, read_channels, read_trace

LOG = "time_s,operator,carrier,cell,rsrp_dbm\n"
WIDE = "time_s,channel_1_mbps,channel_2_mbps,channel_1_cell,channel_2_cell\n"
BOTH = "A/1/x,B/1/y\n"

GAP = f"0,5,1,{BOTH}4,5,1,{BOTH}", "drive.csv:3: time 4 after 0 (allowed: each second once)"


def written(directory: Path, text: str) -> Path:
    path = directory / "drive.csv"
    path.write_text(text, encoding="utf-8")
    return path


def scenario(directory: Path, drive: Path, case: int | str) -> Path:
    """Two legs that follow the drive's channels by a handover rule."""
    legs = [f"{{downlink: {{trace: {drive}, trace_column: channel_{n}_mbps}}}}" for n in (1, 2)]
    path = directory / "s.yaml"
    path.write_text(
        "transport: mpquic-picoquic\nmode: multipath\nclock: virtual\ncongestion_control: cubic\n"
        f"legs: [{', '.join(legs)}]\nhandover: {{case: {case}}}\ntimeout_s: 9\n"
    )
    return path


def test_a_bad_file_is_the_same_error_for_each_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = str(written(tmp_path, LOG + "5,A,1,x,-80\n3,A,1,x,-80\n"))
    for words in (["cells", drive], ["channels", drive, str(tmp_path / "channels.csv")]):
        assert cli.main(["trace", *words]) == 2
        assert "drive.csv:3: time 3 goes backwards" in capsys.readouterr().err
    written(tmp_path, WIDE + GAP[0])
    for words in (
        ["trace", "cells", drive],
        ["trace", "info", drive, "--column", "channel_2_mbps"],
        ["template", "render", "drive.topo", f"drive={drive}"],
        ["run", str(scenario(tmp_path, Path(drive), 2)), "--output", str(tmp_path / "results")],
    ):
        assert cli.main(words) == 2, words
        assert GAP[1] in capsys.readouterr().err, words


def test_a_campaign_names_the_drive_and_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, message = GAP
    leg = f"dc.Leg(trace={str(written(tmp_path, WIDE + rows))!r}, trace_column='channel_1_mbps')"
    path = tmp_path / "mine.py"
    made = f"dc.Scenario(transport='quic', mode='sc', legs=[{leg}], clock='virtual')"
    path.write_text(f"import minitopo_dc as dc\n\ndef cases(version):\n    yield {made}, {{}}\n")
    assert cli.main(["campaign", "run", str(path), "--dry-run"]) == 2
    assert message in capsys.readouterr().err


def test_a_log_of_cells_is_no_capacity_of_a_leg(tmp_path: Path) -> None:
    drive = written(tmp_path, LOG + "0,A,1,x,-80\n")
    for read in (read_channels, lambda path: read_trace(path, column="channel_1_mbps")):
        with pytest.raises(
            TraceError, match=r"drive\.csv:1: a log of cells has no capacity .*trac"
        ):
            read(drive)


def test_a_floor_that_no_channel_reaches_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = written(tmp_path, LOG + "0,A,1,x,-120\n")
    words = ["trace", "channels", str(drive), str(tmp_path / "out.csv"), "--floor", "50"]
    assert cli.main(words) == 2
    assert "drive drive.csv: no channel has any capacity in any second" in capsys.readouterr().err


def test_an_operator_that_vanishes_loses_its_path(tmp_path: Path) -> None:
    gone = "".join(f"{second},5,0,A/1/x,\n" for second in range(2, 20))
    drive = written(tmp_path, f"{WIDE}0,5,1,{BOTH}1,5,1,{BOTH}{gone}")
    derived = resolve_scenario(Scenario.load(scenario(tmp_path, drive, 2))).scenario
    plan = derived.resolved_flows[0].paths
    assert plan is not None
    assert [tuple(event) for event in plan.events] == [(7, "abandon", 2)]  # 5 s after it vanished


def test_a_case_of_more_paths_than_channels_names_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = written(tmp_path, f"{WIDE}0,5,1,{BOTH}")
    words = ["run", str(scenario(tmp_path, drive, 4)), "--output", str(tmp_path / "results")]
    assert cli.main(words) == 2
    assert "handover.case: 4 legs at once; allowed: sp, or 1 to 2" in capsys.readouterr().err


def test_channels_that_are_away_for_the_whole_run_are_named(tmp_path: Path) -> None:
    rows = "".join(f"{second},0,0,,\n" for second in range(30))
    drive = written(tmp_path, f"{WIDE}{rows}30,5,0,A/1/x,\n")
    with pytest.raises(ValueError, match="handover: no channel has any capacity in the first 10 s"):
        resolve_scenario(Scenario.load(scenario(tmp_path, drive, 2)))
