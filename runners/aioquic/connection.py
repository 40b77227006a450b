"""A connection of aioquic without input or output, with the interface of `minitopo_dc.quic`.

Of slow start exit, loss detection, acknowledgements and pacing others than aioquic's can be had.
aioquic's connection has no parameters for them: what its constructor makes is replaced, or becomes
a subclass, right behind it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from aioquic.h3.connection import ErrorCode
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import QuicCongestionControl, QuicRttMonitor
from aioquic.quic.connection import NetworkAddress, QuicConnection, QuicReceiveContext
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace
from aioquic.quic.packet_builder import QuicPacketBuilder, QuicSentPacket
from aioquic.quic.rangeset import RangeSet
from aioquic.quic.recovery import QuicPacketPacer, QuicPacketRecovery, QuicPacketSpace
from aioquic.quic.stream import QuicStream
from aioquic.tls import Epoch

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
from minitopo_dc.runners.aioquic.runner import HTTP3, MODERN, Tuning
from minitopo_dc.units import NS_PER_S


class _Queue(list[QuicStream]):
    """Streams that wait for their turn; those that just had it come last, the oldest first."""

    def extend(self, streams: Iterable[QuicStream]) -> None:
        super().extend(sorted(streams, key=attrgetter("stream_id")))


class OrderedConnection(QuicConnection):
    """aioquic's connection, in which streams take turns in the order of their IDs.

    aioquic keeps the streams that had their turn in a set (1.7), whose order is that of their
    addresses in memory: with several streams, no two runs would send the same packets.
    """

    @property
    def _streams_queue(self) -> _Queue:
        return self._ordered_streams

    @_streams_queue.setter
    def _streams_queue(self, streams: list[QuicStream]) -> None:
        self._ordered_streams = _Queue(streams)


TIMER_MARGIN_NS = 1_000
"""How much later than asked a connection's timer fires: aioquic compares floating-point sums of
seconds, and a timer that fires a rounding error too early would be asked for again, for ever."""


def seconds(moment: int) -> float:
    """Return a moment in s, as aioquic takes it; exact to the ns for 100 days (2^53 ns)."""
    return moment / NS_PER_S


class TimedTrace(QuicLoggerTrace):
    """One connection's events; aioquic's own class reads the machine's clock."""

    def __init__(self, *, is_client: bool, odcid: bytes, clock: Callable[[], int]) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self._clock = clock

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Add an event to the log."""
        time_ms = self.encode_time(seconds(self._clock()))
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
        trace = TimedTrace(is_client=is_client, odcid=odcid, clock=self._clock)
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
        self.on_negotiated: Callable[[], None] = lambda: None
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


SAMPLES = 8
"""Of a round's round-trip times (RFC 9406, section 4.3: N_RTT_SAMPLE)."""
MIN_WINDOW = 16
"""Packets: below it slow start ends at a loss only (HyStart, Ha and Rhee 2011: LOW_WINDOW)."""
PACKET_THRESHOLD = 3
TIME_THRESHOLD = 9 / 8
"""Both RFC 9002's (section 6.1), as in aioquic."""
ACK_DELAY_S = 0.001
"""aioquic's own."""
DUE = 0.0
"""When an acknowledgement was to be sent that is sent at once: later than now, aioquic paces it."""
MS_PER_S = 1000


def make_connection(
    configuration: QuicConfiguration,
    tuning: Tuning,
    *,
    destination: bytes | None = None,
) -> OrderedConnection:
    """Return a client's connection, or with its first packet's destination a server's.

    Args:
        configuration: aioquic's.
        tuning: what is to be different.
        destination: the connection ID that a client has sent its first packet to.
    """
    if tuning != MODERN:
        return TunedConnection(configuration, tuning, destination=destination)
    return OrderedConnection(
        configuration=configuration, original_destination_connection_id=destination
    )


class TunedConnection(OrderedConnection):
    """A connection that sends and acknowledges as asked.

    An acknowledgement that is due after a packet is made before the next one is taken, so that as
    many are sent as asked for when many packets arrive at once.
    """

    def __init__(
        self,
        configuration: QuicConfiguration,
        tuning: Tuning,
        *,
        destination: bytes | None,
    ) -> None:
        """Take the arguments of `make_connection`."""
        super().__init__(
            configuration=configuration, original_destination_connection_id=destination
        )
        self._every = _number(tuning.ack_every, math.inf)
        self._decimated = _number(tuning.ack_decimation, math.inf)
        self._counts_packets = min(self._every, self._decimated) < math.inf
        self._decimated_after = _number(tuning.ack_decimation_after, 0)
        self._rtt_share = _number(tuning.ack_decimation_rtt_share, math.inf)
        self._most_delay = _number(tuning.ack_delay_ms, ACK_DELAY_S * MS_PER_S) / MS_PER_S
        self._unacknowledged = 0
        self._early: list[tuple[bytes, NetworkAddress]] = []
        tune_recovery(self._loss, tuning, configuration.max_datagram_size)

    def receive_datagram(self, data: bytes, addr: NetworkAddress, now: float) -> None:
        """Take a datagram; an acknowledgement that it makes due is sent with the next datagrams."""
        before = self._largest_received()
        is_decimated = self._decimated < math.inf and before >= self._decimated_after
        self._ack_delay = self._most_delay
        if is_decimated:
            self._ack_delay = min(self._most_delay, self._rtt_share * self._loss._rtt_min)
        super().receive_datagram(data, addr, now)
        is_in_order = self._largest_received() == before + 1
        wanted = self._decimated if is_decimated else self._every
        if self._unacknowledged >= (wanted if is_in_order or not self._counts_packets else 1):
            space = self._spaces[Epoch.ONE_RTT]
            if space.ack_at is not None and self._handshake_confirmed:
                space.ack_at = DUE
                self._early += super().datagrams_to_send(now)

    def datagrams_to_send(self, now: float) -> list[tuple[bytes, NetworkAddress]]:
        """Return the datagrams that are to be sent now."""
        early, self._early = self._early, []
        return early + super().datagrams_to_send(now)

    def get_timer(self) -> float | None:
        """Return a past time while an early datagram waits to be sent, else aioquic's timer (s)."""
        timer = super().get_timer()
        return DUE if self._early else timer

    def _payload_received(
        self, context: QuicReceiveContext, plain: bytes, crypto_frame_required: bool = False
    ) -> tuple[bool, bool]:
        is_ack_eliciting, is_probing = super()._payload_received(
            context, plain, crypto_frame_required=crypto_frame_required
        )
        if is_ack_eliciting and context.epoch == Epoch.ONE_RTT:
            self._unacknowledged += 1
        return is_ack_eliciting, is_probing

    def _write_ack_frame(
        self, builder: QuicPacketBuilder, space: QuicPacketSpace, now: float
    ) -> None:
        super()._write_ack_frame(builder, space, now)
        if space is self._spaces[Epoch.ONE_RTT]:
            self._unacknowledged = 0

    def _largest_received(self) -> int:
        return self._spaces[Epoch.ONE_RTT].largest_received_packet if self._spaces else -1


def _number(value: Any, default: float) -> float:
    return default if value is None else math.inf if value == "off" else float(value)


class RoundMonitor(QuicRttMonitor):
    """Ends slow start when the least round-trip time of a round's first samples is too large.

    A round ends when the packet is acknowledged that was the last one sent at its beginning.
    """

    def __init__(self, increase: float, control: QuicCongestionControl, least_window: int) -> None:
        """Take the share of the least round-trip time that is too much; a window in bytes."""
        super().__init__()
        self._factor = 1 + increase
        self._control = control
        self._least_window = least_window
        self._least = math.inf
        self._last_sent = self._round_end = -1
        self._round_least = math.inf
        self._samples_left = SAMPLES

    def on_sent(self, number: int) -> None:
        """Note that a packet of this number was sent."""
        self._last_sent = number

    def on_acked(self, number: int) -> None:
        """Note that a packet of this number was acknowledged."""
        if number > self._round_end:
            self._round_end = self._last_sent
            self._round_least = math.inf
            self._samples_left = SAMPLES

    def is_rtt_increasing(self, *, now: float, rtt: float) -> bool:  # noqa: ARG002
        """Take a sample (s); return whether the round has become too slow."""
        self._least = min(self._least, rtt)
        if self._samples_left > 0:
            self._samples_left -= 1
            self._round_least = min(self._round_least, rtt)
        return (
            self._samples_left == 0
            and self._round_least > self._factor * self._least
            and self._control.congestion_window >= self._least_window
        )


class TunedRecovery(QuicPacketRecovery):
    """RFC 9002's loss detection (section 6.1) with other thresholds.

    State is that of the base class and of `tune_recovery`, so that a connection's recovery may
    become this class.
    """

    time_threshold: float
    packet_threshold: float
    rounds: RoundMonitor | None

    def on_packet_sent(self, *, packet: QuicSentPacket, space: QuicPacketSpace) -> None:
        """Note also that the packet belongs to a round."""
        super().on_packet_sent(packet=packet, space=space)
        if self.rounds is not None:
            self.rounds.on_sent(packet.packet_number)

    def on_ack_received(
        self, *, ack_rangeset: RangeSet, ack_delay: float, now: float, space: QuicPacketSpace
    ) -> None:
        """Note also that the acknowledgement may end a round."""
        if self.rounds is not None:
            self.rounds.on_acked(ack_rangeset.bounds().stop - 1)
        super().on_ack_received(
            ack_rangeset=ack_rangeset, ack_delay=ack_delay, now=now, space=space
        )

    def _detect_loss(self, *, now: float, space: QuicPacketSpace) -> None:
        measured = max(self._rtt_latest, self._rtt_smoothed)
        patience = self.time_threshold * (measured if self._rtt_initialized else self._rtt_initial)
        lost: list[QuicSentPacket] = []
        due = math.inf
        for number, packet in space.sent_packets.items():
            behind = space.largest_acked_packet - number
            if behind < 0:
                break
            assert packet.sent_time is not None  # it was sent
            lost_at = packet.sent_time + patience
            if behind >= self.packet_threshold or lost_at <= now:
                lost.append(packet)
            else:
                due = min(due, lost_at)
        space.loss_time = None if due == math.inf else due
        self._on_packets_lost(
            now=now,
            packets=lost,
            persistent_congestion=self._in_persistent_congestion(packets=lost),
            space=space,
        )


class TunedPacer(QuicPacketPacer):
    """Paces by a number of windows in a round-trip time, in slow start and after it."""

    def __init__(
        self, control: QuicCongestionControl, gains: tuple[float, float], max_datagram_size: int
    ) -> None:
        """Take the gains of slow start and of congestion avoidance."""
        super().__init__(max_datagram_size=max_datagram_size)
        self._control = control
        self._slow_start, self._avoidance = gains

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        """Update the rate for the present phase; bursts are as long as aioquic's."""
        threshold = self._control.ssthresh
        is_slow_start = threshold is None or congestion_window < threshold
        gain = self._slow_start if is_slow_start else self._avoidance
        super().update_rate(congestion_window, smoothed_rtt / gain)


def tune_recovery(recovery: QuicPacketRecovery, tuning: Tuning, datagram_bytes: int) -> None:
    """Tune the recovery of a connection that was just made, and its monitor and pacer."""
    control: Any = recovery._cc  # reno or cubic, both of which have a monitor
    recovery.__class__ = TunedRecovery
    assert isinstance(recovery, TunedRecovery)
    recovery.time_threshold = _number(tuning.loss_time_threshold, TIME_THRESHOLD)
    recovery.packet_threshold = _number(tuning.packet_threshold, PACKET_THRESHOLD)
    recovery.rounds = None
    if tuning.slow_start_exit is not None:
        increase, window = _number(tuning.slow_start_exit, math.inf), MIN_WINDOW * datagram_bytes
        recovery.rounds = RoundMonitor(increase, control, window)
        control._rtt_monitor = recovery.rounds
    gains = (_number(tuning.pacing_slow_start, 1), _number(tuning.pacing_avoidance, 1))
    recovery._pacer = TunedPacer(control, gains, datagram_bytes)
