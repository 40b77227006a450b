"""Drives as files: cells and channels, those of Raca et al., and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from minitopo_dc.trace import (
    CellLog,
    TraceError,
    channel_statistics,
    channels_of,
    kind_of_drive,
    read_cells,
    read_channels,
    read_trace,
    write_cells,
    write_channels,
)
from tests.trace.formats.test_files import MEASURED, needs_measured
from tests.trace.heard_cells import LOGS, heard

HEADER = "time_s,operator,carrier,cell,rsrp_dbm\n"
WIDE = "time_s,channel_1_mbps,channel_2_mbps,channel_1_cell,channel_2_cell\n"
RACA = "Timestamp,Operatorname,CellID,NetworkMode,RSRP,NRxRSRP\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@given(LOGS)
def test_a_log_that_was_written_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, log: CellLog
) -> None:
    """From its first second with a cell to its last one."""
    path = tmp_path_factory.mktemp("log") / "d.csv"
    write_cells(log, path, comment="made by a test")
    full = [second for second, cells in enumerate(log.seconds) if cells]
    assert read_cells(path).seconds == log.seconds[full[0] : full[-1] + 1]


@given(LOGS)
def test_channels_that_were_written_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, log: CellLog
) -> None:
    path = tmp_path_factory.mktemp("channels") / "d"
    capacities = channels_of(log)
    write_channels(capacities, path, comment="made by a test")
    assert read_channels(path) == capacities


def test_a_channel_of_a_wide_file_is_a_leg_s_trace(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", WIDE + "0,1.5,2,A/1/1,B/1/1\n1,0,2.25,,B/1/1\n")
    trace = read_trace(path, column="channel_2_mbps")
    assert trace == read_channels(path).trace(1)


@pytest.mark.parametrize(
    ("text", "kind"), [(HEADER, "cells"), (WIDE, "channels"), ("time_s,rate_mbps\n", None)]
)
def test_a_file_s_header_tells_what_it_has_of_a_drive(
    tmp_path: Path, text: str, kind: str | None
) -> None:
    assert kind_of_drive(written(tmp_path / "d.csv", text)) == kind


def test_a_second_has_the_mean_of_a_cell_s_values_and_none_without_a_row(tmp_path: Path) -> None:
    rows = "7,A,1,x,-90\n7.6,A,1,x,-93\n9.5,A,1,x,-91\n"
    log = read_cells(written(tmp_path / "d.csv", HEADER + rows))
    assert log.seconds == (heard(("A/1/x", -91.5)), (), heard(("A/1/x", -91)))


def test_logs_of_two_operators_are_one_drive(tmp_path: Path) -> None:
    one = written(tmp_path / "a.csv", HEADER + "100,A,1,x,-90\n101,A,1,x,-90\n")
    two = written(tmp_path / "b.csv", HEADER + "101,B,1,x,-95\n")
    drive = read_cells(one, two)
    assert drive.name == "a.csv + b.csv"
    assert drive.seconds[1] == heard(("A/1/x", -90), ("B/1/x", -95))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (HEADER, 1, "no cell"),
        (HEADER + "0,A,1,x,-90\n0,A,1,y\n", 3, "4 columns"),
        (HEADER + "5,A,1,x,-90\n4,A,1,x,-90\n", 3, "time 4 goes backwards"),
        (HEADER + "0,A,1,x,-200\n", 2, "'-200' is out of range"),
        (HEADER + "0,,1,x,-90\n", 2, "operator ''"),
        (HEADER + "0,A,1/2,x,-90\n", 2, "carrier '1/2'"),
        (HEADER + "0,A,1,x,-90\n900000000,A,1,x,-90\n", 3, "no row for 900000000 s after 0 s"),
        (HEADER + "0,x,y,z,999\n", 2, "'999' is out of range"),
        ("time,cell,rsrp\n0,x,-90\n", 1, "time_s,operator,carrier,cell,rsrp_dbm"),
        (WIDE, 1, "no channels"),
        (WIDE + "0,1,2,a\n", 2, "4 columns"),
        (WIDE + "0,1,2,a,b\n2,1,2,a,b\n", 3, "time 2 after 0"),
        (WIDE + "0.5,1,2,a,b\n", 2, "time 0.5"),
        (WIDE + "0,0,0,,\n1,0,0,,\n", 0, "no channel has any capacity"),
    ],
)
def test_what_is_no_log_of_cells_and_has_no_channels_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    read = read_channels if text.startswith(WIDE) else read_cells
    with pytest.raises(TraceError) as caught:
        read(written(tmp_path / "d.csv", text))
    assert caught.value.line == line
    assert what in str(caught.value)
    assert caught.value.path.name == "d.csv"


def test_cells_without_an_operator_in_their_names_leave_it_unknown(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", WIDE + "0,1,2,a,B/1/7\n")
    assert read_channels(path).operators == ("", "B")


def test_a_file_of_raca_has_the_serving_cell_and_a_neighbour(tmp_path: Path) -> None:
    rows = (
        "2018.01.25_16.33.45,B,3,LTE,-96,-102.0\n"
        "2018.01.25_16.33.47,B,4,LTE,-98,-\n"
        "2018.01.25_16.33.48,B,4,HSPA+,-98,-99\n"
        "2018.01.25_16.33.49,B,4,LTE,-97,0.0\n"
    )
    both = heard(("B/LTE/3", -96), ("B/LTE/neighbour", -102))
    alone = heard(("B/LTE/4", -98))
    seconds = read_cells(written(tmp_path / "b.csv", RACA + rows)).seconds
    assert seconds == (both, both, alone, (), heard(("B/LTE/4", -97)))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("2018.01.25_16.33.44,B,3,LTE,-96,-102", "time goes backwards"),
        ("2018.01.25_16.33.46,B,3,LTE,-96", "5 columns"),
        ("2018.01.25,B,3,LTE,-96,-", "time stamp"),
        ("2038.01.25_16.33.46,B,3,LTE,-96,-", "gaps of at most 86400 s"),
    ],
)
def test_a_row_of_raca_that_cannot_be_read_is_named(tmp_path: Path, row: str, what: str) -> None:
    first = "2018.01.25_16.33.45,B,3,LTE,-96,-102.0\n"
    with pytest.raises(TraceError, match=what) as caught:
        read_cells(written(tmp_path / "b.csv", RACA + first + row + "\n"))
    assert caught.value.line == (0 if "gaps" in what else 3)
    with pytest.raises(TraceError, match="no cell"):
        read_cells(written(tmp_path / "b.csv", RACA + first.replace("LTE", "UMTS")))


@needs_measured
def test_two_operators_measured_together_are_a_drive_of_two_channels() -> None:
    log = read_cells(*sorted(MEASURED.glob("pedestrian_*.csv")))
    statistics = channel_statistics(channels_of(log), log)
    assert statistics.duration_s == 853
    assert set(statistics.capacity) == {"A SP", "B SP", "Best Single Path", "Multipath"}
    assert statistics.available_mean == pytest.approx(2, abs=0.01)
    assert statistics.visible_mean == pytest.approx(3.63, abs=0.01)
