"""Split policy `least-delay`: each PDU takes the leg on which it is expected to arrive first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policies.choice import candidates
from minitopo_dc.pdcp.policies.policy import split_policy
from minitopo_dc.pdcp.policies.view import LegView


def expected_ns(view: LegView, *, now: int, size: int) -> int | None:
    """Return the time (ns) until an SDU of `size` bytes is expected at the leg's end.

    That is the time to drain the leg's backlog and the SDU behind it at the leg's present rate, and
    the leg's mean delay. The PDCP header's 2 or 3 bytes, the same on each leg, and losses are left
    out. It is None where no time is known: the leg is down or its rate is 0.
    """
    drain = view.drain_ns(now=now, more=size)
    return None if drain is None else drain + view.mean_delay_ns


@split_policy("least-delay")
class LeastDelayPolicy:
    """Chooses the leg with the earliest expected arrival of the SDU, the lowest of equals.

    On a leg whose queue is full the SDU would never arrive: such a leg is taken only when all are
    full. A leg of which no time is known (it is down, or its rate is 0) is left out. When no leg is
    left the SDU takes the first: what waits on one leg needs no reordering when it comes, and of
    legs that do not move none is better.

    Where SDUs can wait it is earliest completion first (Lim et al., CoNEXT 2017): while the best
    leg does not take the SDU, the next best one that does is worth it only if the SDU arrives there
    no later than all that waits behind it would by the best leg alone. Else the SDU waits.
    """

    sees_legs: ClassVar[bool] = True
    __slots__ = ("_one",)

    def __init__(self, legs: int) -> None:
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and would arrive earlier by waiting."""
        if views[0].may_wait:
            return self._or_wait(size, now, views)
        best = 0
        least: tuple[bool, int] | None = None
        for leg, view in enumerate(views):
            delay = expected_ns(view, now=now, size=size)
            if delay is None:
                continue
            expected = (not view.has_room(now=now, size=size), delay)
            if least is None or expected < least:
                best, least = leg, expected
        return self._one[best]

    def _or_wait(self, size: int, now: int, views: Sequence[LegView]) -> tuple[int, ...]:
        delays = ((expected_ns(view, now=now, size=size), leg) for leg, view in enumerate(views))
        known = sorted((delay, leg) for delay, leg in delays if delay is not None)
        if not known:
            return tuple(candidates(views, now=now, size=size)[:1])
        found = next((each for each in known if views[each[1]].takes(now=now, size=size)), None)
        if found is None:
            return ()
        delay, leg = found
        best = views[known[0][1]]
        alone = expected_ns(best, now=now, size=size + best.pending_bytes)
        in_time = delay == known[0][0] or alone is None or delay <= alone
        return self._one[leg] if in_time else ()
