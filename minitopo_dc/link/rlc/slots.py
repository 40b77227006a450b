"""The grid of a leg's slots, and how many bits each of them carries."""

from __future__ import annotations

from copy import copy

from minitopo_dc.link.models.capacity import Capacity


class Slots:
    """Slots of equal length, counted from a leg's start; times are ns.

    A slot carries what its capacity passes from its begin to its end, to the bit: what rounding
    takes from one slot is in the next.
    """

    __slots__ = ("_at", "_capacity", "_work", "length", "zero")

    def __init__(self, capacity: Capacity, length: int, zero: int) -> None:
        """Make the grid; the begin of slot 0, `zero`, is time 0 of the capacity, which it owns."""
        self.length = length
        self.anchor(zero, capacity)

    def anchor(self, zero: int, capacity: Capacity | None = None) -> None:
        """Let slot 0 begin at `zero` (ns); another capacity, if given, counts from there."""
        self.zero = zero
        if capacity is not None:
            self._capacity = capacity
        self._at = zero  # of the last look, and the bits from time 0 to it
        self._work = 0

    def following(self, time: int) -> int:
        """Return the begin (ns) of the first slot that does not begin before `time`."""
        return time + (self.zero - time) % self.length

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
        through = copy(self._capacity).finish(begin - self.zero, 1)
        if through is None:
            return None
        low, high = 2, (through + self.zero - begin) // self.length + 1
        while low < high:
            middle = (low + high) // 2
            if self._bits_until(begin + middle * self.length) > work:
                high = middle
            else:
                low = middle + 1
        return begin + (low - 1) * self.length

    def rate_at(self, time: int) -> int:
        """Return the capacity's rate in bit/s at a moment (ns)."""
        return self._capacity.rate_at(time - self.zero)

    def _bits_until(self, time: int) -> int:
        return self._capacity.bits_between(0, time - self.zero)
