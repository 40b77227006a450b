"""Split policy `least-delay`: each PDU takes the leg on which it is expected first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policy import split_policy
from minitopo_dc.pdcp.view import LegView


@split_policy("least-delay")
class LeastDelayPolicy:
    """The leg with the least expected arrival of the SDU, the lower one of equals.

    Expected: the time to drain the leg's backlog and the SDU behind it at the leg's present rate,
    and the leg's mean delay. On a leg whose queue is full the SDU would never arrive: such a leg is
    taken only when all are full. A leg of which no time is known (it is down, or its rate is 0) is
    left out. When no leg is left the SDU takes the first: what waits on one leg needs no
    reordering when it comes, and of legs that do not move none is better.

    The PDCP header's 2 or 3 bytes, the same on each leg, are not in the sum, nor are losses.
    """

    sees_legs: ClassVar[bool] = True
    __slots__ = ("_one",)

    def __init__(self, legs: int) -> None:
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, size: int, now: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """One leg."""
        best = 0
        least: tuple[bool, int] | None = None
        for leg, view in enumerate(views):
            drain = view.drain_ns(now, size)
            if drain is None:
                continue
            expected = (not view.has_room(now, size), drain + view.mean_delay_ns)
            if least is None or expected < least:
                best, least = leg, expected
        return self._one[best]
