"""JSON that has capacities: Sabre's `network.json`, and what `iperf3 -J` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.trace import DEFAULT_COLUMN, RateTrace, TraceError, read_trace
from minitopo_dc.trace.formats.json_files import parse_json

S = 10**9
NETWORK = """[
  {"duration_ms": 1500, "bandwidth_kbps": 4300.5, "latency_ms": 80},
  {"duration_ms": 500, "bandwidth_kbps": 0, "latency_ms": 80},
  {"duration_ms": 2000, "bandwidth_kbps": 12000, "latency_ms": 60}
]
"""


def rate(start: float, mbps: float, **more: Any) -> dict[str, Any]:
    """An entry as iperf3 3.12 prints it, with the fields that a reader may look at."""
    return {
        **{"start": start, "end": start + 1.000123, "seconds": 1.000123},
        **{"bytes": round(mbps * 125_000), "bits_per_second": mbps * 1e6},
        **{"omitted": False, "sender": False},
        **more,
    }


def interval(start: float, *streams: float, **more: Any) -> dict[str, Any]:
    return {
        "streams": [rate(start, mbps, socket=5 + 2 * n) for n, mbps in enumerate(streams)],
        "sum": rate(start, sum(streams), **more),
    }


def iperf(*intervals: dict[str, Any]) -> str:
    start = {"version": "iperf 3.12", "connected": [{"socket": 5}, {"socket": 7}]}
    return json.dumps({"start": start, "intervals": intervals, "end": {}}, indent=1)


def read(directory: Path, text: str, column: str = DEFAULT_COLUMN) -> RateTrace:
    path = directory / "trace.json"
    path.write_text(text, encoding="utf-8")
    trace = read_trace(path, column=column)
    assert isinstance(trace, RateTrace)
    return trace


def test_sabre_s_periods_follow_each_other(tmp_path: Path) -> None:
    assert read(tmp_path, NETWORK) == RateTrace(
        "trace.json", (0, 3 * S // 2, 2 * S), (4_300_500, 0, 12_000_000), 4 * S
    )


def test_units_of_periods_are_those_of_their_names(tmp_path: Path) -> None:
    text = '[{"duration_s": 2, "bandwidth_MBps": 1}, {"duration_s": 1, "bandwidth_MBps": 2}]'
    assert read(tmp_path, text).rates_bps == (8_000_000, 16_000_000)


def test_of_two_rates_of_periods_one_is_chosen(tmp_path: Path) -> None:
    text = '[{"duration_s": 2, "down_mbps": 9, "up_mbps": 1}]'
    assert read(tmp_path, text, "up_mbps").rates_bps == (1_000_000,)
    with pytest.raises(TraceError, match=r"2 columns name a rate .allowed: one of down_mbps, up_"):
        read(tmp_path, text)


def test_iperf_s_sum_is_taken_by_default(tmp_path: Path) -> None:
    trace = read(tmp_path, iperf(interval(0, 20, 5.5), interval(1.000123, 10, 7)))
    assert trace.times_ns == (0, 1_000_123_000)
    assert trace.rates_bps == (25_500_000, 17_000_000)
    assert trace.duration_ns == 2_000_246_000


def test_a_stream_of_iperf_is_taken_by_its_number(tmp_path: Path) -> None:
    text = iperf(interval(0, 20, 5.5), interval(1.000123, 10, 7))
    assert read(tmp_path, text, "stream_2").rates_bps == (5_500_000, 7_000_000)
    with pytest.raises(TraceError, match=r"no column 'stream_3' .*: sum, stream_1, stream_2"):
        read(tmp_path, text, "stream_3")


def test_intervals_that_iperf_omits_are_left_out(tmp_path: Path) -> None:
    text = iperf(interval(0, 90, omitted=True), interval(0, 20), interval(1.000123, 30))
    assert read(tmp_path, text).rates_bps == (20_000_000, 30_000_000)


def test_of_both_directions_of_iperf_one_is_chosen(tmp_path: Path) -> None:
    text = iperf(interval(0, 20) | {"sum_bidir_reverse": rate(0, 3)})
    assert read(tmp_path, text, "sum_bidir_reverse").rates_bps == (3_000_000,)
    with pytest.raises(TraceError, match=r"sum and sum_bidir_reverse .*--trace-column"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"duration_ms": 1,]', r"trace\.json:1: no JSON"),
        ("[]", "no entry with a duration"),
        ('[{"duration_ms": 1, "bandwidth": 1}]', "'bandwidth' names no unit"),
        ('[{"duration_ms": 1, "dl_kbps": "x"}]', "entry 1: no number dl_kbps"),
        ('[{"duration_ms": 1, "dl_kbps": NaN}]', "'NaN' is not a number .*dl_kbps of entry 1"),
        ('[{"duration_ms": 0, "dl_kbps": 1}]', "lasts 0 s"),
        ('{"error": "unable to connect"}', "iperf3 failed: unable to connect"),
        ('{"start": {}}', "no intervals of iperf3"),
        ("{" * 100_000, "no JSON"),
    ],
)
def test_other_json_is_one_error(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TraceError, match=words):
        read(tmp_path, text)


LEAVES = st.none() | st.booleans() | st.integers(-1, 10**13) | st.floats() | st.text(max_size=3)
KEYS = st.sampled_from(
    ["intervals", "streams", "sum", "start", "end", "bits_per_second", "duration_s", "dl_kbps"]
)
VALUES = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=4)
)


@given(VALUES)
def test_any_json_is_a_trace_or_that_error(value: object) -> None:
    try:
        trace = parse_json(Path("x"), json.dumps(value), DEFAULT_COLUMN)
    except TraceError:
        return
    assert trace.duration_ns > 0
