"""Split policy `credit`: each packet takes the leg whose node asks for the most bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policies.choice import candidates
from minitopo_dc.pdcp.policies.policy import PolicyError, split_policy
from minitopo_dc.pdcp.policies.view import LegView


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
