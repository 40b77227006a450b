"""The interface and the counters that all kinds of legs share.

A driver of a leg uses the interface of `AnyLeg`. The modules `leg`, `rlc` and `wifi` implement it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, TypeVar

from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.discipline import AtQueue, Ecn, LegPacket, QueueDiscipline, Verdict
from minitopo_dc.link.propagation import DelayModel, LossModel, NormalDelay, Propagation, Served
from minitopo_dc.units import NS_PER_S, QueueLimit, check_within

T = TypeVar("T")

NEVER = 1 << 100
"""In ns, packets or bytes: beyond any run."""
NOT_STARTED = 1 << 62
"""In ns: a time zero that every clock reading is before."""
PAPERS_DELAY = NormalDelay(10_000_000, 1_000_000)
"""Thesis, section 4.4 and listing 4.2: netem delay 10ms 1ms normal."""
PAPERS_QUEUE = QueueLimit(100)
"""Ibid., listing 4.2, server side."""


@dataclass(frozen=True, slots=True)
class LegParameters:
    """Parameters of one direction of a leg, but for its capacity.

    The defaults are those of "QUIC over Dual Connectivity" (journal article and thesis), but for
    `reorder`.

    Raises:
        ValueError: an MTU below 1.
    """

    queue: QueueLimit = PAPERS_QUEUE
    delay: DelayModel = PAPERS_DELAY
    loss: LossModel | None = None
    # False: jitter keeps the order, as LTE's RLC does (TS 36.322). True: packets overtake as with
    # netem, which the thesis' own legs do.
    reorder: bool = False
    # What a packet waits that finds nothing under way: a scheduling request, its grant, a buffer
    # status report (TS 38.321, clauses 5.4.4 and 5.4.5). 0: the papers' legs have none.
    grant_ns: int = 0
    # None: drop-tail, as the papers' legs.
    discipline: QueueDiscipline | None = None
    # None: any packet passes, as on the papers' legs.
    mtu_bytes: int | None = None

    def __post_init__(self) -> None:
        check_within(self, 1, math.inf, "mtu_bytes")


@dataclass(slots=True)  # one for each row of a series: frozen, it takes three times as long
class LegStatistics:
    """Counters since the beginning, and gauges at the last call.

    `pushed_packets` = `delivered_packets` + all `dropped_*` + `queue_packets` + `air_packets` at
    any time. A loss on the air is counted when it happens, i.e. after the packet's serialisation;
    `dropped_flush` has what waited when the leg was flushed. The last six are None without a queue
    discipline (what it dropped and marked, and the packets that came with each code point) and
    without an MTU (what was larger).
    """

    pushed_packets: int
    pushed_bytes: int
    delivered_packets: int
    delivered_bytes: int
    dropped_queue: int
    dropped_loss: int
    dropped_stop: int
    dropped_flush: int
    queue_packets: int
    queue_bytes: int
    queue_max_packets: int
    air_packets: int
    dropped_early: int | None = field(default=None, kw_only=True)
    marked_packets: int | None = field(default=None, kw_only=True)
    ect0_packets: int | None = field(default=None, kw_only=True)
    ect1_packets: int | None = field(default=None, kw_only=True)
    ce_packets: int | None = field(default=None, kw_only=True)
    dropped_mtu: int | None = field(default=None, kw_only=True)


class AnyLeg(ABC, Generic[T]):
    """One direction of a leg: a queue, drop-tail or of a discipline, then losses by a model.

    Times are ns; `now` never descends from call to call.

    Losses have a random generator of their own: the k-th packet that joins the queue has the k-th
    draw, whatever the timing. That it will be lost is known when it is pushed; it takes its place
    and its time of service like any other.
    """

    def __init__(self, parameters: LegParameters, rng: Random) -> None:
        """Make a leg whose losses and delays are drawn with two seeds from `rng`."""
        self.is_up = True
        """Whether the leg serialises, as the last :meth:`set_up` said."""
        self.joined_packets = 0
        """How many packets joined the queue: the number of the latest one, from 1."""
        self._pushed_packets = self._pushed_bytes = 0
        self._dropped: list[T] = []
        self._news: int | None = None  # when something happened that no poll has met
        self._loss = copy(parameters.loss)  # it may keep state, and parameters are shared
        self._loss_rng, self._queue_rng = queue_generators(rng)
        self._limit = parameters.queue
        delays = Random(rng.getrandbits(64))
        self._air: Propagation[T] = Propagation(
            parameters.delay, delays, reorder=parameters.reorder
        )
        self._stopped = False  # whether the capacity has ended
        self._queue_max = 0
        self._dropped_queue = self._dropped_stop = self._dropped_flush = 0
        self._mtu, self._dropped_mtu = parameters.mtu_bytes, 0
        self._discipline = deepcopy(parameters.discipline)  # it keeps state
        self._dropped_early = self._marked = 0
        self._ecn_packets = [0] * len(Ecn)

    def push(self, packet: T, size: int, now: int) -> bool:
        """Take a packet of `size` bytes (> 0).

        Returns:
            False if it is known that it never comes out: it is larger than the MTU, the queue is
            full, its discipline drops it, it will be lost behind it, or the capacity has ended.
            True is a promise that :meth:`dropped` or :meth:`flush` may break, and nothing else.
        """
        self._pushed_packets += 1
        self._pushed_bytes += size
        if self._mtu is not None and size > self._mtu:
            self._dropped_mtu += 1
            return False
        if not self.has_room(now=now, size=size):
            self._dropped_queue += 1
            return False
        ecn = 0 if self._discipline is None else self._enqueue(packet, size, now)
        if ecn < 0:
            return False
        lost = self._loss is not None and self._loss.lost(self._loss_rng)
        self.joined_packets += 1
        waiting = self._join(packet, size, now, lost, ecn)
        if not waiting:
            self.joined_packets -= 1
            self._dropped_stop += 1
            return False
        self._queue_max = max(self._queue_max, waiting)
        return not lost

    def poll(self, now: int) -> list[T]:
        """Return all that has arrived at the other end by `now`, in order of arrival."""
        self._advance(now)
        self._news = None
        return self._air.take(now)

    def dropped(self) -> list[T]:
        """Return packets promised by :meth:`push` that will not come, since the last call.

        They are known when :meth:`poll` has been called for the moment of :meth:`next_timeout`.
        """
        dropped, self._dropped = self._dropped, []
        return dropped

    def next_timeout(self) -> int | None:
        """Return when to poll next (ns), or None if nothing is under way in this direction."""
        return self._next_event() if self._news is None else self._news

    @abstractmethod
    def start(self, now: int) -> None:
        """Start the capacity's time: make `now` its time 0."""

    def flush(self, now: int, which: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Take packets out of the leg, by default all.

        Returns:
            Those that :meth:`push` had promised and that will not come.
        """
        flushed = self._flush(now, which)
        self._dropped_flush += len(flushed)
        return [taken.packet for taken in flushed if not taken.lost]

    def pair(self, other: AnyLeg[Any]) -> None:
        """Tell the leg of its other direction."""

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the queue would take a packet of `size` bytes at `now`."""
        self._advance(now)
        return self._limit.has_room(*self._occupancy(), size=size)

    @property
    def mean_delay_ns(self) -> int:
        """Return the configured mean one-way delay behind queue and serialisation, in ns."""
        return self._air.delay.mean_ns

    @property
    def slot_lead_ns(self) -> int:
        """Return in what time (ns) the mean rate passes two slots, sent and next; 0: none."""
        return 0

    def observe(self, served: Served) -> None:
        """Call `served` for each packet that passes on to propagation."""
        self._air.served = served

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""
        if up != self.is_up:
            self._pause(now)
            self.is_up = up
            self._resume(now)

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes that wait for being serialised."""
        self._advance(now)
        return self._backlog(now)

    def served_packets(self, *, now: int) -> int:
        """Return the number of the last packet that left the queue, with all before, by `now`."""
        self._advance(now)
        first = self._first_number()
        return self.joined_packets if first is None else first - 1

    def service_end(self, *, now: int) -> int | None:
        """Return when the packet in service is through at the earliest (ns), None if none is."""
        self._advance(now)
        return self._service_end()

    def rate_bps(self, *, now: int) -> int:
        """Return the rate of `now` in bit/s; 0 also when it is down, or its capacity has ended."""
        self._advance(now)
        return self._rate(now) if self.is_up and not self._stopped else 0

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take at the rate of `now`.

        Returns:
            ns, or None where no time is known: the leg is down, its rate is 0, or it has ended. The
            rate of opportunities is their mean over the 100 ms before (`OpportunityCapacity`).
        """
        rate = self.rate_bps(now=now)
        if not rate:
            return None
        return -(-(self.backlog_bytes(now=now) + more) * 8 * NS_PER_S // rate)

    def statistics(self) -> LegStatistics:
        """Return counters and gauges as of the last call, in a `LegStatistics` or a subclass."""
        return LegStatistics(**self._counted(len(self._air)))

    def retune(
        self,
        now: int,
        *,
        capacity: Capacity | None = None,
        delay: DelayModel | None = None,
        loss: LossModel | None = None,
        block_error: float | None = None,
    ) -> None:
        """Change parameters without touching the queue; None leaves one as it is.

        A capacity (its times relative to :meth:`start`'s) and an error probability are for what is
        not served yet, a delay is for what is not on its way, a loss model for packets pushed from
        now on: the fate of the others has been told.

        Raises:
            ValueError: the leg has no such parameter, or `block_error` is no probability.
        """
        self._advance(now)
        if block_error is not None:
            self._set_block_error(block_error)
        if capacity is not None:
            self._set_capacity(capacity, now)
        if delay is not None:
            self._set_delay(delay)
        if loss is not None:
            self._loss = copy(loss)

    def _set_block_error(self, block_error: float) -> None:
        raise ValueError(f"block_error = {block_error}: only a leg with rlc has it")

    def _set_capacity(self, capacity: Capacity, now: int) -> None:  # noqa: ARG002
        """Serve from now on (ns) by another capacity."""
        raise ValueError("capacity: a WiFi leg's follows from its medium")

    def _set_delay(self, delay: DelayModel) -> None:
        self._air.delay = delay

    # What follows is called when all until now has happened, but for `_pause`.

    @abstractmethod
    def _next_event(self) -> int | None:
        """Return when something happens next (ns), None if nothing will."""

    @abstractmethod
    def _advance(self, now: int) -> None:
        """Let all happen that does by `now` (ns)."""

    def _pause(self, now: int) -> None:
        """Get ready at `now` (ns) for a change of what the leg serves."""
        self._advance(now)

    @abstractmethod
    def _resume(self, now: int) -> None:
        """Go on after it."""

    @abstractmethod
    def _backlog(self, now: int) -> int:
        """Return the bytes that wait for being serialised."""

    @abstractmethod
    def _first_number(self) -> int | None:
        """Return the least number of a packet in the queue; None: it is empty."""

    @abstractmethod
    def _service_end(self) -> int | None:
        """Return when the packet in service is through at the earliest (ns), None if none is."""

    @abstractmethod
    def _rate(self, now: int) -> int:
        """Return the rate of a leg that is up in bit/s."""

    def _flush(self, now: int, which: Callable[[T], bool]) -> Sequence[LegPacket[T]]:
        """Take out at `now` (ns) those of the packets that have not arrived, and return them."""
        raise NotImplementedError

    def _join(self, packet: T, size: int, now: int, lost: bool, ecn: int) -> int:
        """Put packet number `joined_packets` into the queue, and return how many are in it then.

        The caller has made sure that there is room and that all events until `now` have happened.
        The number is 0 if the capacity has ended and the packet was taken back.
        """
        raise NotImplementedError

    @abstractmethod
    def _occupancy(self) -> tuple[int, int]:
        """Return how many packets are in the queue, and their bytes."""

    def _enqueue(self, packet: Any, size: int, now: int) -> int:
        """Ask the discipline of a packet that would join; return its code point, -1: it is gone."""
        ecn = int(packet.ecn)
        self._ecn_packets[ecn] += 1
        assert self._discipline is not None
        offered = AtQueue(size, ecn, 0, *self._occupancy())
        verdict = self._discipline.enqueue(offered, now, self._queue_rng)
        return self._apply(verdict, packet, ecn)

    def _dequeue(self, waiting: LegPacket[T], now: int) -> bool:
        """Ask it of a packet that leaves the queue; False: it is dropped, and in `dropped`."""
        assert self._discipline is not None
        packets, size = self._occupancy()
        waited, others = now - waiting.pushed, size - waiting.size
        offered = AtQueue(waiting.size, waiting.ecn, waited, packets - 1, others)
        verdict = self._discipline.dequeue(offered, now, self._queue_rng)
        passes = self._apply(verdict, None if waiting.lost else waiting.packet, waiting.ecn) >= 0
        if not passes and not waiting.lost:
            self._dropped.append(waiting.packet)
            self._news = now
        return passes

    def _apply(self, verdict: Verdict, packet: Any, ecn: int) -> int:
        if verdict is Verdict.DROP:
            self._dropped_early += 1
            return -1
        if verdict is Verdict.PASS:
            return ecn
        self._marked += 1
        if packet is not None:
            packet.mark()
        return int(Ecn.CE)

    def _counted(self, air_packets: int) -> dict[str, Any]:
        """Return the counters and gauges that all legs with a queue have, by their names."""
        queue_packets, queue_bytes = self._occupancy()
        counters = {
            "pushed_packets": self._pushed_packets,
            "pushed_bytes": self._pushed_bytes,
            "delivered_packets": self._air.taken_packets,
            "delivered_bytes": self._air.taken_bytes,
            "dropped_queue": self._dropped_queue,
            "dropped_loss": self._air.lost_packets,
            "dropped_stop": self._dropped_stop,
            "dropped_flush": self._dropped_flush,
            "queue_packets": queue_packets,
            "queue_bytes": queue_bytes,
            "queue_max_packets": self._queue_max,
            "air_packets": air_packets,
        }
        if self._mtu is not None:
            counters["dropped_mtu"] = self._dropped_mtu
        if self._discipline is not None:
            counters |= {"dropped_early": self._dropped_early, "marked_packets": self._marked}
            names = "ect1_packets", "ect0_packets", "ce_packets"  # by their code points
            counters |= zip(names, self._ecn_packets[1:], strict=True)
        return counters


def queue_generators(rng: Random) -> tuple[Random, Random]:
    """Draw one seed from `rng`; return generators of losses and of the queue discipline."""
    seed = rng.getrandbits(64)
    return Random(seed), Random(seed + 1)
