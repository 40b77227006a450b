"""The slots of a leg with RLC, how many bits each carries, and HARQ of the blocks sent in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.rlc.parameters import RlcParameters, TddPattern
from minitopo_dc.link.rlc.sdus import Segment


class Slots:
    """Slots of equal length, counted from a leg's start; times are ns.

    A slot carries what its capacity passes from its begin to its end, to the bit: what rounding
    takes from one slot is in the next. With a TDD pattern the capacity is its mean: what passes in
    a period is divided among the slots of the direction by their symbols.
    """

    def __init__(self, capacity: Capacity, rlc: RlcParameters, zero: int) -> None:
        """Make the grid; `zero` is time 0 of the capacity, which it owns."""
        self._rlc = rlc
        self._tdd = rlc.tdd or TddPattern()
        self.length = rlc.slot_ns
        self._period = self.length * len(self._tdd.slots)
        self.anchor(zero, capacity)

    def anchor(self, zero: int, capacity: Capacity | None = None) -> None:
        """Let the pattern have its phase at `zero` (ns); another capacity counts from there."""
        self.zero = zero
        if capacity is not None:
            self._capacity = capacity
        self._at = self._origin  # of the last look, and the bits from time 0 to it
        self._work = self._bits_until(self._at)

    def following(self, time: int) -> int:
        """Return the begin (ns) of the first slot of the direction not before `time`."""
        begin = time + (self._origin - time) % self.length
        return begin + self._tdd.skips[self._place(begin)] * self.length

    def requested(self, time: int) -> int:
        """Return the first occasion (ns) of a scheduling request that is not before `time`."""
        if not self._rlc.sr_ns:
            return time
        first = self._origin + self._tdd.request_slot * self.length
        return time + (first - time) % self._rlc.sr_ns

    def heard(self, time: int, active: int) -> int:
        """Return when a terminal of DRX listens from `time` on, active last at `active` (ns)."""
        if self._rlc.drx is None:
            return time
        return self._origin + self._rlc.drx.listens(time - self._origin, active - self._origin)

    def again(self, begin: int) -> int:
        """Return when a block of the slot that begins at `begin` may be sent again (ns)."""
        if self._rlc.tdd is None:
            return begin + self._rlc.harq_rtt_ns
        return begin + self._tdd.rounds[self._place(begin)] * self.length

    def bits(self, begin: int) -> int:
        """Return how many bits the slot that begins at `begin` carries."""
        work = self._work if begin == self._at else self._bits_until(begin)
        self._at = begin + self.length
        self._work = self._bits_until(self._at)
        return self._work - work

    def carrying(self, begin: int) -> int | None:
        """Return the begin of the first slot from `begin` on that carries a bit, or None."""
        work = self._bits_until(begin)
        if self._bits_until(begin + self.length) > work:
            return begin
        through = copy(self._capacity).finish(self._capacity_time(begin), 1)
        if through is None:
            return None
        low, high = 2, (through + self.zero + self._period - begin) // self.length + 1
        while low < high:
            middle = (low + high) // 2
            if self._bits_until(begin + middle * self.length) > work:
                high = middle
            else:
                low = middle + 1
        return begin + (low - 1) * self.length

    def rate_at(self, time: int) -> int:
        """Return the capacity's rate in bit/s at a moment (ns), the mean of a TDD pattern."""
        return self._capacity.rate_at(time - self.zero)

    @property
    def _origin(self) -> int:
        """Return the begin of a pattern (ns)."""
        return self.zero - self._rlc.phase_ns

    def _place(self, begin: int) -> int:
        """Return the number in its pattern of the slot that begins at `begin`."""
        return (begin - self._origin) // self.length % len(self._tdd.slots)

    def _capacity_time(self, begin: int) -> int:
        """Return the capacity's time at the begin of a slot.

        It runs while slots of the direction do, at most a period ahead or behind.
        """
        if self._rlc.tdd is None:
            return begin - self.zero
        before, into = self._tdd.before, (begin - self._origin) % self._period
        passed = self._period * before[into // self.length] // before[-1]
        return begin - into + passed - self.zero

    def _bits_until(self, time: int) -> int:
        return self._capacity.bits_between(0, self._capacity_time(time))


T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Block(Generic[T]):
    """A transport block and what became of it."""

    segments: Sequence[Segment[T]]
    first: int
    """When its first transmission began, ns."""
    fate: float
    """Uniform in [0, 1): a transmission fails where it is below the error probability."""
    missed: int | None = None
    """When the slot began by which the receiver knows that it lacks the block, ns."""
    retransmissions: int = 0
    due: int = 0
    """When it may be sent next, once it is to be sent again."""
    unsent: int = 0
    """Bits of its current retransmission that no slot has carried."""

    @property
    def bits(self) -> int:
        """Return the bits of its segments."""
        return sum(bits for _, bits in self.segments)


class Harq(Generic[T]):
    """The blocks of one direction that are not decoded yet.

    One draw decides all of a block's transmissions: below the error probability p it is uniform in
    [0, p), so that its quotient by p is a fresh draw. Thus the k-th block has the k-th draw,
    whenever its transmissions come.
    """

    def __init__(self, parameters: RlcParameters, rng: Random) -> None:
        self.error = parameters.block_error
        self._limit = parameters.harq_retransmissions
        self._rng = rng
        self._waiting: deque[Block[T]] = deque()  # in order of `due`
        self.blocks = self.retries = self.failures = 0
        """Counts of new blocks, of retransmissions, and of blocks given up."""

    def first_due(self) -> int | None:
        """Return when the next retransmission may be sent (ns), None if there is none."""
        return self._waiting[0].due if self._waiting else None

    def resend(self, room: int, begin: int) -> tuple[list[Block[T]], int]:
        """Use a slot of `room` bits for the retransmissions that are due at its `begin` (ns).

        Returns:
            Those sent to the end in it, and the room left. One that does not fit goes on in the
            next slot.
        """
        waiting = self._waiting
        sent = []
        while room and waiting and waiting[0].due <= begin:
            block = waiting[0]
            bits = min(room, block.unsent)
            block.unsent -= bits
            room -= bits
            if not block.unsent:
                self.retries += 1
                block.retransmissions += 1
                sent.append(waiting.popleft())
        return sent, room

    def new_block(self, segments: Sequence[Segment[T]], begin: int) -> Block[T]:
        """Return a new block of these segments, sent in the slot that begins at `begin` (ns)."""
        self.blocks += 1
        return Block(segments, begin, self._rng.random())

    def decodes(self, block: Block[T]) -> bool:
        """Return whether a transmission of a block was decoded."""
        if block.fate >= self.error:
            return True
        block.fate /= self.error
        return False

    def repeat(self, block: Block[T], due: int) -> bool:
        """Send a block that was not decoded again, from `due` (ns) on; False: it is given up."""
        if block.retransmissions == self._limit:
            self.failures += 1
            return False
        block.unsent, block.due = block.bits, due
        self._waiting.append(block)
        return True

    def miss(self, before: int, begin: int) -> None:
        """Let the receiver miss what was sent first before a moment, by the slot at `begin`."""
        for block in self._waiting:
            if block.first < before and block.missed is None:
                block.missed = begin

    def purge(self) -> None:
        """Forget the blocks that carry nothing any more."""
        waiting = self._waiting
        self._waiting = deque(it for it in waiting if not all(sdu.gone for sdu, _ in it.segments))
