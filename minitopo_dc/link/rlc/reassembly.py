"""The receiving half of a leg with RLC: reassembly of SDUs, order, and propagation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Generic, TypeVar

from minitopo_dc.link.models.delay import DelayModel
from minitopo_dc.link.models.propagation import OrderedPropagation, ReorderingPropagation
from minitopo_dc.link.rlc.segments import Sdu, Segment

T = TypeVar("T")


class Reassembly(Generic[T]):
    """SDUs from the moment they join the leg's queue until they arrive or are dropped.

    Args:
        delay: of propagation.
        rng: draws the delays, the k-th for the k-th SDU delivered.
        in_order: whether an SDU that is complete waits for those before it.
        reorder: whether propagation lets packets overtake each other.
    """

    __slots__ = ("_active", "_in_order", "_rng", "air", "delay", "dropped_loss", "settled")

    def __init__(self, delay: DelayModel, rng: Random, *, in_order: bool, reorder: bool) -> None:
        self._in_order = in_order
        self._rng = rng
        # In order of joining: SDUs neither delivered nor dropped, and some that are.
        self._active: deque[Sdu[T]] = deque()
        self.delay = delay
        self.air: OrderedPropagation[T] | ReorderingPropagation[T]
        """What is in propagation."""
        self.air = ReorderingPropagation() if reorder else OrderedPropagation()
        self.settled = 0
        """SDUs delivered or dropped."""
        self.dropped_loss = 0
        """SDUs lost behind the radio."""

    def expect(self, sdu: Sdu[T]) -> None:
        """Note that an SDU joins the leg's queue."""
        self._active.append(sdu)

    def forget_last(self) -> None:
        """Forget the SDU that joined last, as it was taken back."""
        self._active.pop()

    def pending(self, which: Callable[[T], bool]) -> list[Sdu[T]]:
        """Return the SDUs neither complete nor dropped for whose packet `which` is true."""
        return [sdu for sdu in self._active if sdu.pending and which(sdu.packet)]

    def give_up(self, sdu: Sdu[T]) -> None:
        """Drop an SDU, which will never arrive."""
        sdu.gone = True
        self.settled += 1

    def receive(self, segments: Iterable[Segment[T]], now: int) -> None:
        """Take in the segments of a block that was decoded at `now` (ns)."""
        for sdu, bits in segments:
            sdu.missing -= bits
            if not sdu.missing and not sdu.gone:
                sdu.complete = True
                if not self._in_order:
                    self._deliver(sdu, now)

    def release(self, now: int) -> None:
        """Remove from the front what is complete or dropped; in order, this delivers it."""
        active = self._active
        while active and not active[0].pending:
            sdu = active.popleft()
            if sdu.complete and self._in_order:
                self._deliver(sdu, now)

    def _deliver(self, sdu: Sdu[T], now: int) -> None:
        self.settled += 1
        if sdu.lost:
            self.dropped_loss += 1
        else:
            self.air.put((now + self.delay.sample(self._rng), sdu.size, sdu.packet))
