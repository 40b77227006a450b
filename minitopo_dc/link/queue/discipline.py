"""Queue disciplines: which packets of a leg's queue are marked or dropped, and which one is next.

A discipline is a class, registered under the name that scenarios use, whose constructor takes its
parameters by keyword::

    @queue_discipline("head-limit")
    class HeadLimit(QueueDiscipline):
        def __init__(self, *, limit_ms: float = 50.0) -> None:
            self._limit_ns = nanoseconds("limit_ms", limit_ms)

        def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
            return congested(packet) if packet.waited > self._limit_ns else Verdict.PASS

The queue's limits hold before it: a packet for which there is no room is dropped without a
question. Time is an argument (ns), and randomness comes from the generator that is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from random import Random
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.registry import Registry, UnknownNameError
from minitopo_dc.units import NS_PER_MS

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


Waiting = tuple[Any, int, bool, int, int, int]
"""A packet in the queue, its bytes, whether it will be lost on the air, its number from 1 on, when
it joined (ns), and its code point. A plain tuple, as there is one for each packet of a leg."""


class Ecned(Protocol):
    """A packet with an ECN field, as legs with a discipline carry them."""

    @property
    def ecn(self) -> int:
        """Return its code point (`Ecn`)."""

    def mark(self) -> None:
        """Set its code point to Congestion Experienced."""


class QueueDiscipline:
    """A discipline without any effect; subclasses say what they do. A leg uses a copy of it."""

    numbers: tuple[Any, ...] = ()
    """Its parameters for a twin in C, if it has one; times in ns."""
    reorders: ClassVar[bool] = False
    """Whether `choose` may name another packet than the first one."""

    def enqueue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return what becomes of a packet that would join the queue at `now` (ns)."""
        return Verdict.PASS

    def choose(self, queue: Sequence[Waiting], now: int) -> int:  # noqa: ARG002
        """Return the index of the packet that is to be served next; the queue is not empty."""
        return 0

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return what becomes of the chosen packet; after `DROP` the next one is chosen."""
        return Verdict.PASS


def congested(packet: AtQueue) -> Verdict:
    """Return how a packet tells of congestion: by a mark where it can (RFC 3168, section 5)."""
    return Verdict.MARK if packet.ecn else Verdict.DROP


class DisciplineError(MinitopoDcError, ValueError):
    """Error: an unknown queue discipline, or wrong parameters of one; the message says which."""


DisciplineClass = TypeVar("DisciplineClass", bound=Callable[..., QueueDiscipline])
_DISCIPLINES: Registry[Callable[..., QueueDiscipline]] = Registry(
    "queue discipline",
    "minitopo_dc.queue_disciplines",
    tuple(
        f"minitopo_dc.link.queue.{name}"
        for name in ("marking", "codel", "fq_codel", "pie", "dualpi2")
    ),
)


def queue_discipline(name: str) -> Callable[[DisciplineClass], DisciplineClass]:
    """Return a class decorator that makes a class known as queue discipline `name`.

    Raises:
        ValueError: the name is taken.
    """
    return _DISCIPLINES.adding(name)


def make_discipline(name: str, /, **parameters: Any) -> QueueDiscipline | None:
    """Return a new discipline of this name; None for drop-tail.

    Raises:
        DisciplineError: no such discipline, a parameter that it does not have, or one that it
            refuses.
        PluginError: an entry point of this kind is broken.
    """
    if name == DROP_TAIL:
        if parameters:
            raise DisciplineError(f"queue discipline {name!r} has no parameters")
        return None
    try:
        made: QueueDiscipline = _DISCIPLINES.make(name, parameters, DisciplineError)
    except UnknownNameError as error:
        raise DisciplineError(f"{error}, {DROP_TAIL}") from None
    return made


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


def nanoseconds(name: str, milliseconds: object) -> int:
    """Return a time in ms, at most an hour, as ns; ValueError if it is none or not above 0."""
    return round(number(name, milliseconds, 0, 3_600_000) * NS_PER_MS)
