"""JSON that has capacities: Sabre's `network.json`, and what `iperf3 -J` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.trace import DEFAULT_COLUMN, RateTrace, TraceError, read_trace
from minitopo_dc.trace.formats import parse_json

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


TWO_RATES = '[{"duration_s": 2, "down_mbps": 9, "up_mbps": 1}]'
TWO_STREAMS = iperf(interval(0, 20, 5.5), interval(1.000123, 10, 7))
OMITTED = iperf(interval(0, 90, omitted=True), interval(0, 20), interval(1.000123, 30))
BOTH_WAYS = iperf(interval(0, 20) | {"sum_bidir_reverse": rate(0, 3)})


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


@pytest.mark.parametrize(
    ("text", "column", "rates"),
    [
        ('[{"duration_s": 2, "bandwidth_MBps": 1}]', DEFAULT_COLUMN, (8_000_000,)),
        (TWO_RATES, "up_mbps", (1_000_000,)),
        (TWO_STREAMS, "stream_2", (5_500_000, 7_000_000)),
        (OMITTED, DEFAULT_COLUMN, (20_000_000, 30_000_000)),
        (BOTH_WAYS, "sum_bidir_reverse", (3_000_000,)),
    ],
)
def test_rates_are_those_of_a_column_in_its_unit(
    tmp_path: Path, text: str, column: str, rates: tuple[int, ...]
) -> None:
    assert read(tmp_path, text, column).rates_bps == rates


def test_iperf_s_sum_is_taken_by_default(tmp_path: Path) -> None:
    trace = read(tmp_path, TWO_STREAMS)
    assert trace.times_ns == (0, 1_000_123_000)
    assert trace.rates_bps == (25_500_000, 17_000_000)
    assert trace.duration_ns == 2_000_246_000


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        (
            TWO_RATES,
            DEFAULT_COLUMN,
            "2 columns may be the capacity .allowed: one of down_mbps, up_",
        ),
        (TWO_STREAMS, "stream_3", "no column 'stream_3' .*: sum, stream_1, stream_2"),
        (BOTH_WAYS, DEFAULT_COLUMN, "sum and sum_bidir_reverse .*--trace-column"),
        ('[{"duration_ms": 1,]', DEFAULT_COLUMN, r"trace\.json:1: no JSON"),
        ("[]", DEFAULT_COLUMN, "no entry with a duration"),
        ('[{"duration_ms": 1, "bandwidth": 1}]', DEFAULT_COLUMN, "'bandwidth' names no unit"),
        ('[{"duration_ms": 1, "dl_kbps": "x"}]', DEFAULT_COLUMN, "entry 1: no number dl_kbps"),
        ('[{"duration_ms": 1, "dl_kbps": NaN}]', "dl_kbps", "'NaN' is not .*dl_kbps of entry 1"),
        ('[{"duration_ms": 0, "dl_kbps": 1}]', DEFAULT_COLUMN, "lasts 0 s"),
        ('{"error": "unable to connect"}', DEFAULT_COLUMN, "iperf3 failed: unable to connect"),
        ('{"start": {}}', DEFAULT_COLUMN, "no intervals of iperf3"),
        ("{" * 100_000, DEFAULT_COLUMN, "no JSON"),
    ],
)
def test_other_json_is_one_error(tmp_path: Path, text: str, column: str, words: str) -> None:
    with pytest.raises(TraceError, match=words):
        read(tmp_path, text, column)


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
