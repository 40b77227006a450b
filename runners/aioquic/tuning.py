"""aioquic's connection with slow start exit, loss detection, acknowledgements and pacing as asked.

It has no parameters for them: what its constructor makes is replaced, or becomes a subclass, right
behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import QuicCongestionControl, QuicRttMonitor
from aioquic.quic.connection import NetworkAddress, QuicConnection, QuicReceiveContext
from aioquic.quic.packet_builder import QuicPacketBuilder, QuicSentPacket
from aioquic.quic.rangeset import RangeSet
from aioquic.quic.recovery import QuicPacketPacer, QuicPacketRecovery, QuicPacketSpace
from aioquic.quic.stream import QuicStream
from aioquic.tls import Epoch

from minitopo_dc.runners.aioquic.runner import MODERN, Tuning

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


def make_connection(
    configuration: QuicConfiguration, tuning: Tuning, *, destination: bytes | None = None
) -> OrderedConnection:
    """Return a client's connection, or with its first packet's destination a server's.

    Args:
        configuration: aioquic's.
        tuning: what is to be different.
        destination: the connection ID that a client has sent its first packet to.
    """
    kind = OrderedConnection if tuning == MODERN else partial(TunedConnection, tuning)
    return kind(configuration=configuration, original_destination_connection_id=destination)


class TunedConnection(OrderedConnection):
    """A connection that sends and acknowledges as asked.

    An acknowledgement that is due after a packet is made before the next one is taken, so that as
    many are sent as asked for when many packets arrive at once.
    """

    def __init__(self, tuning: Tuning, *, configuration: QuicConfiguration, **others: Any) -> None:
        """Take the tuning, and what aioquic's connection takes."""
        super().__init__(configuration=configuration, **others)
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
