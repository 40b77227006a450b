"""Split policies that take the best leg for each packet: `least-delay`, `threshold`, `credit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from minitopo_dc.pdcp.policies.policy import PolicyError, checked_whole, split_policy
from minitopo_dc.pdcp.policies.view import LegView, candidates


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

    def __init__(self, legs: int) -> None:
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and would arrive earlier by waiting."""
        if views[0].may_wait:
            return self._or_wait(size, now, views)
        expected = [
            (not view.has_room(now=now, size=size), delay, leg)
            for leg, view in enumerate(views)
            if (delay := expected_ns(view, now=now, size=size)) is not None
        ]
        return self._one[min(expected)[2] if expected else 0]

    def _or_wait(self, size: int, now: int, views: Sequence[LegView]) -> tuple[int, ...]:
        delays = ((expected_ns(view, now=now, size=size), leg) for leg, view in enumerate(views))
        known = sorted((delay, leg) for delay, leg in delays if delay is not None)
        if not known:
            return tuple(candidates(views, now=now, size=size)[:1])
        taking = (way for way in known if views[way[1]].takes(now=now, size=size))
        if (first := next(taking, None)) is None:
            return ()
        delay, leg = first
        best = views[known[0][1]]
        alone = expected_ns(best, now=now, size=size + best.pending_bytes)
        in_time = delay == known[0][0] or alone is None or delay <= alone
        return self._one[leg] if in_time else ()


SPLIT_THRESHOLDS: Final = (
    *(0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 204_800, 409_600),
    *(819_200, 1_228_800, 1_638_400, 2_457_600, 3_276_800, 4_096_000, 4_915_200, 5_734_400),
    6_553_600,
)
"""UL-DataSplitThreshold of TS 38.331 (b0 to b6553600) in bytes; `infinity` beside them."""


@split_policy("threshold")
class ThresholdPolicy:
    """The primary leg until the threshold, then the leg of least expected delay.

    TS 38.323 clause 5.2.1: an SDU goes to the primary RLC entity unless the PDCP data volume and
    what waits for transmission in the RLC entities is equal to or larger than ul-DataSplitThreshold
    (TS 38.331), then to either. Volume is this SDU, those that wait behind it, and the backlogs of
    all legs, that of other bearers on them included. `least-delay` chooses beyond the threshold;
    where SDUs can wait, also while the primary leg is down (the standard would have them wait).
    """

    sees_legs: ClassVar[bool] = True

    def __init__(
        self,
        legs: int,
        *,
        primary: int = 1,  # TS 38.331 primaryPath; here the papers' leg of a client's address
        # Next above 50,000 bytes, what a leg of the thesis' default point holds (table 4.3: 20
        # Mbit/s and 20 ms there and back): beyond it more on this leg would only wait. The
        # standard's own default is infinity, no split at all.
        threshold_bytes: int | Literal["infinity"] = 51_200,
    ) -> None:
        self._primary = checked_whole("primary", primary, 1, legs) - 1
        self._threshold = _checked_threshold(threshold_bytes)
        self._any = LeastDelayPolicy(legs)
        self._one = (self._primary,)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and is to wait for the primary leg."""
        primary = views[self._primary]
        volume = size + primary.pending_bytes + sum(view.backlog_bytes(now=now) for view in views)
        reached = self._threshold is not None and volume >= self._threshold
        if reached or (primary.may_wait and not primary.is_up):
            return self._any.legs(now=now, size=size, views=views)
        # No leg is named: what waits may reach the threshold before the primary leg takes more.
        waits = primary.may_wait and not primary.takes(now=now, size=size)
        return () if waits else self._one


def _checked_threshold(threshold: int | str) -> int | None:
    """Return the threshold in bytes, None for infinity; raise PolicyError for any other value."""
    if threshold == "infinity":
        return None
    if isinstance(threshold, bool) or threshold not in SPLIT_THRESHOLDS:
        raise PolicyError(
            f"threshold_bytes is {threshold!r}, must be one of "
            f"{', '.join(map(str, SPLIT_THRESHOLDS))}, infinity"
        )
    return int(threshold)


@split_policy("credit")
class CreditPolicy:
    """Chooses the leg with the most credit, the lowest of equals.

    Credit is how many bytes a leg's node wants beyond what it was sent (TS 38.425 clause 5.4.2, the
    desired buffer size). Each node asks again for what it has passed on, so the legs share by their
    rates; as bytes and not parts of a buffer are compared, a burst begins where the buffer is
    largest. Where SDUs can wait, only a leg with a credit above 0 is taken; else the one that is
    least below 0.
    """

    sees_legs: ClassVar[bool] = True
    needs_flow_control: ClassVar[bool] = True

    def __init__(self, legs: int) -> None:
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and no leg has credit.

        Raises:
            PolicyError: no flow control says a leg's credit.
        """
        credits_bytes = {
            leg: _credit(leg, views[leg], now) for leg in candidates(views, now=now, size=size)
        }
        if views[0].may_wait:
            credits_bytes = {leg: left for leg, left in credits_bytes.items() if left > 0}
        if not credits_bytes:
            return ()
        return self._one[max(credits_bytes, key=credits_bytes.__getitem__)]


def _credit(leg: int, view: LegView, now: int) -> int:
    left = view.credit_bytes(now=now)
    if left is None:
        raise PolicyError(f"split policy 'credit': leg {leg + 1} of the bearer has no flow control")
    return left
