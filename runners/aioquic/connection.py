"""A connection of aioquic without input or output, with the interface of `minitopo_dc.quic`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from aioquic.h3.connection import ErrorCode
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

from minitopo_dc.quic.connection import Connection, Datagram, Received
from minitopo_dc.quic.events import (
    Address,
    Closed,
    Closer,
    DatagramFrame,
    Event,
    PathStatistics,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.runners.aioquic.runner import HTTP3, Tuning
from minitopo_dc.runners.aioquic.tuning import OrderedConnection, make_connection
from minitopo_dc.units import NS_PER_S

TIMER_MARGIN_NS = 1_000
"""How much later than asked a connection's timer fires: aioquic compares floating-point sums of
seconds, and a timer that fires a rounding error too early would be asked for again, for ever."""


def seconds(moment: int) -> float:
    """Return a moment in s, as aioquic takes it; exact to the ns for 100 days (2^53 ns)."""
    return moment / NS_PER_S


class TimedTrace(QuicLoggerTrace):
    """One connection's events; aioquic's own class reads the machine's clock."""

    clock: Callable[[], int]

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Add an event to the log."""
        time_ms = self.encode_time(seconds(self.clock()))
        self._events.append({"data": data, "name": f"{category}:{event}", "time": time_ms})


class ConnectionLog(QuicLogger):
    """The qlog of one end, whose time is that of a clock in ns; `save` writes what it has."""

    def __init__(self, directory: Path, clock: Callable[[], int]) -> None:
        """Take where its file goes; both ends' clocks are to be the same one."""
        super().__init__()
        self._path = directory / "1.qlog"
        self._clock = clock

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        """Start the log of a connection (aioquic's hook)."""
        trace = TimedTrace(is_client=is_client, odcid=odcid)
        trace.clock = self._clock
        self._traces.append(trace)
        return trace

    def save(self) -> None:
        """Write the log into its file."""
        self._path.write_text(json.dumps(self.to_dict()), encoding="utf-8")


class AioquicConnection(Connection):
    """One end of a connection of aioquic, as those of stacks in C are.

    All datagrams that wait are to be given before one transmission follows, and timers are kept to
    the microsecond, whereas aioquic's asyncio protocol transmits behind each datagram, with timers
    of whole milliseconds: this takes fewer calls a packet, and paces as computed.
    """

    in_c: ClassVar[bool] = False

    def __init__(
        self, configuration: QuicConfiguration, tuning: Tuning, log: ConnectionLog | None = None
    ) -> None:
        """Take what is aioquic's, what is to be different, and the log that `free` writes."""
        self.has_events = False
        self.is_client = configuration.is_client
        self.on_negotiated: Callable[[], object] = lambda: None
        """Called when a server's application protocol is known: it may send something at once."""
        self._settings, self._tuning, self._log = configuration, tuning, log
        self._quic = make_connection(configuration, tuning) if self.is_client else None
        self._is_closed = False
        self._has_sent = not self.is_client  # before, a client's timer counts from time 0

    @property
    def quic(self) -> OrderedConnection:
        """Return aioquic's connection, which a server has from its client's first packet on."""
        assert self._quic is not None
        return self._quic

    @property
    def has_begun(self) -> bool:
        """Return whether there is a connection."""
        return self._quic is not None

    @property
    def has_http(self) -> bool:
        """Return whether its application protocol is HTTP/3."""
        return self._settings.alpn_protocols == [HTTP3]

    def connect(self, local: Address, remote: Address, now: int) -> None:  # noqa: ARG002
        """Begin the handshake (a client's)."""
        self.quic.connect(remote, seconds(now))

    def receive_all(self, datagrams: Iterable[Received], now: int) -> None:
        """Take datagrams that arrived; a server accepts the first client."""
        for data, source, *_ in datagrams:
            if self._quic is None and (destination := initial_destination(data)) is not None:
                self._quic = make_connection(self._settings, self._tuning, destination=destination)
            if self._quic is not None:
                self._quic.receive_datagram(data, source, seconds(now))
                self.has_events = True

    def advance(self, now: int) -> bool:
        """Handle the connection's timer if it is due; return whether it was."""
        timer = self._quic.get_timer() if self._quic is not None and self._has_sent else None
        if timer is None or timer > seconds(now):
            return False
        self.quic.handle_timer(seconds(now))
        self.has_events = True
        return True

    def datagrams(self, now: int) -> list[Datagram]:
        """Return what is to be sent now."""
        if self._quic is None:
            return []
        self._has_sent = True
        sent = self._quic.datagrams_to_send(seconds(now))
        return [(data, None, address) for data, address in sent]

    def next_timeout(self) -> int | None:
        """Return when to call `advance` next (ns) if nothing happens before, None for never."""
        timer = None if self._quic is None else self._quic.get_timer()
        return None if timer is None else int(timer * NS_PER_S) + TIMER_MARGIN_NS

    def events(self, *, all_data: bool = False) -> list[Event]:  # noqa: ARG002
        """Return what happened since the last call."""
        self.has_events = False
        return list(self._read_events())

    def _read_events(self) -> Iterator[Event]:
        while self._quic is not None and (event := self._quic.next_event()) is not None:
            match event:
                case events.StreamDataReceived():
                    yield StreamData(event.stream_id, event.data, event.end_stream)
                case events.StreamReset() | events.StopSendingReceived():
                    yield StreamReset(event.stream_id)
                case events.DatagramFrameReceived():
                    yield DatagramFrame(event.data)
                case events.ProtocolNegotiated():
                    self.on_negotiated()
                case events.HandshakeCompleted():
                    control = self._settings.congestion_control_algorithm
                    yield Ready(False, self._settings.supported_versions[0], control)
                case events.ConnectionTerminated():
                    words = f"connection ended: {event.reason_phrase or event.error_code}"
                    by: Closer = "this end" if self._is_closed else "peer"
                    yield Closed(by, event.error_code, words)

    def open_stream(self, *, unidirectional: bool = False) -> int:
        """Return the identifier of a new stream, of both directions or of this end's only."""
        return self.quic.get_next_available_stream_id(is_unidirectional=unidirectional)

    def write(self, stream_id: int, data: bytes, *, end_stream: bool = False) -> None:
        """Send bytes on a stream."""
        self.quic.send_stream_data(stream_id, data, end_stream)

    def stop_sending(self, stream_id: int, error: int = 0) -> None:
        """Ask the peer to give a stream up (RFC 9000, section 19.5)."""
        self.quic.stop_stream(stream_id, error)

    def reset_stream(self, stream_id: int, error: int = 0) -> None:
        """Give a stream up; nothing when all was acknowledged."""
        self.quic.reset_stream(stream_id, error)

    def send_datagram(self, data: bytes) -> None:
        """Send bytes in a DATAGRAM frame (RFC 9221)."""
        self.quic.send_datagram_frame(data)

    def paths(self) -> list[PathStatistics]:
        """Return nothing, as there is one path."""
        return []

    def close(self, now: int, error: int = 0, reason: str = "") -> None:  # noqa: ARG002
        """End the connection in order, once."""
        self._is_closed = True
        code = ErrorCode.H3_NO_ERROR if self.has_http and not error else error
        self.quic.close(error_code=code, reason_phrase=reason)

    def free(self) -> None:
        """Write its log, if it has one."""
        if self._log is not None:
            self._log.save()


def initial_destination(data: bytes) -> bytes | None:
    """Return the destination connection ID of a client's first packet, None for another.

    It has to be an Initial packet of version 1 (RFC 9000, section 17.2.2) in a datagram of 1,200
    bytes or more (section 14.1).
    """
    if len(data) < 1200 or data[0] & 0xF0 != 0xC0 or data[1:5] != b"\0\0\0\1":
        return None
    return data[6 : 6 + data[5]]
