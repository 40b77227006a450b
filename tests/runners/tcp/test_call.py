"""A call over HTTP/2 with h2's own server in memory, and the server's application on asyncio."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded
from h2.settings import SettingCodes

from minitopo_dc.runners.payload.asgi import application
from minitopo_dc.runners.payload.asgi_call import DOWN, UP
from minitopo_dc.runners.payload.call import HEAD, Receiving
from minitopo_dc.runners.tcp.call import Http2Call
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Realtime


def a_call(direction: str = "both") -> Realtime:
    fields = {"fps": 10, "bitrate_mbps": 0.1, "duration_s": 0.3, "delivery": "stream"}
    return Realtime.check({**fields, "direction": direction}, "test")


class Exchange:
    """A client that has just connected, at 10 s, and a server; a test passes the time and bytes."""

    def __init__(self, workload: Realtime, **limits: int) -> None:
        self.now = 9.0
        self.client = Http2Call(workload, lambda: self.now)
        self.server = H2Connection(H2Configuration(client_side=False))
        self.server.initiate_connection()
        self.server.update_settings({SettingCodes[name]: value for name, value in limits.items()})
        self.client.connecting()
        self.now = 10.0
        self.client.connected()
        self.client.receive(self.server.data_to_send())
        self.streams: dict[str, int] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def to_server(self) -> None:
        for event in self.server.receive_data(self.client.data_to_send()):
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            path = next(value for name, value in event.headers if name == b":path").decode()
            self.streams[path] = event.stream_id
            self.server.send_headers(event.stream_id, [(":status", "200")])
        elif isinstance(event, DataReceived):
            self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
            self.server.acknowledge_received_data(len(event.data), event.stream_id)
        elif isinstance(event, StreamEnded):
            self.ended.add(event.stream_id)

    def answer(self, path: str, data: bytes, *, end: bool = False) -> None:
        self.server.send_data(self.streams[path], data, end_stream=end)
        self.client.receive(self.server.data_to_send())

    def at(self, now: float) -> None:
        self.now = now
        self.client.on_time(now)
        self.to_server()


def frame(number: int, captured_s: float, size: int) -> bytes:
    return HEAD.pack(number, size, round(captured_s * NS_PER_S)) + bytes(size - HEAD.size)


def test_frames_go_up_when_they_are_due_and_end_with_the_last() -> None:
    exchange = Exchange(a_call("up"))
    for step in range(4):
        exchange.at(10.0 + step / 10)
    stream = exchange.streams[UP]
    received = Receiving()
    received.on_stream(0, exchange.bodies[stream], 1)
    assert sorted(received.received_ns) == [0, 1, 2]
    assert stream in exchange.ended


def test_a_small_window_delays_frames_and_loses_none() -> None:
    exchange = Exchange(a_call("up"), INITIAL_WINDOW_SIZE=500)
    for _ in range(200):
        exchange.at(10.5)
        exchange.client.receive(exchange.server.data_to_send())
    assert len(exchange.bodies[exchange.streams[UP]]) == sum(a_call().plan.sizes_bytes)
    assert exchange.streams[UP] in exchange.ended


def test_a_call_ends_with_the_last_frame_down_and_the_report_of_those_up() -> None:
    exchange = Exchange(a_call())
    exchange.at(10.5)
    for number, size in enumerate(a_call().plan.sizes_bytes):
        exchange.answer(DOWN, frame(number, 10.05 + number / 10, size))
    assert not exchange.client.closing
    report = {"received_ns": {"0": 10_020_000_000, "2": 10_230_000_000}}
    exchange.answer(UP, json.dumps(report).encode(), end=True)
    assert exchange.client.closing
    outcome = exchange.client.outcome
    assert outcome.error is None
    assert [row["up"] for row in outcome.frames] == [0, 0, 0, 1, 1, 1]
    assert outcome.frames[0]["captured_s"] == pytest.approx(1.05)
    assert [row["delay_ms"] for row in outcome.frames[3:]] == [20.0, None, 30.0]


def test_frames_that_do_not_come_are_lost_2_s_behind_the_last() -> None:
    exchange = Exchange(a_call("down"))
    exchange.at(10.1)
    exchange.answer(DOWN, frame(0, 10.05, a_call().plan.sizes_bytes[0]))
    exchange.at(12.1)
    assert not exchange.client.closing
    exchange.at(12.21)
    assert exchange.client.closing
    assert [row["received_s"] is None for row in exchange.client.outcome.frames] == [
        False,
        True,
        True,
    ]


def served(path: str, body: bytes) -> tuple[int, bytes]:
    """What the application answers: status and body."""
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()
        return None

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])


def test_the_server_sends_each_frame_down_when_it_is_due() -> None:
    told = a_call("down").model_dump_json(exclude_defaults=True).encode()
    status, body = served(DOWN, told)
    received = Receiving()
    received.on_stream(0, body, 1)
    assert (status, sorted(received.received_ns)) == (200, [0, 1, 2])


@pytest.mark.parametrize("body", [b"{", b'{"fps": 0}', b"{}"])
def test_the_server_refuses_what_is_no_call_of_one_stream(body: bytes) -> None:
    assert served(DOWN, body) == (400, b"")


def test_the_server_reports_when_frames_came_up() -> None:
    status, body = served(UP, frame(0, 1.0, 50) + frame(1, 1.1, 50))
    assert status == 200
    assert sorted(json.loads(body)["received_ns"]) == ["0", "1"]
