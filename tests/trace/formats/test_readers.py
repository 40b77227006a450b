"""Trace files of all formats but JSON: what is taken of them, and what is refused where."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.trace import RateTrace, TraceError, read_trace
from minitopo_dc.trace.formats.table import read_channel

RACA = "Timestamp,Speed,DL_bitrate,UL_bitrate,State"
RACA_5G = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,"
    "DL_bitrate,UL_bitrate,State,PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS,CELLHEX,NODEHEX,"
    "LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ"
)
"""Of the 5G data set of Raca et al. 2020."""
ROW_5G = "-8.38,51.93,0,B,12,5G,-100,-10,8.0,12,-,{},50,D,-,-,-,-,-,C,A,B,1,-100,-1"
TABLE = "time_s,cell,dl"
Lines = list[str]


def write(directory: Path, lines: Lines) -> Path:
    path = directory / "trace.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def taken(path: Path, **options: Any) -> tuple[list[float], list[int], float]:
    """Times (s) and rates (bit/s) that are read, and the length (s)."""
    trace = read_trace(path, **options)
    assert isinstance(trace, RateTrace)
    return [time / 1e9 for time in trace.times_ns], [*trace.rates_bps], trace.duration_ns / 1e9


def raca(*samples: str) -> Lines:
    """Lines with samples "seconds after 23:59:50, down, up"."""
    lines = [RACA]
    for sample in samples:
        second, down, up = sample.split()
        over, seconds = divmod(50 + int(second), 60)
        day = "2018.03.01_00.00" if over else "2018.02.28_23.59"
        lines.append(f"{day}.{seconds:02},0,{down},{up},D")
    return lines


@pytest.mark.parametrize(
    ("samples", "times", "kbps", "seconds"),
    [
        (["0 1000 0", "1 2500 0"], [0, 1], [1000, 2500], 2),
        (["0 1000 0", "15 3000 0"], [0, 15], [1000, 3000], 16),  # over a gap and over midnight
        (["0 1000 0", "1 1000 0", "1 2000 0", "1 4500 0", "2 7 0"], [0, 1, 2], [1000, 2500, 7], 3),
        (["0 1000 0", "1 - 0", "2 2000 0", "3 - 0"], [0, 2], [1000, 2000], 4),
        (["0 - 0", "0 1000 0"], [0], [1000], 1),
        (["0 - 0", "3 1000 0"], [0], [1000], 1),
    ],
)
def test_raca_s_values_hold_until_the_next_one_and_equal_times_have_their_mean(
    samples: Lines, times: list[float], kbps: list[int], seconds: float, tmp_path: Path
) -> None:
    rates = [1000 * rate for rate in kbps]
    assert taken(write(tmp_path, raca(*samples))) == (times, rates, seconds)


@pytest.mark.parametrize(
    ("lines", "column", "rates"),
    [
        (raca("0 1000 10", "1 2500 20"), "UL_bitrate", [10_000, 20_000]),
        (
            [RACA_5G] + [f"2019.11.28_07.27.5{n},{ROW_5G.format(120_000 * n)}" for n in (8, 9)],
            "DL_bitrate",
            [960_000_000, 1_080_000_000],
        ),
        (["time_ms,cell,dl", "0,7,1500", "1000,7,2500"], "dl:kbps", [1_500_000, 2_500_000]),
        (["time_s,a_mbps,b_mbps", "0,1,5", "1,0,6"], "b_mbps", [5_000_000, 6_000_000]),
        (["time (s),cell,DL [Mbit/s]", "0,1,4", "1,1,6"], "DL [Mbit/s]", [4_000_000, 6_000_000]),
        (["time_s,Mbit/s", "0,4", "1,5"], "DL_bitrate", [4_000_000, 5_000_000]),
        (["Time (s),Throughput (Mbit/s)", "0,4", "1,5"], "DL_bitrate", [4_000_000, 5_000_000]),
        (["time_s\tcell\tdl_mbps", "0\t7\t12.5", "1\t7\t8"], "dl_mbps", [12_500_000, 8_000_000]),
        (["time_s cell  dl_mbps", "0   7 12.5", " 1 7  8"], "dl_mbps", [12_500_000, 8_000_000]),
        (["time_s;cell;dl_mbps", "0;7;12,5", "1,0;7;8"], "dl_mbps", [12_500_000, 8_000_000]),
        (['"time (s)","c, d","x (Mbit/s)"', '0,"a, b",2', '1,"a, b",8'], "x (Mbit/s)", [2e6, 8e6]),
        (["0 12.5", "1 8"], "DL_bitrate", [12_500_000, 8_000_000]),
        (["0;12,5", "1,0;8"], "DL_bitrate", [12_500_000, 8_000_000]),
        (["# a comment", "time_s,rate_mbps", "0,1", "1.0,0.25"], "DL_bitrate", [1e6, 250_000]),
        (["1518451442,1", "", "1518451443.0,3"], "DL_bitrate", [1_000_000, 3_000_000]),
        (["1518451442000,1", "1518451443000,3"], "DL_bitrate", [1_000_000, 3_000_000]),
        (["t,mbps", "1518451442000,1", "1518451443000,3"], "DL_bitrate", [1_000_000, 3_000_000]),
        (["2026-01-31T12:00:00,1", "2026-01-31T12:00:01,3"], "DL_bitrate", [1e6, 3e6]),
        (["time_s,cell,dl_mbps", "0,7,1", "1,7,3"], "DL_bitrate", [1_000_000, 3_000_000]),
        (["0,7,1", "1,7,3"], "column 3:Mbps", [1_000_000, 3_000_000]),
        (["\ufefftime_s,rate_mbps", "0,1", "1,2"], "DL_bitrate", [1_000_000, 2_000_000]),
    ],
)
def test_a_column_has_its_name_unit_and_separator_in_many_ways(
    lines: Lines, column: str, rates: list[int], tmp_path: Path
) -> None:
    assert taken(write(tmp_path, lines), column=column) == ([0, 1], rates, 2)


@pytest.mark.parametrize(
    ("lines", "times", "seconds"),
    [
        (["0,1", "1,2", "3,4"], [0, 1, 3], 5),  # the last one as long as the one before
        (["0,1"], [0], 1),
        (["0,1", "1,2", "1.25,"], [0, 1], 1.25),
        (["time_s,down_mbps", "0,4", "2,5", "3,"], [0, 2], 3),
        (["0,1", "0,3", "1,", "2,8"], [0, 2], 3),
        (["time_s,cell,dl_bps", "0,1,", "1,1,4", "1,1,6", "2,1,-", "3,1,7", "5,1,8"], [0, 2, 4], 6),
    ],
)
def test_the_end_is_said_or_follows_from_the_row_before(
    lines: Lines, times: list[float], seconds: float, tmp_path: Path
) -> None:
    column = "dl_bps" if "dl_bps" in lines[0] else "DL_bitrate"
    read_times, _, length = taken(write(tmp_path, lines), column=column)
    assert (read_times, length) == (times, seconds)


@pytest.mark.parametrize(
    ("first", "second", "time_column", "gap_s"),
    [
        ("2026-01-31T23:59:59", "2026-02-01T00:00:01", "when:iso", 2),
        ("2026-01-31 23:59:59.25", "2026-02-01 00:00:01.25", "when:iso", 2),
        ("2026-01-31T23:59:59+01:00", "2026-01-31T23:00:01Z", "when:iso", 2),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:02.5", None, 2.5),  # a first column of dates
        ("1700000000000000001", "1700000000000000004", "when:ns", 3e-9),
    ],
)
def test_times_may_be_dates_and_in_any_column(
    first: str, second: str, time_column: str | None, gap_s: float, tmp_path: Path
) -> None:
    columns = ["cell,dl,when", f"1,8,{first}", f"1,9,{second}"]
    if time_column is None:
        columns = [",".join(reversed(line.split(","))) for line in columns]
    path = write(tmp_path, columns)
    times, rates, _ = taken(path, column="dl:mbps", time_column=time_column)
    assert (times, rates) == ([0, gap_s], [8_000_000, 9_000_000])


@pytest.mark.parametrize(
    ("header", "bps"),
    [
        ("DL_MBps", 40_000_000),
        ("DL_mbps", 5_000_000),
        ("downlink_Kibps", 5_120),
        ("bits_per_second", 5),
        ("throughput MByte/s", 40_000_000),
    ],
)
def test_the_case_of_a_unit_in_a_name_is_part_of_it(tmp_path: Path, header: str, bps: int) -> None:
    path = write(tmp_path, [f"time_s,cell,{header}", "0,1,5", "2,1,6"])
    assert taken(path, column=header)[1][0] == bps


@pytest.mark.parametrize("header", ["DL_MBPS", "rate_mb", "dl KB/s", "down (mb/s)"])
def test_an_ambiguous_unit_in_a_name_is_refused_with_known_spellings(
    tmp_path: Path, header: str
) -> None:
    path = write(tmp_path, [f"time_s,cell,{header}", "0,1,5", "2,1,6"])
    with pytest.raises(TraceError, match=r":1: .*of no one unit: .*Mbit/s.*MB/s.*MBps"):
        read_trace(path, column=header)


FIRST = "2018.02.28_10.00.01,0,1,1,D"


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["Timestamp,Speed"], 1, "DL_bitrate"),
        ([RACA, "2018-02-28 10:00:00,0,1,1,D"], 2, r"2018-02-28.*%Y\.%m\.%d_%H\.%M\.%S"),
        ([RACA, "2018.02.28_10.00.00,0,fast,1,D"], 2, "'fast'.*DL_bitrate"),
        ([RACA, "2018.02.28_10.00.00,0,nan,1,D"], 2, "'nan' is not a number.*-"),
        ([RACA, "2018.02.28_10.00.00,0"], 2, "2 columns.*5 columns"),
        ([RACA, FIRST, "2018.02.28_10.00.00,0,1,1,D"], 3, "backwards"),
        ([RACA, "2018.02.28_10.00.01,0,-,1,D"], 0, "DL_bitrate"),
        (["time,rate_mbps", "0,1"], 1, "'time' names no unit.*time:UNIT.*s, min"),
        (["time_s,rate", "0,1"], 1, "'rate' names no unit.*rate:UNIT.*Mbit/s, Gbit/s"),
        (["time_s,rate_mbps"], 1, "no row"),
        (["0,1", "1,2,3"], 2, "3 columns.*2 columns"),
        (["0,1", "1,2", "0.5,3"], 3, "backwards"),
        (["t,mbps", "0,1"], 1, "'t' names no unit.*--time-column t:s; --set '.*time_column=t:s';"),
        (["t,mbps", "nan,1"], 1, "'t' names no unit"),
        (["1e999999,1"], 1, "'1e999999' is out of range"),
        (["# only a comment", ""], 0, "no data"),
        (["1", "2.5"], 2, "'2.5'.*whole number"),
        (["5", "4"], 2, "backwards.*5 ms or later"),
        (["0", "0"], 2, "0 ms.*above 0"),
        (["1;2;3"], 1, "no column of 3 .*--trace-column 'column 2:Mbit/s'"),
        (["word"], 1, "raca.*csv.*mahimahi"),
        (["time_s\tdl_mbps", "0\t12,5"], 2, "'12,5' is not a number"),  # no decimal commas here
        ([TABLE, "0,1,2"], 1, "no column of 3 .*--column"),
        (
            ["time_s,down_mbps,up_mbps,cell", "0,40,8,1"],
            1,
            r"2 columns may be the capacity .*down_mbps, up_mbps, as in --trace-column down_mbps;",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_line(
    lines: Lines, line: int, words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, lines)
    where = f"{path}:{line}:" if line else f"{path}:"
    with pytest.raises(TraceError, match=f"^{where} .*{words}") as caught:
        read_trace(path)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("lines", "column", "time_column", "message"),
    [
        ([TABLE, "0,1,2"], "ul:kbps", None, ":1: no column 'ul'.*time_s, cell, dl"),
        ([TABLE, "0,1,2"], "dl", None, ":1: .*'dl' names no unit.*trace_column.*bit/s, kbit/s"),
        ([TABLE, "0,1,2"], "dl:MBPS", None, "'dl:MBPS' is of no one unit: MBPS could be of bits"),
        ([TABLE, "0,1,2"], "dl:kbps", "at:s", ":1: no column 'at'"),
        (["time_s,dl,dl", "0,1,2"], "dl:kbps", None, ":1: 2 columns 'dl' .*different names"),
        (["when,cell,dl", "noon,1,2"], "dl:kbps", "when:iso", ":2: time stamp 'noon'.*ISO 8601"),
        ([TABLE, "0,1,-"], "dl:kbps", None, "no value in column 'dl'"),
        (raca("0 1 1"), "Speed", None, "DL_bitrate or UL_bitrate"),
    ],
)
def test_a_column_that_cannot_be_taken_is_named(
    lines: Lines, column: str, time_column: str | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=message):
        read_trace(write(tmp_path, lines), column=column, time_column=time_column)


def test_a_format_that_is_given_is_not_guessed_and_a_binary_file_is_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read_trace(write(tmp_path, ["1", "2"]), format="csv")
    assert caught.value.line == 1
    (tmp_path / "trace.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="UTF-8"):
        read_trace(tmp_path / "trace.bin")


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["# a comment", "", *(f"{time},1" for time in range(4))], "4 lines"),
        (['[{"duration_ms": 1, "bandwidth_kbps": 1}' + ', {"duration_ms": 1}' * 3 + "]"], "4 entr"),
        (['[{"duration_ms": 1}' + ", 0.1" * 16 + "]"], "4 entries"),
    ],
)
def test_more_lines_than_memory_is_for_are_refused_before_they_are_read(
    lines: Lines, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.trace.formats.fields.MAX_LINES", 3)
    with pytest.raises(TraceError, match=rf": {what}.*up to 3"):
        read_trace(write(tmp_path, lines))


def test_a_line_of_a_trace_takes_less_than_250_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, [f"{time * 0.05:.2f},{time % 977}.125" for time in range(20_000)])
    tracemalloc.start()
    try:
        read_trace(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 250 * 20_000


LOG = ["t_s,cqi,rank,blocks", "0,3,2,100", "1,5,4,50", "2,-,4,50", "3,7,-,50", "4,0,1,100"]


def index_by_layers(kind: str, index: float, layers: float | None) -> float:
    """Mbit/s that are easily checked: as many as the index, a layer."""
    if index > 15:
        raise ValueError(f"{kind} {index:g}", "0 to 15")
    return index * (3 if layers is None else layers)


@pytest.mark.parametrize(
    ("options", "times", "mbps"),
    [
        ({}, (0, 1, 3, 4), (9, 15, 21, 0)),
        ({"layers": "rank"}, (0, 1, 4), (6, 20, 0)),
        ({"share": "blocks"}, (0, 1, 3, 4), (9, 7.5, 10.5, 0)),
        ({"layers": "rank", "share": "blocks"}, (0, 1, 4), (6, 10, 0)),
        ({"column": "rank:mcs"}, (0, 1, 2, 4), (6, 12, 12, 3)),
    ],
)
def test_a_log_of_a_channel_is_rates_by_index_layers_and_share(
    options: Any, times: tuple[int, ...], mbps: tuple[float, ...], tmp_path: Path
) -> None:
    trace = read_channel(write(tmp_path, LOG), index_by_layers, **options)
    assert [time / 1e9 for time in trace.times_ns] == [*times]
    assert [rate / 1e6 for rate in trace.rates_bps] == [*mbps]


def test_a_channel_of_raca_s_files_is_their_cqi(tmp_path: Path) -> None:
    path = write(
        tmp_path, [RACA_5G, *(f"2019.12.01_00.00.0{n},{ROW_5G.format(9)}" for n in (1, 3))]
    )
    trace = read_channel(path, index_by_layers)
    assert (trace.times_ns, trace.rates_bps) == ((0, 2 * 10**9), (36_000_000, 36_000_000))


@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        ("0,16,1,1", {}, r":2: cqi 16 \(allowed: 0 to 15\)"),
        ("0,1,9,1", {"layers": "rank"}, r":2: 9 for rank \(allowed: 0 to 8\)"),
        ("0,1,1,101", {"share": "blocks"}, r":2: 101 for blocks \(allowed: 0 to 100\)"),
        ("0,1,1,1", {"layers": "ri"}, r":1: no column 'ri' \(allowed: t_s, cqi, rank, blocks\)"),
        (
            "0,1,1,1",
            {"column": "rank"},
            r":1: the channel's column 'rank' names no unit .* cqi, mcs",
        ),
        ("0,x,1,1", {}, ":2: 'x' is not a number"),
    ],
)
def test_a_log_that_tells_no_channel_is_refused_with_its_line(
    row: str, options: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=words):
        read_channel(write(tmp_path, [LOG[0], row]), index_by_layers, **options)
