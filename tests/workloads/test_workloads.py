"""What workloads ask for, how they judge what was measured, and what they make of rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.workloads import (
    ENDLESS_BYTES,
    Download,
    Measurement,
    Ping,
    RequestResponse,
    parse_workload,
    workload,
)
from minitopo_dc.workloads.base import workload_values
from minitopo_dc.workloads.request_response import request_rows

ASKING = {"kind": "request-response"}
ANSWERED = request_rows([(0.0, 0.02), (0.4, 0.45), (0.8, None), (1.2, 1.21)])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, Download()),
        ("ping", Ping()),
        ({"size_mb": 40}, Download(size_mb=40)),
        ({"kind": "download", "duration_s": 3}, Download(duration_s=3)),
        ({"kind": "request-response", "count": 7}, RequestResponse(count=7)),
        (Ping(count=2), Ping(count=2)),
    ],
)
def test_a_workload_is_written_by_its_name_or_its_parameters(given: Any, wanted: Any) -> None:
    assert parse_workload(given) == wanted


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("film", "kind film; allowed: download, request-response, ping"),
        (3, "3; allowed: NAME, or kind: NAME with its parameters"),
        ({"size": 1}, "download: size: unknown field; did you mean size_mb.; known: size_mb"),
        ({"size_mb": 0}, "download: size_mb: .*allowed: 1e-06 to 1,000,000 MB"),
        ({"kind": "ping", "interval_s": 0.001}, "ping: interval_s: .* 0.002"),
        ({**ASKING, "count": 1, "duration_s": 1}, "response: give count or duration_s, not both"),
        ({**ASKING, "interval_s": 1e-6}, "allowed: at most 1000000"),
        ({**ASKING, "request_bytes": 10**10}, "allowed: 1 to 1,000,000,000"),
    ],
)
def test_a_wrong_workload_is_one_error_with_what_is_allowed(given: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        parse_workload(given)
    assert "\n" not in str(caught.value)


@given(
    st.one_of(
        st.builds(Download, size_mb=st.floats(0.001, 1e6)),
        st.builds(RequestResponse, count=st.integers(1, 1000), interval_s=st.floats(0.001, 10)),
        st.builds(Ping, count=st.integers(1, 1000)),
    ),
    st.booleans(),
)
def test_what_a_file_keeps_of_a_workload_gives_it_back(chosen: Any, short: bool) -> None:
    assert parse_workload(workload_values(chosen, exclude_defaults=short)) == chosen


def test_a_download_for_a_time_asks_for_more_than_can_come() -> None:
    timed = Download(duration_s=3)
    assert (timed.size_bytes, timed.requested_bytes, timed.lasts_s) == (0, ENDLESS_BYTES, 3)
    sized = Download(size_mb=0.5)
    assert (sized.size_bytes, sized.requested_bytes, sized.lasts_s) == (500_000, 500_000, None)


@pytest.mark.parametrize(
    ("wanted", "received", "seconds", "reason"),
    [
        (Download(size_mb=1), 1_000_000, 2.0, None),
        (Download(size_mb=1), 999_999, 2.0, "client received 999999 of 1000000 bytes"),
        (Download(duration_s=2), 5, 1.96, None),
        (Download(duration_s=2), 5, 1.9, "client ended after 1.900 of 2 s with 5 of 10"),
        (Download(duration_s=2), 0, 2.0, "client received nothing in 2 s"),
    ],
)
def test_a_download_is_judged_by_its_bytes_and_its_time(
    wanted: Download, received: int, seconds: float, reason: str | None
) -> None:
    found = wanted.failure(Measurement(received, seconds))
    assert found is None if reason is None else str(found).startswith(reason)


def test_requests_end_with_their_number_or_their_duration() -> None:
    assert RequestResponse(count=7).requests == 7
    assert RequestResponse(duration_s=20).requests == 50
    assert RequestResponse(duration_s=0.1).requests == 1
    assert RequestResponse().requests == 75
    assert RequestResponse(count=3, interval_s=2, patience_s=5).lasts_s == 9


def test_requests_are_summed_up_by_their_delays() -> None:
    assert [row["request"] for row in ANSWERED] == [1, 2, 3, 4]
    wanted = RequestResponse(count=4)
    details = wanted.details(Measurement(2250, 1.21, rows=ANSWERED))
    assert {name: details[name] for name in ("requests", "answered", "unanswered")} == {
        "requests": 4,
        "answered": 3,
        "unanswered": 1,
    }
    assert details["delay_median_ms"] == pytest.approx(20)
    assert details["delay_p95_ms"] == details["delay_max_ms"] == pytest.approx(50)
    assert details["delay_mean_ms"] == pytest.approx(80 / 3)


def test_requests_without_any_answer_have_failed() -> None:
    wanted = RequestResponse(count=2)
    silent = Measurement(0, 0.0, rows=request_rows([(0.0, None), (0.4, None)]))
    assert wanted.failure(silent) == "none of 2 requests was answered"
    assert wanted.failure(Measurement(0, 0.0, rows=ANSWERED)) == "client sent 4 of 2 requests"
    assert RequestResponse(count=4).failure(Measurement(0, 0.0, rows=ANSWERED)) is None


def test_a_pair_of_addresses_without_an_echo_makes_a_ping_fail() -> None:
    trips = [{"leg": leg, "backhaul": 1, "sent": 5, "received": 10 - 5 * leg} for leg in (1, 2)]
    failure = Ping().failure(Measurement(0, 5.0, {"round_trips": trips}))
    assert failure == "no echo came back on leg 2 and backhaul link 1"


def test_echoes_are_summed_up_over_all_pairs() -> None:
    trips = [{"leg": leg, "backhaul": 1, "sent": 2, "received": 1} for leg in (1, 2)]
    rows = [{"leg": leg, "backhaul": 1, "time_s": 0.0, "rtt_ms": 10.0 * leg} for leg in (1, 2)]
    assert Ping(count=2).details(Measurement(0, 1.0, {"round_trips": trips}, None, rows)) == {
        "sent": 4,
        "received": 2,
        "rtt_min_ms": 10.0,
        "rtt_median_ms": 15.0,
        "rtt_max_ms": 20.0,
    }


def test_a_name_is_not_taken_twice() -> None:
    with pytest.raises(ValueError, match="there is a workload 'ping' already"):
        workload("ping")(Download)
