"""What workloads ask for, how they judge what was measured; uploads and requests under load."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from h2.connection import H2Connection
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.config import Config
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc import Scenario
from minitopo_dc.clocks import run_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.tcp.http2 import WINDOW_BYTES
from minitopo_dc.runners.tcp.server import _WideProtocol
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import (
    ENDLESS_BYTES,
    Both,
    Download,
    Measurement,
    Ping,
    RequestResponse,
    UnderLoad,
    Upload,
    parse_workload,
    workload,
)
from minitopo_dc.workloads.base import workload_values
from minitopo_dc.workloads.exchange import Client, WrongAnswer, blocks
from minitopo_dc.workloads.request_response import request_rows
from tests.workloads.wire import Wire

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
        ("film", "kind film; allowed: download, upload, "),
        (3, "3; allowed: NAME, or kind: NAME with its parameters"),
        ({"size": 1}, "download: size: unknown field; did you mean size_mb.; known: size_mb"),
        ({"size_mb": 0}, "download: size_mb: .*allowed: 1e-06 to 1,000,000 MB"),
        ({"kind": "ping", "interval_s": 0.001}, "ping: interval_s: .* 0.002"),
        ({**ASKING, "count": 1, "duration_s": 1}, "response: give count or duration_s, not both"),
        ({**ASKING, "interval_s": 1e-6}, "allowed: at most 1000000"),
        ({"kind": "under-load", "duration_s": 5}, "the last request is sent after"),
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
    with pytest.raises(ValueError, match="'ping'"):
        workload("ping")(Download)


S = NS_PER_S
FIRST = b"".join(blocks(1))


def connected(workload: Any) -> tuple[Any, Wire]:
    """A client that began to connect at 1 s and is connected at 2 s."""
    wire = Wire()
    client: Client = workload.make_client(wire)
    client.connecting(S)
    client.connected(2 * S)
    return client, wire


def test_an_upload_is_one_body_and_ends_with_its_answer() -> None:
    workload = Upload(size_mb=0.1)
    client, wire = connected(workload)
    (sent,) = wire.sent
    assert (sent.method, len(sent.body or b"")) == ("POST", 100_000)
    client.headers(0, 200, 3 * S)
    client.end(0, 3 * S)
    measured = workload.measured(client.report())
    assert (client.ended, measured.completion_s, measured.bytes_received) == (True, 2.0, 100_000)
    with pytest.raises(WrongAnswer, match="status 400"):
        connected(workload)[0].headers(0, 400, 3 * S)
    assert workload.failure(measured) is None


def test_both_directions_have_their_own_time_and_goodput() -> None:
    workload = Both(size_mb=0.001, up_mb=0.1)
    client, wire = connected(workload)
    down, up = (("GET", "POST").index(sent.method) for sent in wire.sent)
    client.data(down, b"".join(blocks(1000)), 3 * S)
    client.end(down, 3 * S)
    assert not client.ended
    client.end(up, 5 * S)
    measured = workload.measured(client.report())
    assert (client.ended, measured.completion_s, workload.failure(measured)) == (True, 4.0, None)
    assert workload.details(measured) == {"down_mbps": 0.004, "up_mbps": 0.2}


def test_requests_under_load_are_told_by_when_they_were_sent() -> None:
    workload = UnderLoad(interval_s=1, idle_s=1.5, warm_up_s=1, duration_s=5)
    client, wire = connected(workload)
    for moment_s in (2.0, 3.0, 3.5, 4.0, 5.0, 6.0):
        client.on_time(round(moment_s * S))
        if wire.sent[-1].method == "POST":
            client.data(len(wire.sent) - 1, FIRST, round((moment_s + 0.5) * S))
            client.end(len(wire.sent) - 1, round((moment_s + 0.5) * S))
        else:
            client.data(len(wire.sent) - 1, b"".join(blocks(250_000)), 4 * S)
    assert not client.ended
    client.on_time(7 * S)
    load = next(number for number, sent in enumerate(wire.sent) if sent.method == "GET")
    assert wire.sent[load].cancelled
    client.end(len(wire.sent) - 1, 8 * S)
    assert client.ended
    measured = workload.measured(client.report())
    assert [row["phase"] for row in measured.rows] == [0, 0, 1, 2, 2]
    assert workload.failure(measured) is None
    details = workload.details(measured)
    assert (details["loaded_ratio"], details["responsiveness_rpm"]) == (1.0, 120.0)
    assert details["load_mbps"] == pytest.approx(2 / 2.5)


@pytest.mark.parametrize("transport", ["quic", "quic-picoquic", "mpquic-picoquic"])
@pytest.mark.parametrize("kind", ["upload", "both", "under-load"])
def test_bytes_and_capacity_count_in_the_directions_that_are_loaded(
    transport: str, kind: str, tmp_path: Path
) -> None:
    sizes = {"interval_s": 0.05, "idle_s": 0.2, "warm_up_s": 0.2, "duration_s": 0.6}
    values = {
        "legs": 2 * [{"rate_mbps": 20, "delay_ms": 10, "uplink": {"rate_mbps": 5}}],
        "transport": transport,
        "mode": "multipath" if transport.startswith("mp") else "dc",
        "split_uplink": True,
        "workload": {"kind": kind, **(sizes if kind == "under-load" else {"size_mb": 0.5})},
        "clock": "virtual",
    }
    result = run_scenario(Scenario.check(values, "test"), tmp_path / "run")
    if result.status == "unsupported":
        pytest.skip(result.reason)
    assert (result.status, result.reason) == ("ok", "")
    if kind == "under-load":
        assert result.details["loaded_delay_ms"] > result.details["idle_delay_ms"]
    else:
        assert sum(result.leg_bytes or ()) > result.size_bytes
        assert 0.1 < (result.capacity_share or 0) < 1


def test_the_server_of_uploads_over_tcp_lets_a_client_send_a_whole_window() -> None:
    client = H2Connection()
    client.initiate_connection()

    async def send(event: Any) -> None:
        client.receive_data(event.data)

    async def begin() -> None:
        context: Any = SimpleNamespace(event_class=EventWrapper)
        tasks: Any = SimpleNamespace(spawn=lambda _task: None)
        end: Any = None
        await _WideProtocol(end, Config(), context, tasks, end, True, end, end, send).initiate()

    asyncio.run(begin())
    client.send_headers(
        1, [(":method", "POST"), (":path", "/"), (":scheme", "https"), (":authority", "a")]
    )
    assert client.local_flow_control_window(1) == WINDOW_BYTES
