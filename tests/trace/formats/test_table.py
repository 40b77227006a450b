"""CSV files of any columns: what is taken of them, by their times."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.trace import RateTrace, TraceError, read_trace, write_csv

HEADER_5G = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,"
    "DL_bitrate,UL_bitrate,State,PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS,CELLHEX,NODEHEX,"
    "LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ"
)
"""Of the 5G data set of Raca et al. 2020."""


def table(directory: Path, *lines: str) -> Path:
    path = directory / "drive.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rates(path: Path, column: str, time_column: str | None = None) -> RateTrace:
    trace = read_trace(path, column=column, time_column=time_column)
    assert isinstance(trace, RateTrace)
    return trace


def test_a_column_is_taken_by_its_name_and_unit(tmp_path: Path) -> None:
    path = table(tmp_path, "time_ms,cell,dl", "0,7,1500", "500,7,2500")
    trace = rates(path, "dl:kbps")
    assert trace.times_ns == (0, 500_000_000)
    assert trace.rates_bps == (1_500_000, 2_500_000)
    assert trace.duration_ns == 1_000_000_000


def test_a_name_may_end_in_its_unit(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s,channel_1_mbps,channel_2_mbps", "0,1,5", "1,0,6")
    assert rates(path, "channel_1_mbps").rates_bps == (1_000_000, 0)
    assert rates(path, "channel_2_mbps").rates_bps == (5_000_000, 6_000_000)


def test_the_time_may_be_any_column(tmp_path: Path) -> None:
    path = table(tmp_path, "dl,stamp", "8,100", "9,103")
    trace = rates(path, "dl:mbps", "stamp:s")
    assert trace.times_ns == (0, 3_000_000_000)
    assert trace.rates_bps == (8_000_000, 9_000_000)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-01-31T23:59:59", "2026-02-01T00:00:01"),
        ("2026-01-31 23:59:59.25", "2026-02-01 00:00:01.25"),
        ("2026-01-31T23:59:59+01:00", "2026-01-31T23:00:01Z"),
    ],
)
def test_times_may_be_dates(tmp_path: Path, first: str, second: str) -> None:
    path = table(tmp_path, "when,cell,dl", f"{first},1,8", f"{second},1,9")
    assert rates(path, "dl:mbps", "when:iso").times_ns == (0, 2_000_000_000)


def test_times_since_1970_keep_their_nanoseconds(tmp_path: Path) -> None:
    path = table(tmp_path, "t,cell,dl", "1700000000000000001,1,8", "1700000000000000004,1,9")
    assert rates(path, "dl:gbps", "t:ns").times_ns == (0, 3)


def test_a_repeated_time_has_the_mean_and_a_missing_value_is_none(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s,cell,dl", "0,1,", "1,1,4", "1,1,6", "2,1,-", "3,1,7", "5,1,8")
    trace = rates(path, "dl:bps")
    assert trace.times_ns == (0, 2_000_000_000, 4_000_000_000)
    assert trace.rates_bps == (5, 7, 8)
    assert trace.duration_ns == 6_000_000_000


def test_a_file_of_the_5g_data_set_is_read_as_one_of_4g(tmp_path: Path) -> None:
    row = "-8.38,51.93,0,B,12,5G,-100,-10,8.0,12,-,{},50,D,-,-,-,-,-,C,A,B,1,-100,-1"
    path = table(
        tmp_path,
        HEADER_5G,
        f"2019.11.28_07.27.58,{row.format(120_000)}",
        f"2019.11.28_07.28.00,{row.format(250_000)}",
    )
    trace = rates(path, "DL_bitrate")
    assert trace.times_ns == (0, 2_000_000_000)
    assert trace.rates_bps == (120_000_000, 250_000_000)


@pytest.mark.parametrize(
    ("time", "rate", "column"),
    [
        ("seconds", "dl_mbps", "dl_mbps"),
        ("time (s)", "DL [Mbit/s]", "DL [Mbit/s]"),
        ("t_sec", "down mbps", "down mbps"),
        ("time_s", "dl", "dl:Mbit/s"),
    ],
)
def test_a_header_may_write_its_units_in_other_ways(
    tmp_path: Path, time: str, rate: str, column: str
) -> None:
    trace = rates(table(tmp_path, f"{time},cell,{rate}", "0,1,4", "2,1,6"), column)
    assert trace.times_ns == (0, 2_000_000_000)
    assert trace.rates_bps == (4_000_000, 6_000_000)


def test_a_table_can_become_a_trace_of_two_columns(tmp_path: Path) -> None:
    trace = rates(table(tmp_path, "time_s,cell,dl", "0,1,4", "2,1,6"), "dl:mbps")
    write_csv(trace, tmp_path / "regular.csv")
    assert read_trace(tmp_path / "regular.csv") == RateTrace(
        "regular.csv", trace.times_ns, trace.rates_bps, trace.duration_ns
    )


@pytest.mark.parametrize(
    ("lines", "column", "time_column", "message"),
    [
        (["time_s,cell,dl", "0,1,2"], "DL_bitrate", None, ":1: no column of 3 .*--column"),
        (["time_s,cell,dl", "0,1,2"], "ul:kbps", None, ":1: no column 'ul'.*time_s, cell, dl"),
        (
            ["time_s,cell,dl", "0,1,2"],
            "dl",
            None,
            ":1: .*'dl' names no unit.*trace_column.*bit/s, kbit/s, Mbit/s",
        ),
        (
            ["time_s,cell,dl", "0,1,2"],
            "dl:MBPS",
            None,
            r"'dl:MBPS' is of no one unit: MBPS could be of bits or bytes.*allowed: dl:UNIT",
        ),
        (
            ["stamp,cell,dl", "0,1,2"],
            "dl:kbps",
            None,
            "'stamp' names no unit.*ns, us, ms, s, min, h, iso",
        ),
        (["time_s,cell,dl", "0,1,2"], "dl:kbps", "at:s", ":1: no column 'at'"),
        (["time_s,dl,dl", "0,1,2"], "dl:kbps", None, ":1: 2 columns 'dl' .*different names"),
        (["time_s,cell,dl", "0,1"], "dl:kbps", None, ":2: 2 columns .*3 columns"),
        (["time_s,cell,dl", "0,1,2", "-1,1,2"], "dl:kbps", None, ":3: '-1' is out of range"),
        (["time_s,cell,dl", "2,1,2", "1,1,2"], "dl:kbps", None, ":3: time goes backwards"),
        (["when,cell,dl", "noon,1,2"], "dl:kbps", "when:iso", ":2: time stamp 'noon'.*ISO 8601"),
        (["time_s,cell,dl", "0,1,-"], "dl:kbps", None, "no value in column 'dl'"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], column: str, time_column: str | None, message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        rates(table(tmp_path, *lines), column, time_column)


def test_a_first_column_of_dates_needs_no_unit(tmp_path: Path) -> None:
    lines = ["stamp,cell,dl", "2026-01-31T12:00:00,1,2000", "2026-01-31T12:00:02.5,1,4000"]
    trace = rates(table(tmp_path, *lines), "dl:kbps", None)
    assert (trace.times_ns, trace.rates_bps) == ((0, 2_500_000_000), (2_000_000, 4_000_000))


@pytest.mark.parametrize(
    ("header", "bps"),
    [
        ("DL_MBps", 40_000_000),
        ("rate_MBps", 40_000_000),
        ("DL_mbps", 5_000_000),
        ("down (kB/s)", 40_000),
        ("downlink_Kibps", 5_120),
        ("bits_per_second", 5),
        ("throughput MByte/s", 40_000_000),
        ("rateKbps", 5_000),
    ],
)
def test_the_case_of_a_unit_in_a_name_is_part_of_it(tmp_path: Path, header: str, bps: int) -> None:
    path = table(tmp_path, f"time_s,cell,{header}", "0,1,5", "2,1,6")
    assert rates(path, header).rates_bps[0] == bps


@pytest.mark.parametrize("header", ["DL_MBPS", "rate_mb", "dl KB/s", "down (mb/s)"])
def test_an_ambiguous_unit_in_a_name_is_refused_with_known_spellings(
    tmp_path: Path, header: str
) -> None:
    path = table(tmp_path, f"time_s,cell,{header}", "0,1,5", "2,1,6")
    with pytest.raises(TraceError, match=r":1: .*of no one unit: .*Mbit/s.*MB/s.*MBps"):
        rates(path, header)


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("time_s,Mbit/s", "Mbit/s:mbps"),
        ("time_s,Mbit/s", "DL_bitrate"),
        ("time_s,down_mbps", "down_mbps"),
        ("Time (s),Throughput (Mbit/s)", "DL_bitrate"),
        ("seconds;Mbps", "Mbps"),
        ("time_s,dl", "dl:mbps"),
    ],
)
def test_two_columns_may_have_their_own_header(tmp_path: Path, header: str, column: str) -> None:
    separator = ";" if ";" in header else ","
    path = table(tmp_path, header, *(separator.join(row) for row in ("04", "15")))
    trace = rates(path, column)
    assert trace == RateTrace("drive.csv", (0, 10**9), (4_000_000, 5_000_000), 2 * 10**9)


def test_two_columns_end_at_a_last_row_without_a_rate(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s,down_mbps", "0,4", "2,5", "3,")
    assert rates(path, "DL_bitrate").duration_ns == 3 * 10**9


@pytest.mark.parametrize(
    "lines",
    [
        ["time_s\tcell\tdl_mbps", "0\t7\t12.5", "1.5\t7\t8"],
        ["time_s cell  dl_mbps", "0    7  12.5", " 1.5  7     8"],
        ["time_s;cell;dl_mbps", "0;7;12,5", "1,5;7;8"],
        ['"time (s)","cell, id","dl (Mbit/s)"', '0,"a, b",12.5', '1.5,"a, b",8'],
        ['"time (s)"; "cell"; "dl (Mbit/s)"', '"0";"7";"12,5"', '"1,5";"7";"8"'],
    ],
)
def test_columns_may_be_separated_in_other_ways(tmp_path: Path, lines: list[str]) -> None:
    column = "dl (Mbit/s)" if '"' in lines[0] else "dl_mbps"
    trace = rates(table(tmp_path, *lines), column)
    assert trace.times_ns == (0, 1_500_000_000)
    assert trace.rates_bps == (12_500_000, 8_000_000)


@pytest.mark.parametrize("lines", [["0 12.5", "1.5 8"], ["0\t12.5", "1.5\t8"], ["0;12,5", "1,5;8"]])
def test_two_columns_without_a_header_may_be_separated_in_other_ways(
    tmp_path: Path, lines: list[str]
) -> None:
    assert rates(table(tmp_path, *lines), "DL_bitrate").rates_bps == (12_500_000, 8_000_000)


def test_decimal_commas_are_none_where_columns_are_separated_otherwise(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s\tdl_mbps", "0\t12,5")
    with pytest.raises(TraceError, match=r":2: '12,5' is not a number"):
        rates(path, "DL_bitrate")


def test_a_cell_that_is_nan_is_named_with_its_line(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s,cell,dl_mbps", "0,1,4", "1,1,NaN", "2,1,5")
    with pytest.raises(TraceError, match=r":3: 'NaN' is not a number .*for dl_mbps; nothing, or -"):
        rates(path, "dl_mbps")


def test_of_several_capacities_the_error_says_how_to_choose(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s,down_mbps,up_mbps,cell", "0,40,8,1")
    message = r":1: 2 columns name a rate .allowed: one of down_mbps, up_mbps .--trace-column;"
    with pytest.raises(TraceError, match=message):
        rates(path, "DL_bitrate")
