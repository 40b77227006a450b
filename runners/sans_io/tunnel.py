"""ATSSS's MPQUIC functionality: a QUIC connection through a tunnel of MP-QUIC to the UPF.

Client and UPF have one connection of MP-QUIC, with HTTP/3 (aioquic's) on it. The client asks for a
tunnel by an extended CONNECT request (connect-udp, RFC 9298). From then on each UDP payload of the
inner connection is an HTTP Datagram (RFC 9297) in a DATAGRAM frame (RFC 9221) of its own. It has a
sequence number, by which the other end puts payloads in order: datagram mode 1 of TS 23.501, clause
5.32.6.2.2; mode 2 has none. Behind the UPF is a wire.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from http import HTTPStatus
from itertools import count
from typing import Any, cast
from urllib.parse import quote

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DatagramReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import DatagramFrameReceived, StreamDataReceived

from minitopo_dc.fields import PathPlan
from minitopo_dc.quic.connection import Connection
from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.base import TransferFailed, VirtualFlow
from minitopo_dc.runners.quic import ANY_DATAGRAM
from minitopo_dc.runners.sans_io.ends import ClientSession, ServerSession
from minitopo_dc.runners.sans_io.runner import NUMBER_BYTES, TUNNEL_BYTES, congestion_control
from minitopo_dc.runners.sans_io.session import Session
from minitopo_dc.runners.sans_io.virtual import StackPair
from minitopo_dc.runners.virtual import Address
from minitopo_dc.units import NS_PER_MS
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.exchange import Client, End, Server

UDP_PAYLOADS = b"\x00"
"""The Context ID of UDP payloads (RFC 9298, section 4); other contexts are dropped."""
NUMBERED = b"\x02"
"""The Context ID of numbered UDP payloads: an even one, as a client's is (RFC 9298, section 4)."""

STEERING = "minrtt"
"""The tunnel's scheduler unless one is named: smallest delay, as the steering mode of ATSSS-LL."""


class PayloadReordering:
    """The payloads that wait for those before them, each for a time at most."""

    def __init__(self, timer_ns: int) -> None:
        self._timer = timer_ns
        self._next = self._due = 0  # what comes next, and up to which number nothing waits any more
        self._waiting: list[tuple[int, bytes]] = []
        self._came: deque[tuple[int, int]] = deque()

    def push(self, number: int, payload: bytes, now: int) -> None:
        """Take a payload that came at `now` (ns)."""
        heappush(self._waiting, (number, payload))
        self._came.append((now, number))

    def poll(self, now: int) -> Iterator[bytes]:
        """Yield what is next, what came too late, and what has waited for long enough."""
        while self._came and self._came[0][0] + self._timer <= now:
            self._due = max(self._due, self._came.popleft()[1])
        while self._waiting and self._waiting[0][0] <= max(self._next, self._due):
            number, payload = heappop(self._waiting)
            self._next = max(self._next, number + 1)
            yield payload

    def next_timeout(self) -> float:
        """Return when the first payload has waited for long enough (ns), infinity for none."""
        while self._came and self._came[0][1] < self._next:
            self._came.popleft()
        return self._came[0][0] + self._timer if self._came else math.inf


class Http3Transport:
    """The part of aioquic's QUIC connection that its HTTP/3 calls, over a `Connection`."""

    _quic_logger = None
    _remote_max_datagram_frame_size = ANY_DATAGRAM

    def __init__(self, connection: Connection, *, is_client: bool) -> None:
        self.configuration = QuicConfiguration(is_client=is_client)
        self._connection = connection
        self.send_datagram_frame = connection.send_datagram

    def get_next_available_stream_id(self, is_unidirectional: bool = False) -> int:
        """Return a new stream of this end."""
        return self._connection.open_stream(unidirectional=is_unidirectional)

    def send_stream_data(self, stream_id: int, data: bytes, end_stream: bool = False) -> None:
        """Send bytes on a stream."""
        self._connection.write(stream_id, data, end_stream=end_stream)

    def close(self, error_code: int, reason_phrase: str = "") -> None:
        """End the run, as the other end does not speak HTTP/3.

        Raises:
            TransferFailed: always.
        """
        raise TransferFailed(f"the tunnel's HTTP/3: {reason_phrase or hex(error_code)}")


class Relay(End):
    """One end of the tunnel, with an end of the inner connection at the other end of a wire.

    Nothing is kept for batches (RFC 9298, section 6). While the tunnel's congestion windows are
    closed, payloads wait in its queue; one that finds the queue full is dropped.
    """

    def __init__(
        self,
        tunnel: Connection,
        inner: Session,
        target: Address,
        way: tuple[Address, Address],
        limits: tuple[int, int, int],
    ) -> None:
        """Take the tunnel's end, the inner one's with source and destination of what it gets.

        `target` is the only server to which there is a tunnel. The limits are the wire's delay
        (ns), the most payloads that wait, and how long one waits for those before it at the other
        end (ns; 0: payloads have no number).
        """
        self.dropped = 0
        """Payloads that found the queue full."""
        self.inner, self.tunnel, self.target = inner, tunnel, target
        self._stream = 0  # of the request that payloads are HTTP Datagrams of
        self._way, (self._wire, self._queue, reordering_ns) = way, limits
        self._arriving: deque[tuple[int, bytes]] = deque()
        self._leaving: deque[tuple[int, bytes]] = deque()
        self._numbers = count() if reordering_ns else None
        self._reordering = PayloadReordering(reordering_ns)

    @cached_property
    def http(self) -> H3Connection:
        """Return HTTP/3 of this end, which sends its settings when it is asked for first."""
        carrier = Http3Transport(self.tunnel, is_client=isinstance(self.inner, ClientSession))
        # Its switch for WebTransport is the one for HTTP Datagrams.
        return H3Connection(cast("QuicConnection", carrier), enable_webtransport=True)

    def answers(self, stream: int, data: bytes) -> Iterator[HeadersReceived]:
        """Yield the headers, of a request or an answer, that bytes of a stream complete."""
        given = StreamDataReceived(data=data, end_stream=False, stream_id=stream)
        for event in self.http.handle_event(given):
            if isinstance(event, HeadersReceived):
                yield event

    def datagram(self, data: bytes, now: int) -> None:
        """Take what came in a DATAGRAM frame at `now` (ns)."""
        for event in self.http.handle_event(DatagramFrameReceived(data=data)):
            if not isinstance(event, DatagramReceived):
                continue
            context, payload = event.data[:1], event.data[1:]
            if context == UDP_PAYLOADS:
                self._arriving.append((now + self._wire, payload))
            elif context == NUMBERED:
                number = int.from_bytes(payload[:NUMBER_BYTES], "big")
                self._reordering.push(number, payload[NUMBER_BYTES:], now)
        self._take_ordered(now)

    def _take_ordered(self, now: int) -> None:
        self._arriving.extend((now + self._wire, data) for data in self._reordering.poll(now))

    def on_time(self, now: int) -> None:
        """Let the inner end act, and carry what is due at `now` (ns) in both directions."""
        inner = self.inner
        self._take_ordered(now)
        if arrived := [(data, *self._way, 0) for data in _due(self._arriving, now)]:
            inner.receive_all(arrived, now)
        if not inner.ended:
            self._leaving.extend((now + self._wire, data) for data, *_ in inner.drive(now))
        for payload in _due(self._leaving, now):
            waiting = self.tunnel.waiting_datagrams
            if waiting is not None and waiting >= self._queue:
                self.dropped += 1
            elif waiting is not None:
                self.http.send_datagram(self._stream, self._context() + payload)

    def _context(self) -> bytes:
        """Return what stands before the next payload: its context, and its number if it has one."""
        if self._numbers is None:
            return UDP_PAYLOADS
        return NUMBERED + next(self._numbers).to_bytes(NUMBER_BYTES, "big")

    def next_timeout(self) -> float:
        """Return when to call `on_time` (ns) if nothing happens before, infinity for never."""
        inner = None if self.inner.ended else self.inner.next_timeout()
        first = (line[0][0] for line in (self._arriving, self._leaving) if line)
        others = (*first, self._reordering.next_timeout())
        return min(math.inf if inner is None else inner, *others)


def _due(line: deque[tuple[int, bytes]], now: int) -> Iterator[bytes]:
    while line and line[0][0] <= now:
        yield line.popleft()[1]


def udp_path(target: Address) -> str:
    """Return the path of a request for a tunnel to a target (RFC 9298, section 3.4)."""
    return f"/.well-known/masque/udp/{quote(target[0], safe='')}/{target[1]}/"


class TunnelClient(Relay, Client):
    """The client's end of the tunnel; the inner connection begins when the UPF has agreed."""

    inner: ClientSession

    def __init__(self, tunnel: Connection, inner: ClientSession, *others: Any) -> None:
        """Take what a relay takes."""
        Client.__init__(self, inner.client.outcome)
        super().__init__(tunnel, inner, *others)
        self._requested = False
        self._opened: int | None = None

    def connected(self, now: int) -> None:  # noqa: ARG002
        """Send the settings of HTTP/3, to which the UPF replies with its own."""
        self._http = self.http

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Ask for the tunnel when the UPF's settings are there, and begin when it is open.

        Raises:
            WrongAnswer: the UPF refuses.
        """
        for answer in self.answers(stream, data):
            self.headers(answer.stream_id, int(dict(answer.headers)[b":status"]), now)
            self._stream = answer.stream_id
            self._opened = now
            self.inner.start(now)
        # Extended CONNECT has to wait for the server's settings (RFC 9220, section 3).
        if not self._requested and self._http.received_settings is not None:
            self._requested = True
            request = [
                *((":method", "CONNECT"), (":protocol", "connect-udp"), (":scheme", "https")),
                *((":authority", SERVER_NAME), (":path", udp_path(self.target))),
                ("capsule-protocol", "?1"),
            ]
            fields = [(name.encode(), value.encode()) for name, value in request]
            self._http.send_headers(self.tunnel.open_stream(), fields)

    def on_time(self, now: int) -> None:
        """Let the inner client act; when it has ended, so has this one."""
        if self._opened is not None:
            super().on_time(now)
            self.ended = self.ended or self.inner.client.ended

    def next_timeout(self) -> float:
        """Return when to call `on_time` (ns) if nothing happens before, infinity for never."""
        return math.inf if self._opened is None else super().next_timeout()

    def failed(self, reason: str) -> None:
        """End both connections with an error, as nothing more will come."""
        self.inner.client.failed(f"tunnel: {reason}")
        self.ended = True

    def report(self) -> dict[str, Any]:
        """Return the inner client's results, whose times begin with the inner connection."""
        opened = {} if self._opened is None else {"started_s": self._since_start(self._opened)}
        return {**self.inner.client.report(), **opened}


class TunnelServer(Relay, Server):
    """The UPF's end of the tunnel, with the wire to the server, its only target, behind it."""

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Answer the request for the tunnel."""
        for request in self.answers(stream, data):
            fields = dict(request.headers)
            target = (fields.get(b":protocol"), fields.get(b":path"))
            is_right = target == (b"connect-udp", udp_path(self.target).encode())
            status = HTTPStatus.OK if is_right else HTTPStatus.BAD_REQUEST
            answer = [(b":status", b"%d" % status), (b"capsule-protocol", b"?1")]
            self.http.send_headers(request.stream_id, answer)
            self._stream = request.stream_id


class TunnelPair(StackPair):
    """A client and a server with one path between them, through a tunnel over several legs."""

    def _sessions(self, flow: VirtualFlow) -> tuple[ClientSession, ServerSession]:
        proxy, plan, target = flow.proxy, flow.paths, flow.server
        assert proxy is not None
        assert plan is not None
        options = self._runner.path_options(self._flow)
        addresses = flow.clients
        reordering_ns = round(options.tunnel_reordering_ms * NS_PER_MS)
        around = TUNNEL_BYTES - (0 if reordering_ns else NUMBER_BYTES)
        # The inner connection's server sees the proxy as its client.
        inner = self._connections(max_paths=1)
        way = PathPlan.whole(1), addresses[:1]
        self._inner = self._sessions_on(inner, *way, clients=[proxy[0]])
        ends = self._connections(
            alpn="h3",
            congestion_control=congestion_control(self._control),
            datagram_bytes=options.max_datagram_bytes + around,
            is_tunnel=True,
            scheduler=options.scheduler if "scheduler" in options.model_fields_set else STEERING,
        )
        limits = options.tunnel_queue, reordering_ns
        here, there = (target, addresses[0]), (proxy, target)
        client = TunnelClient(ends[0], self._inner[0], target, here, (0, *limits))
        server = TunnelServer(ends[1], self._inner[1], target, there, (flow.wire_ns, *limits))
        self._relays = client, server
        return (
            ClientSession(ends[0], plan, addresses, proxy, flow.begin_ns, make=lambda _: client),
            ServerSession(
                ends[1], flow.client_addresses, flow.begin_ns, make=lambda _: server, bare=True
            ),
        )

    def measure(self) -> Measurement:
        """Return the inner connection's measurement, with the paths and drops of the tunnel.

        Raises:
            TransferFailed: it failed, or one of the connections had not what was asked for.
        """
        measured = super().measure()
        negotiated = self._inner[1].describe()
        control = self._flow.congestion_control
        self._runner.check_negotiated(negotiated, control, multipath=False)
        details = {
            "congestion_control": negotiated["congestion_control"],
            "tunnel_congestion_control": measured.details["congestion_control"],
            "tunnel_drops": sum(relay.dropped for relay in self._relays),
        }
        return replace(measured, details={**measured.details, **details})

    def save_logs(self) -> None:
        """Free all four ends, which has the stack write their qlog."""
        client, _ = self._inner
        if not client.ended:  # the run is over before the connection
            client.handle_all(self._flow.client_host.now, all_data=True)
        super().save_logs()
        for session in self._inner:
            session.connection.free()

    def _connections(self, **changes: Any) -> tuple[Connection, Connection]:
        """Return both ends of a connection with changes of its configuration."""
        runner, flow = self._runner, self._flow
        client = replace(runner.configuration(self._flow, "client"), **changes)
        server = replace(runner.configuration(self._flow, "server"), **changes)
        if client.is_tunnel:
            client = replace(client, datagram_frame=ANY_DATAGRAM)
        return Connection(client, flow.client_host.now), Connection(server, flow.server_host.now)

    @property
    def _control(self) -> str:
        """Return the congestion control of the connection over the legs."""
        options = self._runner.path_options(self._flow)
        return options.tunnel_congestion_control or self._flow.congestion_control
