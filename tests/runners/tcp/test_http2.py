"""Requests over HTTP/2 with h2's own server in memory, and attempts to connect."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.runners.processes.kernel_socket import tcp_socket
from minitopo_dc.runners.tcp.client import Server, quickest
from minitopo_dc.runners.tcp.http2 import Http2Client
from minitopo_dc.workloads import Realtime, RequestResponse, Workload
from minitopo_dc.workloads.exchange import blocks

PLAN = RequestResponse(
    request_bytes=750, response_bytes=100, interval_s=0.4, count=5, patience_s=2.0
)


def content(size: int) -> bytes:
    return b"".join(blocks(size))


def with_fields(**fields: object) -> RequestResponse:
    return PLAN.model_copy(update=fields)


class Exchange:
    """A client that has just connected, at 10 s, and a server; a test passes the time and bytes."""

    def __init__(self, workload: Workload = PLAN, **limits: int) -> None:
        self.now = 9.0
        self.client = Http2Client(workload, lambda: self.now)
        self.server = H2Connection(H2Configuration(client_side=False))
        self.server.initiate_connection()
        self.server.update_settings({SettingCodes[name]: value for name, value in limits.items()})
        self.client.connecting()
        self.now = 10.0
        self.client.connected()

    @property
    def outcome(self) -> SimpleNamespace:
        return SimpleNamespace(**self.client.client.report())

    def to_server(self) -> list[Event]:
        data = self.client.data_to_send()
        return self.server.receive_data(data) if data else []

    def to_client(self) -> None:
        self.client.receive(self.server.data_to_send())

    def at(self, now: float) -> None:
        self.now = now
        self.client.on_time()

    def answer(self, stream_id: int, body: bytes, status: int = 200) -> None:
        self.server.send_headers(stream_id, [(":status", str(status))])
        self.server.send_data(stream_id, body, end_stream=True)


def opened(events: list[Event]) -> list[int]:
    return [event.stream_id for event in events if isinstance(event, RequestReceived)]


def test_requests_are_sent_on_time_and_their_answers_timed() -> None:
    exchange = Exchange()
    assert exchange.client.timeout() == 10.4
    for number in range(5):
        exchange.at(10 + number * 0.4)
        (stream_id,) = opened(exchange.to_server())
        exchange.now += 0.05
        exchange.answer(stream_id, content(100))
        exchange.to_client()
    outcome = exchange.outcome
    expected = [(1 + number * 0.4, 1.05 + number * 0.4) for number in range(5)]
    assert outcome.requests == [pytest.approx(times) for times in expected]
    assert (outcome.handshake_s, outcome.bytes_received, outcome.error) == (1.0, 500, None)
    assert exchange.client.closing


def test_a_request_is_what_the_server_expects() -> None:
    events = Exchange().to_server()
    (request,) = (event for event in events if isinstance(event, RequestReceived))
    assert dict(request.headers) == {
        **{b":method": b"POST", b":scheme": b"https", b":authority": b"server.test"},
        **{b":path": b"/respond/100", b"content-length": b"750"},
    }


def test_no_more_requests_are_open_than_the_server_allows() -> None:
    exchange = Exchange(with_fields(count=7), MAX_CONCURRENT_STREAMS=3)
    exchange.to_client()
    exchange.at(20.0)
    seen = []
    while not exchange.client.closing:
        streams = opened(exchange.to_server())
        assert 0 < len(streams) <= 3
        seen += streams
        for stream_id in streams:
            exchange.answer(stream_id, content(100))
        exchange.to_client()
    assert seen == [1, 3, 5, 7, 9, 11, 13]
    assert [sent for sent, _ in exchange.outcome.requests] == [1.0, *6 * [11.0]]
    assert exchange.outcome.error is None


def test_no_more_than_100_are_open_before_the_server_has_said_its_limit() -> None:
    exchange = Exchange(with_fields(count=300))
    exchange.at(1000.0)
    assert len(opened(exchange.to_server())) == 100
    exchange.to_client()  # h2's server allows 100, too
    assert opened(exchange.to_server()) == []


@given(st.integers(1, 200_000), st.integers(1000, 50_000))
def test_a_request_of_any_size_fits_through_the_servers_windows(size: int, window: int) -> None:
    plan = with_fields(request_bytes=size, count=1)
    exchange = Exchange(plan, INITIAL_WINDOW_SIZE=window)
    exchange.to_client()
    received = b""
    while not exchange.client.closing:
        events = exchange.to_server()
        for event in events:
            if isinstance(event, DataReceived):
                received += event.data
                exchange.server.acknowledge_received_data(event.flow_controlled_length, 1)
            elif isinstance(event, StreamEnded):
                exchange.answer(1, content(100))
        exchange.to_client()
    assert received == content(size)
    assert exchange.outcome.error is None


def test_answers_much_larger_than_the_protocols_first_window_arrive_at_once() -> None:
    exchange = Exchange(with_fields(response_bytes=10_000_000, count=1))
    (stream_id,) = opened(exchange.to_server())
    exchange.server.send_headers(stream_id, [(":status", "200")])
    body = content(10_000_000)
    for begin in range(0, len(body), 16_384):
        exchange.server.send_data(stream_id, body[begin : begin + 16_384])
    exchange.server.end_stream(stream_id)
    exchange.to_client()
    assert exchange.outcome.bytes_received == 10_000_000
    assert exchange.outcome.error is None


def answer(exchange: Exchange, body: bytes, status: int = 200) -> None:
    (stream_id,) = opened(exchange.to_server())
    exchange.answer(stream_id, body, status)


def reset(exchange: Exchange) -> None:
    (stream_id,) = opened(exchange.to_server())
    exchange.server.reset_stream(stream_id, ErrorCodes.INTERNAL_ERROR)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (partial(answer, body=b"", status=404), "request 0 got status 404, not 200"),
        (partial(answer, body=content(99)), "request 0 was answered with 99 bytes, not 100"),
        (reset, "the server gave request 0 up"),
        (lambda exchange: exchange.server.close_connection(), "connection ended by the server"),
        # A DATA frame of no stream (RFC 9113, section 6.1).
        (lambda exchange: exchange.client.receive(bytes(9)), "the server broke HTTP/2: Protocol"),
        (lambda exchange: exchange.client.lost("reset"), "reset"),
    ],
)
def test_what_goes_wrong_ends_the_client_with_an_error(
    act: Callable[[Exchange], None], words: str
) -> None:
    exchange = Exchange()
    act(exchange)
    exchange.to_client()
    assert exchange.client.closing
    assert str(exchange.outcome.error).startswith(words)


def test_a_connection_that_is_lost_when_the_client_is_through_is_no_error() -> None:
    through = Exchange()
    through.at(11.6)
    through.at(20.0)  # its patience is over
    assert through.client.closing
    through.client.lost("connection failed: reset")
    assert through.outcome.error is None


def test_a_small_window_delays_the_frames_of_a_call_and_loses_none() -> None:
    call = Realtime(fps=10, bitrate_mbps=0.1, duration_s=0.3, delivery="stream", direction="up")
    exchange = Exchange(call, INITIAL_WINDOW_SIZE=500)
    exchange.to_client()
    received, is_over = b"", False
    for _ in range(200):
        exchange.at(10.5)
        for event in exchange.to_server():
            is_over = is_over or isinstance(event, StreamEnded)
            if isinstance(event, DataReceived):
                received += event.data
                exchange.server.acknowledge_received_data(event.flow_controlled_length, 1)
        exchange.to_client()
    assert len(received) == sum(call.plan.sizes_bytes)
    assert is_over


def test_cancelled_requests_leave_room_for_others_and_waiting_ones_are_never_sent() -> None:
    exchange = Exchange(with_fields(count=4), MAX_CONCURRENT_STREAMS=1)
    exchange.to_client()
    exchange.at(20.0)
    assert opened(exchange.to_server()) == [1]
    for number in (2, 0):
        exchange.client.cancel(number)
    first, *others = exchange.to_server()
    assert isinstance(first, StreamReset)
    assert (first.stream_id, opened(others)) == (1, [3])
    exchange.client.cancel(1)
    assert opened(exchange.to_server()) == [5]
    assert exchange.client._unopened == {}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as made:
        yield made


def bound(*addresses: str) -> list[socket.socket]:
    made = [tcp_socket(address, "tcp") for address in addresses]
    for attempt, address in zip(made, addresses, strict=True):
        attempt.bind((address, 0))
    return made


def connected(attempts: Sequence[socket.socket], delay_s: float, server: Server) -> socket.socket:
    """The one that is ready, soon."""

    async def wait() -> socket.socket:
        async with asyncio.timeout(10):
            return await quickest(attempts, delay_s, server)

    return asyncio.run(wait())


def test_the_first_that_is_ready_is_kept_and_the_others_are_closed(
    listener: socket.socket,
) -> None:
    attempts = bound("127.0.0.1", "127.0.0.2")
    with connected(attempts, 60, listener.getsockname()) as kept:
        assert kept.getpeername() == listener.getsockname()
    assert [attempt.fileno() for attempt in attempts] == [-1, -1]


def test_a_failed_attempt_is_followed_by_the_next_one_at_once(listener: socket.socket) -> None:
    failing, good = bound("127.0.0.1", "127.0.0.1")
    failing.listen()  # such a socket cannot connect
    with connected([failing, good], 60, listener.getsockname()) as kept:
        assert kept is good
    assert failing.fileno() == -1


def test_attempts_that_are_all_refused_are_an_error() -> None:
    deaf, *attempts = bound("127.0.0.1", "127.0.0.1", "127.0.0.2")
    with deaf, pytest.raises(ConnectionRefusedError):
        connected(attempts, 0, deaf.getsockname())
