"""A leg in a cell: RLC and HARQ of its own, in the slots that the cell's scheduler gives it.

It is a leg with RLC (`minitopo_dc.link.rlc.leg`), except that of a slot with work it has what the
cell gives it. Its capacity is that which it would have alone.
"""

from __future__ import annotations

from random import Random
from typing import Protocol, TypeVar

from minitopo_dc.link.any_leg import LegParameters
from minitopo_dc.link.models.capacity import RATE_WINDOW_NS, Capacity
from minitopo_dc.link.rlc.leg import RlcLeg
from minitopo_dc.link.rlc.parameters import RlcParameters

T = TypeVar("T")


class ServesSlots(Protocol):
    """The cell, as its legs see it."""

    def advance(self, now: int) -> None:
        """Serve all slots that have ended by `now` (ns)."""

    def start(self, now: int) -> None:
        """Let background users begin, and a slot with them."""


class CellLeg(RlcLeg[T]):
    """One direction of a leg in a cell, carrying packets of any type `T`."""

    __slots__ = ("_cell", "_share", "priority")

    def __init__(
        self,
        cell: ServesSlots,
        parameters: LegParameters,
        rlc: RlcParameters,
        capacity: Capacity,
        rng: Random,
        *,
        priority: int,
    ) -> None:
        super().__init__(parameters, rlc, capacity, rng)
        self._cell = cell
        self._share = 1.0
        self.priority = priority

    @property
    def waiting_bytes(self) -> int:
        """Return what waited at the last slot: not sent yet, or to be sent again."""
        return -(-(self._queue.unsent_bits + self._retransmissions.bits) // 8)

    def following(self, time: int) -> int:
        """Return the begin (ns) of the first slot that does not begin before `time`."""
        return self._slots.following(time)

    def start(self, now: int) -> None:
        """Start a slot, the capacity's time 0 and the cell's background at `now`."""
        super().start(now)
        self._cell.start(now)

    def rate_bps(self, *, now: int) -> int:
        """Return the rate (bit/s) that it has lately had, or could have had, in the cell.

        That is the capacity at `now` times the mean share of slots, by an exponential window of
        `RATE_WINDOW_NS`. With nothing to send its share is counted as the unused part of a slot, or
        as one part for each user that competes, if that is more.
        """
        return round(super().rate_bps(now=now) * self._share)

    def offers(self, begin: int) -> int:
        """Return the bits that the slot from `begin` (ns) on can carry of it, 0 without work."""
        return self._slots.bits(begin) if self._begin <= begin else 0

    def serve(self, begin: int, bits: int) -> int:
        """Send at most so many bits in that slot; return how many."""
        before = len(self._dropped)
        left = self._carry(begin, bits)
        if len(self._dropped) > before:
            self._news = begin + self._slots.length
        return bits - left

    def end_slot(self, begin: int, *, had: int, others: int, slot: int) -> None:
        """Go on to the next slot.

        Args:
            begin: of the slot that is over (ns).
            had: the time of it that this leg had, or that nobody did (ns).
            others: how many users competed for it.
            slot: its length (ns).
        """
        end = begin + slot
        if self._begin > begin:
            had = max(had, slot // (others + 1))
        elif had:
            self._free = end
            self._plan()
        else:  # others had it
            self._begin = self._free = end
            self._wake = min(end + slot, self._expiry())
        self._share += (had / slot - self._share) * slot / RATE_WINDOW_NS

    def _advance(self, now: int) -> None:
        """Let the cell serve all slots that have ended by `now` (ns)."""
        self._cell.advance(now)
        if self._wake <= now:
            before = len(self._dropped)
            self._discard(now)
            self._plan()
            if len(self._dropped) > before:
                self._news = now
