"""Candidate legs of a split policy, and a weighted round robin over them."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.pdcp.policies.view import LegView


class DeficitRoundRobin:
    """Smooth weighted round robin in bytes: the leg that lags its share most is next.

    Each packet is owed to the candidate legs in proportion to their weights, and is paid to one.
    What is owed adds up to 0, so a leg is never ahead or behind by more than a few packets,
    whatever their sizes. Deficits as in deficit round robin (Shreedhar and Varghese, SIGCOMM 1995),
    but of one queue over many links.
    """

    def __init__(self, legs: int) -> None:
        self._owed = [0.0] * legs

    def next_leg(self, size: int, weights: Sequence[float], legs: Sequence[int]) -> int:
        """Return the leg of `legs` whose turn it is, the lowest of equals, and change nothing."""
        total = sum(weights[leg] for leg in legs)
        return max(legs, key=lambda leg: self._owed[leg] + size * weights[leg] / total)

    def pay(self, size: int, weights: Sequence[float], legs: Sequence[int], paid: int) -> None:
        """Account for a packet of `size` bytes on leg `paid`; weights must not all be 0."""
        total = sum(weights[leg] for leg in legs)
        for leg in legs:
            self._owed[leg] += size * weights[leg] / total
        self._owed[paid] -= size


def candidates(views: Sequence[LegView], *, now: int, size: int) -> list[int]:
    """Return the legs that may get an SDU of `size` bytes at `now`, ascending; none: let it wait.

    These are the legs that move (are up, with a rate above 0) and take it. Where none moves, they
    are those that are up and take it, as nothing would ever end the waiting for a leg of rate 0.
    Where SDUs cannot wait and no leg takes it, they are those that move, else all.
    """
    taking = [leg for leg, view in enumerate(views) if view.takes(now=now, size=size)]
    moving = moving_legs(now, views)
    found = [leg for leg in taking if leg in moving]
    if not moving:
        found = [leg for leg in taking if leg in up_legs(views)]
    if found or views[0].may_wait:
        return found
    return moving or list(range(len(views)))


def moving_legs(now: int, views: Sequence[LegView]) -> list[int]:
    """Return the legs that are up with a rate above 0, ascending."""
    return [leg for leg, view in enumerate(views) if view.drain_ns(now=now) is not None]


def up_legs(views: Sequence[LegView]) -> list[int]:
    """Return the legs that are up, ascending."""
    return [leg for leg, view in enumerate(views) if view.is_up]
