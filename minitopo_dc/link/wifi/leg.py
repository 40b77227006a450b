"""One direction of a leg over WiFi: 802.11n with aggregation, on a medium that both share.

In this order: drop-tail queue -> the medium (`WifiMedium`) -> MPDUs in TXOPs, failed ones again ->
order at the receiver -> propagation delay -> random loss. Rules:

* Time is an argument: `now` in ns, and it never descends from call to call of either direction.
* A TXOP takes what waits when it begins: MPDUs that failed first, then packets from the queue, up
  to the limits of the aggregate and of the BlockAck's window. Nothing is waited for, but by an
  A-MSDU.
* What arrived is known at the end of the TXOP: each MPDU fails by itself, in a collision all do.
  After its last retry an MPDU is dropped.
* MPDUs go up in order: one that failed keeps those behind it waiting, until it comes or is dropped.
* The queue counts what was in no TXOP yet.
* Down: the direction does not contend; what it is sending does not arrive, and is sent again after
  it is up, which is no retry. What is in propagation arrives.
* Flushed: what is queued, being sent or to be sent again is gone; what the receiver has, and what
  is in propagation, arrives.
* What either direction does may change when something happens to the other: whoever drives one has
  to ask both for :meth:`WifiLeg.next_timeout` then.
* A packet that will be lost behind the hop takes its place and its airtime like any other. That it
  will be lost is known when it is pushed.
* Losses, delays, back-offs and errors have a random generator each, in each direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from minitopo_dc.link.any_leg import NEVER, AnyLeg, LegParameters
from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.link.wifi.medium import WifiMedium
from minitopo_dc.link.wifi.parameters import WifiStatistics, saturated_bps
from minitopo_dc.link.wifi.station import Mpdu, Station
from minitopo_dc.units import earliest

T = TypeVar("T")
OF_STATION = "txops", "collisions", "mpdus", "mpdu_retransmissions", "mpdus_max", "airtime_ns"
OF_MEDIUM = "idle_ns", "contention_ns", "collision_ns", "foreign_ns"
"""Their counters in `WifiStatistics`, which has those of the medium as `medium_idle_ns`, ..."""


class WifiLeg(AnyLeg[T]):
    """One direction of a leg, carrying packets of any type `T`. See the module's rules."""

    def __init__(self, parameters: LegParameters, medium: WifiMedium, rng: Random) -> None:
        """Join the medium, and draw two seeds from `rng`; seeds of the MAC are the medium's."""
        super().__init__(parameters, rng)
        self._medium = medium
        # Of the receiver: MPDUs by their sequence that came before their turn, and whose that is.
        self._held: dict[int, Sequence[LegPacket[T]]] = {}
        self._expected = self._released = 0
        self._station: Station[T] = Station(medium.parameters, medium.new_rng(), self._settle)
        medium.join(self._station)
        self._saturated = saturated_bps(medium.parameters)
        self._dropped_radio = 0

    def _next_event(self) -> int | None:
        event = self._medium.next_event() if self._station.has_work else NEVER
        return earliest(self._air.first(), event if event < NEVER else None)

    def start(self, now: int) -> None:
        """Start the load of others, with the first of both directions that is started."""
        self._medium.start(now)

    def _flush(self, now: int, which: Callable[[T], bool]) -> list[LegPacket[T]]:
        self._medium.advance(now)
        flushed, emptied = self._station.flush(which)
        for mpdu in emptied:
            self._held[mpdu.sequence] = ()
        self._release(now)
        return flushed

    def _resume(self, now: int) -> None:
        self._station.set_up(self.is_up, now)

    def _backlog(self, now: int) -> int:  # noqa: ARG002 (any leg's)
        return self._station.backlog_bytes  # which the other end of the hop does not have yet

    def _first_number(self) -> int | None:
        queue = self._station.queue
        return queue[0].number if queue else None

    def _service_end(self) -> int | None:
        if not self._station.queue or not self.is_up:
            return None
        if self._station.ready == NEVER:  # it is sending
            return self._medium.next_event()
        return self._medium.begin_of(self._station)

    def _rate(self, now: int) -> int:  # noqa: ARG002 (any leg's)
        return self._saturated  # while never idle, with the other direction idle

    def statistics(self) -> WifiStatistics:
        """Return the counters and gauges as of the last call."""
        medium, station = self._medium, self._station
        settled = self._released + self._dropped_flush + self._dropped_radio
        under_way = self.joined_packets - settled - len(station.queue)
        return WifiStatistics(
            **self._counted(under_way + len(self._air)),
            dropped_radio=self._dropped_radio,
            **{name: getattr(station, name) for name in OF_STATION},
            **{f"medium_{name}": getattr(medium, name) for name in OF_MEDIUM},
        )

    def _advance(self, now: int) -> None:
        self._medium.advance(now)

    def _occupancy(self) -> tuple[int, int]:
        return len(self._station.queue), self._station.queue_bytes

    def _join(self, packet: T, size: int, now: int, lost: bool, ecn: int) -> int:  # noqa: ARG002
        self._station.push(LegPacket(packet, size, self.joined_packets, now, lost=lost))
        return len(self._station.queue)

    def _settle(self, received: Sequence[Mpdu[T]], given_up: Sequence[Mpdu[T]], now: int) -> None:
        """Take in what arrived by a TXOP that ended at `now` (ns), and what was given up."""
        for mpdu in received:
            self._held[mpdu.sequence] = mpdu.msdus
        for mpdu in given_up:
            self._held[mpdu.sequence] = ()
            self._dropped_radio += len(mpdu.msdus)
            self._dropped += [msdu.packet for msdu in mpdu.msdus if not msdu.lost]
            self._news = now
        self._release(now)

    def _release(self, now: int) -> None:
        """Hand on to propagation the packets that are in order now."""
        while (msdus := self._held.pop(self._expected, None)) is not None:
            self._expected += 1
            self._released += len(msdus)
            for msdu in msdus:
                self._air.send(msdu, now, now, now)
