"""Split policy `credit`: what the legs' nodes ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policies.choice import candidates
from minitopo_dc.pdcp.policies.policy import PolicyError, split_policy
from minitopo_dc.pdcp.policies.view import LegView


@split_policy("credit")
class CreditPolicy:
    """The leg with the most credit, the lower one of equals.

    Credit is what a leg's node wants beyond what it was sent (TS 38.425 clause 5.4.2, the desired
    buffer size). Each node asks again for what it has passed on, so the legs share by their rates;
    to compare bytes, not shares of a buffer, has a burst begin where the buffer is largest. Where
    SDUs can wait, a leg needs credit above 0, else the one that is least below 0 is taken.
    """

    sees_legs: ClassVar[bool] = True
    needs_flow_control: ClassVar[bool] = True

    def __init__(self, legs: int) -> None:
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """One leg; none where the SDU can wait, and no leg has credit.

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
