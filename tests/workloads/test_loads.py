"""Uploads, both directions at once, and requests under load: their clients, and whole runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from h2.connection import H2Connection
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.config import Config

from minitopo_dc import Scenario
from minitopo_dc.clocks import run_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.tcp.http2 import WINDOW_BYTES
from minitopo_dc.runners.tcp.server import _WideProtocol
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Both, UnderLoad, Upload, parse_workload
from minitopo_dc.workloads.content import blocks
from minitopo_dc.workloads.exchange import Client, WrongAnswer
from tests.workloads.wire import Wire

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
    assert workload.failure(measured) is None


def test_an_upload_that_is_refused_is_wrong() -> None:
    client, _ = connected(Upload(size_mb=0.1))
    with pytest.raises(WrongAnswer, match="status 400"):
        client.headers(0, 400, 3 * S)


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


def test_the_load_needs_time_before_the_last_request() -> None:
    with pytest.raises(SettingsError, match="the last request is sent after"):
        parse_workload({"kind": "under-load", "duration_s": 5})


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
