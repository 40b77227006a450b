"""Queue disciplines: which packets of a leg's queue are marked or dropped, and which one is next.

A discipline is a class, registered under the name that scenarios use, whose constructor takes its
parameters by keyword::

    @queue_discipline("head-limit")
    class HeadLimit(QueueDiscipline):
        def __init__(self, *, limit_ms: float = 50.0) -> None:
            (self._limit_ns,) = nanoseconds(limit_ms=limit_ms)

        def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
            return congested(packet) if packet.waited > self._limit_ns else Verdict.PASS

The queue's limits hold before it: a packet for which there is no room is dropped without a
question. Time is an argument (ns), and randomness comes from the generator that is given.

The disciplines by the queue's length are here, too: a step, and random early detection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from minitopo_dc.registry import Registry
from minitopo_dc.units import NS_PER_MS

T = TypeVar("T")
DROP_TAIL = "drop-tail"
"""The queue without a discipline."""


class Ecn(IntEnum):
    """The code points of the ECN field (RFC 3168, section 5)."""

    NOT_ECT, ECT_1, ECT_0, CE = range(4)


class Verdict(IntEnum):
    """What becomes of a packet, by the numbers of `link/link.h`."""

    PASS, MARK, DROP = range(3)


class AtQueue(NamedTuple):
    """A packet that joins the queue or is about to leave it.

    Attributes:
        size: bytes.
        ecn: its code point (`Ecn`).
        waited: ns since it joined the queue.
        queue_packets: how many are in the queue without it, with the one in service.
        queue_bytes: theirs.
    """

    size: int
    ecn: int
    waited: int
    queue_packets: int
    queue_bytes: int


@dataclass(slots=True, eq=False)
class LegPacket(Generic[T]):
    """A packet on a leg, from the queue to the other end.

    Attributes:
        packet: whatever was pushed.
        size: bytes.
        number: from 1 on, of those that joined the queue.
        pushed: when it joined, ns.
        lost: whether it will be lost on the air.
        ecn: its code point, as of when it joined.
        arrival: when it arrives at the other end (ns), once it is in propagation.
    """

    packet: T
    size: int
    number: int
    pushed: int
    lost: bool
    ecn: int = 0
    arrival: int = 0


class QueueDiscipline:
    """A discipline without any effect; subclasses say what they do. A leg uses a copy of it."""

    numbers: tuple[Any, ...] = ()
    """Its parameters for a twin in C, if it has one; times in ns."""
    reorders: ClassVar[bool] = False
    """Whether `choose` may name another packet than the first one."""

    def enqueue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return what becomes of a packet that would join the queue at `now` (ns)."""
        return Verdict.PASS

    def choose(self, queue: Sequence[LegPacket[Any]], now: int) -> int:  # noqa: ARG002
        """Return the index of the packet that is to be served next; the queue is not empty."""
        return 0

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return what becomes of the chosen packet; after `DROP` the next one is chosen."""
        return Verdict.PASS


def congested(packet: AtQueue) -> Verdict:
    """Return how a packet tells of congestion: by a mark where it can (RFC 3168, section 5)."""
    return Verdict.MARK if packet.ecn else Verdict.DROP


_DISCIPLINES: Registry[Callable[..., QueueDiscipline | None]] = Registry(
    "queue discipline",
    "minitopo_dc.queue_disciplines",
    (__name__, "minitopo_dc.link.codel", "minitopo_dc.link.pie"),
)
queue_discipline = _DISCIPLINES.adding
"""Return a class decorator that makes a class known as the queue discipline of a name."""
make_discipline: Callable[[str, Mapping[str, Any]], QueueDiscipline | None] = _DISCIPLINES.make
"""Return a new discipline of a name, of parameters by theirs; None for drop-tail.

InputError: one of them is wrong, or an entry point of this kind is broken.
"""


def number(name: str, value: object, low: float, high: float = math.inf) -> float:
    """Return a parameter that has to be above `low` and at most `high`.

    Raises:
        ValueError: it is not.
    """
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not low < float(value) <= high or math.isinf(float(value)):  # type: ignore[arg-type]
        allowed = f"> {low:g}" if high == math.inf else f"> {low:g} and <= {high:g}"
        raise ValueError(f"{name} is {value!r}, must be a number {allowed}")
    return float(value)  # type: ignore[arg-type]


def nanoseconds(**times: object) -> tuple[int, ...]:
    """Return times in ms, at most an hour, as ns; ValueError if one is none or not above 0."""
    return tuple(round(number(*it, 0, 3_600_000) * NS_PER_MS) for it in times.items())


@queue_discipline(DROP_TAIL)
def drop_tail() -> None:
    """Return None, as this queue has no discipline."""


MEAN_PACKET_MS = 0.6
"""1,500 bytes at 20 Mbit/s, the papers' leg (thesis, table 4.3)."""


@queue_discipline("step")
class Step(QueueDiscipline):
    """Tells of congestion by every packet that has waited longer than a threshold.

    As the step of RFC 9331, section 5.2, and as DCTCP's K (RFC 8257, section 3.1) at a fixed rate.

    Args:
        threshold_ms: 1 ms is the default of DualPI2 in Linux (net/sched/sch_dualpi2.c).
    """

    def __init__(self, *, threshold_ms: float = 1.0) -> None:
        self.numbers = nanoseconds(threshold_ms=threshold_ms)

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return whether the packet has waited too long."""
        return congested(packet) if packet.waited > self.numbers[0] else Verdict.PASS


@queue_discipline("red")
class Red(QueueDiscipline):
    """Random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993).

    The average queue in packets, a moving one, decides: below `minimum_packets` none is marked,
    from `maximum_packets` on each is dropped, between them the probability grows to `probability`
    and marks are spread evenly. While the queue is idle the average falls as if packets of
    `mean_packet_ms` had come.

    Args:
        minimum_packets: 5, as in the paper's simulations.
        maximum_packets: 15, three times that, by Floyd's "RED: Discussions of setting parameters".
        probability: 0.1, ibid.
        weight: of a new sample, 0.002, as in the paper.
        mean_packet_ms: the time that a packet takes.
    """

    def __init__(
        self,
        *,
        minimum_packets: float = 5.0,
        maximum_packets: float = 15.0,
        probability: float = 0.1,
        weight: float = 0.002,
        mean_packet_ms: float = MEAN_PACKET_MS,
    ) -> None:
        low = number("minimum_packets", minimum_packets, 0)
        self.numbers = (
            *(low, number("maximum_packets", maximum_packets, low)),
            *(number("probability", probability, 0, 1), number("weight", weight, 0, 1)),
            *nanoseconds(mean_packet_ms=mean_packet_ms),
        )
        self.average = 0.0
        """Of the queue, in packets."""
        self._count = -1  # packets since the latest mark
        self._idle_since: int | None = None

    def enqueue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
        """Return what the average says of a packet that joins."""
        low, high, probability, _, _ = self.numbers
        self._average(packet.queue_packets, now)
        if self.average < low:
            self._count = -1
            return Verdict.PASS
        if self.average >= high:
            self._count = 0
            return Verdict.DROP
        self._count += 1
        base = probability * (self.average - low) / (high - low)
        if self._count * base < 1 and rng.random() >= base / (1 - self._count * base):
            return Verdict.PASS
        self._count = 0
        return congested(packet)

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Notice when the queue runs empty."""
        self._idle_since = None if packet.queue_packets else now
        return Verdict.PASS

    def _average(self, waiting: int, now: int) -> None:
        *_, weight, mean = self.numbers
        if waiting or self._idle_since is None:
            self.average = (1 - weight) * self.average + weight * waiting
        else:
            self.average *= (1 - weight) ** ((now - self._idle_since) / mean)
