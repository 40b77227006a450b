"""The transmitting MAC of one direction of a WiFi leg: queue, aggregates, retries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from minitopo_dc.link.any_leg import NEVER
from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.link.wifi.medium import Contender
from minitopo_dc.link.wifi.parameters import (
    MPDU_BYTES,
    WifiParameters,
    carried_bytes,
    ppdu_ns,
    transmission_ns,
)

T = TypeVar("T")


@dataclass(slots=True)
class Mpdu(Generic[T]):
    """An MPDU: sent, acknowledged and sent again as a whole; one without MSDUs was flushed.

    Attributes:
        sequence: from 0, without an end.
        size: its bytes on the air.
        tries: transmissions that failed.
    """

    sequence: int
    msdus: list[LegPacket[T]]
    size: int
    tries: int = 0


class Station(Contender, Generic[T]):
    """Contends for the medium while it has something to send.

    Args:
        wifi: of the MAC.
        rng: draws back-offs and errors.
        settle: takes the MPDUs that arrived by a TXOP, those given up, and when it ended (ns).
    """

    def __init__(
        self,
        wifi: WifiParameters,
        rng: Random,
        settle: Callable[[Sequence[Mpdu[T]], Sequence[Mpdu[T]], int], None],
    ) -> None:
        super().__init__(Random(rng.getrandbits(64)))
        self.queue: deque[LegPacket[T]] = deque()
        self.queue_bytes = 0
        self.txops = self.collisions = self.mpdus = self.mpdu_retransmissions = self.mpdus_max = 0
        self._wifi = wifi
        self._errors = Random(rng.getrandbits(64))
        self._bursts = Random(rng.getrandbits(64)) if wifi.error_bursts else None
        self._bad = False
        self._settle = settle
        self._again: deque[Mpdu[T]] = deque()  # in order of sequence
        self._flying: list[Mpdu[T]] = []
        self._sequence = 0
        self._up = True
        self._interrupted = False
        self._free = -NEVER  # from when on it may contend

    @property
    def has_work(self) -> bool:
        """Return whether any packet waits or is being sent."""
        return bool(self.queue or self._again or self._flying)

    @property
    def backlog_bytes(self) -> int:
        """Return the bytes of packets that the other end does not have yet."""
        sent = (msdu.size for mpdu in (*self._again, *self._flying) for msdu in mpdu.msdus)
        return self.queue_bytes + sum(sent)

    def push(self, msdu: LegPacket[T]) -> None:
        """Add a packet to the queue."""
        self.queue.append(msdu)
        self.queue_bytes += msdu.size
        if self.ready == NEVER or self._wifi.aggregation == "a-msdu":
            self._contend()

    def set_up(self, up: bool, now: int) -> None:
        """Take the station up or down; what it is sending when it goes down is sent again."""
        self._up = up
        self._free = now
        self._interrupted |= bool(self._flying) and not up
        self._contend()

    def flush(self, which: Callable[[T], bool]) -> tuple[list[LegPacket[T]], list[Mpdu[T]]]:
        """Take packets out that have not arrived.

        Returns:
            The packets, and the MPDUs that have none any more.
        """
        flushed = [msdu for msdu in self.queue if which(msdu.packet)]
        self.queue = deque(msdu for msdu in self.queue if not which(msdu.packet))
        self.queue_bytes = sum(msdu.size for msdu in self.queue)
        emptied = []
        for mpdu in (*self._again, *self._flying):
            gone = [msdu for msdu in mpdu.msdus if which(msdu.packet)]
            mpdu.msdus = [msdu for msdu in mpdu.msdus if not which(msdu.packet)]
            flushed += gone
            if gone and not mpdu.msdus:
                emptied.append(mpdu)
        self._again = deque(mpdu for mpdu in self._again if mpdu.msdus)
        self._contend()
        return flushed, emptied

    def begin(self, now: int) -> int:  # noqa: ARG002
        """Begin a TXOP, with MPDUs that failed first, then what waits; return its length (ns)."""
        flying: list[Mpdu[T]] = []
        self._flying = flying
        first = self._again[0].sequence if self._again else self._sequence
        total = 0
        while mpdu := self._again[0] if self._again else self._next(first):
            if flying and not self._fits(len(flying), total + mpdu.size):
                break
            self._take(mpdu)
            flying.append(mpdu)
            total += mpdu.size
        self.txops += 1
        self.mpdus += len(flying)
        self.mpdus_max = max(self.mpdus_max, len(flying))
        self._contend()
        return transmission_ns(self._wifi, total)

    def end(self, now: int, *, collided: bool) -> None:
        """Learn what arrived, give up what has failed too often, send the rest again."""
        flying, self._flying = self._flying, []
        error = self._error()
        received: list[Mpdu[T]] = []
        given_up: list[Mpdu[T]] = []
        failed = []
        for mpdu in flying:
            if not mpdu.msdus:
                continue
            if self._interrupted:
                failed.append(mpdu)
            elif not collided and self._errors.random() >= error:
                received.append(mpdu)
            else:
                mpdu.tries += 1
                kept = mpdu.tries <= self._wifi.retries
                (failed if kept else given_up).append(mpdu)
        self.collisions += collided
        self._again.extendleft(reversed(failed))
        nothing = bool(failed) and not received and not given_up
        self.back_off(failed=nothing and not self._interrupted)
        self._interrupted = False
        self._contend()
        self._settle(received, given_up, now)

    def _error(self) -> float:
        """Return the probability that an MPDU of this TXOP fails, and step the bursts' chain."""
        bursts = self._wifi.error_bursts
        if bursts is None or self._bursts is None:
            return self._wifi.mpdu_error
        error, change = (bursts.bad, bursts.r) if self._bad else (self._wifi.mpdu_error, bursts.p)
        self._bad ^= self._bursts.random() < change
        return error

    def _contend(self) -> None:
        """Find from when on the station wants the medium."""
        if not self._up or self._flying or not self.has_work:
            self.ready = NEVER
        else:
            self.ready = self._free if self._again else max(self._free, self._worth_sending())

    def _worth_sending(self) -> int:
        """Return when (ns) the queue's first packets are worth sending: an A-MSDU waits to fill."""
        first = self.queue[0].pushed
        if self._wifi.aggregation != "a-msdu":
            return first
        due = first + self._wifi.amsdu_wait_ns
        total = 0
        for msdu in self.queue:
            total += carried_bytes(self._wifi, msdu.size)
            if total > self._wifi.amsdu_bytes:
                return min(due, msdu.pushed)
        return due

    def _fits(self, mpdus: int, total: int) -> bool:
        wifi = self._wifi
        return (
            wifi.aggregation == "a-mpdu"
            and mpdus < wifi.max_mpdus
            and total <= wifi.max_bytes
            and ppdu_ns(wifi, total) <= wifi.ppdu_ns
        )

    def _next(self, first: int) -> Mpdu[T] | None:
        """Return the next new MPDU, left in the queue, if the window from `first` on has room."""
        if not self.queue or self._sequence >= first + self._wifi.max_mpdus:
            return None
        msdus: list[LegPacket[T]] = []
        total = 0
        for msdu in self.queue:
            more = carried_bytes(self._wifi, msdu.size)
            single = self._wifi.aggregation != "a-msdu"
            if msdus and (single or total + more > self._wifi.amsdu_bytes):
                break
            msdus.append(msdu)
            total += more
        return Mpdu(self._sequence, msdus, MPDU_BYTES + total)

    def _take(self, mpdu: Mpdu[T]) -> None:
        """Remove an MPDU from the queue or from those to be sent again."""
        if self._again:
            self._again.popleft()
            self.mpdu_retransmissions += 1
            return
        self._sequence += 1
        for msdu in mpdu.msdus:
            self.queue.popleft()
            self.queue_bytes -= msdu.size
