from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.trace import OpportunityTrace, RateTrace, TraceError, TraceFormat, read_trace

RACA_HEADER = "Timestamp,Speed,DL_bitrate,UL_bitrate,State"


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rates(path: Path, **options: str) -> RateTrace:
    trace = read_trace(path, column=options.get("column", "DL_bitrate"))
    assert isinstance(trace, RateTrace)
    return trace


def raca(tmp_path: Path, *samples: str) -> Path:
    """A file with samples "seconds after 23:59:50, down, up"."""
    lines = []
    for sample in samples:
        second, down, up = sample.split()
        clock = 50 + int(second)
        day, clock = (28, clock) if clock < 60 else (1, clock - 60)
        month, time = (2, "23.59") if day == 28 else (3, "00.00")
        lines.append(f"2018.{month:02}.{day:02}_{time}.{clock:02},0,{down},{up},D")
    return write(tmp_path, RACA_HEADER, *lines)


def error_of(path: Path, format: TraceFormat = "auto") -> TraceError:
    with pytest.raises(TraceError) as caught:
        read_trace(path, format=format)
    return caught.value


def test_raca_takes_kbit_per_second_at_the_time_stamps(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 1000 10", "1 2500 20"))
    assert trace.times_ns == (0, 1_000_000_000)
    assert trace.rates_bps == (1_000_000, 2_500_000)
    assert trace.duration_ns == 2_000_000_000


def test_raca_takes_the_column_that_is_asked_for(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 1000 10", "1 2500 20"), column="UL_bitrate")
    assert trace.rates_bps == (10_000, 20_000)


def test_raca_holds_a_value_over_a_gap_and_over_midnight(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 1000 0", "15 3000 0"))
    assert trace.times_ns == (0, 15_000_000_000)
    assert trace.duration_ns == 16_000_000_000


def test_raca_gives_a_repeated_second_the_mean_of_its_rows(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 1000 0", "1 1000 0", "1 2000 0", "1 4500 0", "2 7 0"))
    assert trace.times_ns == (0, 1_000_000_000, 2_000_000_000)
    assert trace.rates_bps == (1_000_000, 2_500_000, 7_000)


def test_raca_holds_the_previous_value_over_a_missing_one(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 1000 0", "1 - 0", "2 2000 0", "3 - 0"))
    assert trace.times_ns == (0, 2_000_000_000)
    assert trace.duration_ns == 4_000_000_000


def test_raca_averages_only_the_values_of_a_repeated_second(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 - 0", "0 1000 0"))
    assert trace.rates_bps == (1_000_000,)


def test_raca_begins_at_the_first_value(tmp_path: Path) -> None:
    trace = rates(raca(tmp_path, "0 - 0", "3 1000 0"))
    assert trace.times_ns == (0,)
    assert trace.duration_ns == 1_000_000_000


@pytest.mark.parametrize(
    ("lines", "line", "fragments"),
    [
        (["Timestamp,Speed"], 1, ["DL_bitrate"]),
        ([RACA_HEADER], 0, ["DL_bitrate"]),
        ([RACA_HEADER, "2018-02-28 10:00:00,0,1,1,D"], 2, ["2018-02-28", "%Y.%m.%d_%H.%M.%S"]),
        ([RACA_HEADER, "2018.02.28_10.00.00,0,fast,1,D"], 2, ["'fast'", "DL_bitrate"]),
        ([RACA_HEADER, "2018.02.28_10.00.00,0,-5,1,D"], 2, ["'-5'", ">= 0"]),
        ([RACA_HEADER, "2018.02.28_10.00.00,0,nan,1,D"], 2, ["'nan' is not a number", "-"]),
        ([RACA_HEADER, "2018.02.28_10.00.00,0"], 2, ["2 columns", "5 columns"]),
        (
            [RACA_HEADER, "2018.02.28_10.00.01,0,1,1,D", "2018.02.28_10.00.00,0,1,1,D"],
            3,
            ["backwards"],
        ),
        ([RACA_HEADER, "2018.02.28_10.00.01,0,-,1,D"], 0, ["DL_bitrate"]),
    ],
)
def test_a_bad_raca_file_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], line: int, fragments: list[str]
) -> None:
    path = write(tmp_path, *lines)
    error = error_of(path)
    assert error.line == line
    assert str(error).startswith(f"{path}:{line}:" if line else f"{path}:")
    assert all(fragment in str(error) for fragment in fragments)


def test_raca_refuses_a_column_that_is_no_bit_rate(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="DL_bitrate or UL_bitrate"):
        read_trace(raca(tmp_path, "0 1 1"), column="Speed")


@pytest.mark.parametrize(
    ("header", "row", "time_ns", "rate_bps"),
    [
        ("time_s,rate_mbps", "1.5,0.25", 1_500_000_000, 250_000),
        ("time_ms,rate_kbps", "1.5,0.25", 1_500_000, 250),
        ("time_s, rate_bps", "2, 7", 2_000_000_000, 7),
    ],
)
def test_csv_takes_its_units_from_the_header(
    tmp_path: Path, header: str, row: str, time_ns: int, rate_bps: int
) -> None:
    trace = rates(write(tmp_path, "# a comment", header, "0,1", row))
    assert trace.times_ns == (0, time_ns)
    assert trace.rates_bps[1] == rate_bps


def test_csv_without_a_header_is_seconds_and_mbps(tmp_path: Path) -> None:
    trace = rates(write(tmp_path, "0,1", "", "2,3"))
    assert trace.times_ns == (0, 2_000_000_000)
    assert trace.rates_bps == (1_000_000, 3_000_000)


def test_csv_times_begin_at_the_first_row(tmp_path: Path) -> None:
    trace = rates(write(tmp_path, "1518451442,1", "1518451443.5,2"))
    assert trace.times_ns == (0, 1_500_000_000)


def test_csv_without_an_end_lets_the_last_rate_last_as_long_as_the_one_before(
    tmp_path: Path,
) -> None:
    assert rates(write(tmp_path, "0,1", "1,2", "3,4")).duration_ns == 5_000_000_000


def test_csv_with_one_row_lasts_a_second(tmp_path: Path) -> None:
    assert rates(write(tmp_path, "0,1")).duration_ns == 1_000_000_000


def test_csv_ends_at_a_last_row_without_a_rate(tmp_path: Path) -> None:
    trace = rates(write(tmp_path, "0,1", "1,2", "1.25,"))
    assert trace.times_ns == (0, 1_000_000_000)
    assert trace.duration_ns == 1_250_000_000


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"\xef\xbb\xbftime_s,rate_mbps\r\n0,1\r\n")
    assert rates(path).rates_bps == (1_000_000,)


@pytest.mark.parametrize(
    ("lines", "line", "fragments"),
    [
        (["time,rate_mbps", "0,1"], 1, ["'time' names no unit", "time:UNIT", "s, min"]),
        (["time_s,rate", "0,1"], 1, ["'rate' names no unit", "rate:UNIT", "Mbit/s, Gbit/s"]),
        (["time_s,rate_mbps"], 1, ["no row"]),
        (["0,1", "1,2,3"], 2, ["3 columns", "two columns"]),
        (["0,1", "0,2"], 2, ["does not ascend"]),
        (["0,1", "1,", "2,3"], 2, ["''", "the rate"]),
        (["0,1", "1,-2"], 2, ["'-2'", ">= 0"]),
        (["0,1", "x,2"], 2, ["'x'", "the time"]),
        (["1,"], 1, ["no row"]),
        (["# only a comment", ""], 0, ["no data"]),
    ],
)
def test_a_bad_csv_file_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], line: int, fragments: list[str]
) -> None:
    error = error_of(write(tmp_path, *lines))
    assert error.line == line
    assert all(fragment in str(error) for fragment in fragments)


def test_mahimahi_is_one_opportunity_a_line(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path, "0", "3", "3", "10"))
    assert trace == OpportunityTrace("trace.txt", (0, 3, 3, 10))


@pytest.mark.parametrize(
    ("lines", "line", "fragments"),
    [
        (["1", "2.5"], 2, ["'2.5'", "whole number"]),
        (["1", "-2"], 2, ["'-2'"]),
        (["5", "4"], 2, ["backwards", "5 ms or later"]),
        (["0", "0"], 2, ["0 ms", "above 0"]),
        (["1", "2,3"], 2, ["'2,3'"]),
    ],
)
def test_a_bad_mahimahi_file_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], line: int, fragments: list[str]
) -> None:
    error = error_of(write(tmp_path, *lines))
    assert error.line == line
    assert all(fragment in str(error) for fragment in fragments)


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    error = error_of(write(tmp_path, "1;2;3"))
    assert error.line == 1
    assert all(name in str(error) for name in ("raca", "csv", "mahimahi"))


def test_a_format_that_is_given_is_not_guessed(tmp_path: Path) -> None:
    assert error_of(write(tmp_path, "1", "2"), format="csv").line == 1


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in str(error_of(path))
