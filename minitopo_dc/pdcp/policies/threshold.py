"""Split policy `threshold`: packets take the primary leg until the data volume reaches a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from minitopo_dc.pdcp.policies.least_delay import LeastDelayPolicy
from minitopo_dc.pdcp.policies.policy import PolicyError, checked_whole, split_policy
from minitopo_dc.pdcp.policies.view import LegView

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
        self._primary = checked_whole("threshold", "primary", primary, 1, legs) - 1
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
            f"split policy 'threshold': threshold_bytes is {threshold!r}, must be one of "
            f"{', '.join(map(str, SPLIT_THRESHOLDS))}, infinity"
        )
    return int(threshold)
