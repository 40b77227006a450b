"""Which legs of its bearer a split policy may choose from."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.pdcp.view import LegView


def candidates(size: int, now: int, views: Sequence[LegView]) -> list[int]:
    """Legs that may get an SDU of `size` bytes at `now`, ascending; empty: it had better wait.

    Those that move (are up, with a rate above 0) and take it. Where none moves, those that are up
    and take it: with a leg of rate 0 nothing would ever happen that ends the waiting. Where SDUs
    cannot wait and none takes it: those that move, else all.
    """
    taking = [leg for leg, view in enumerate(views) if view.takes(now, size)]
    moving = moving_legs(now, views)
    found = [leg for leg in taking if leg in moving]
    if not moving:
        found = [leg for leg in taking if leg in up_legs(views)]
    if found or views[0].may_wait:
        return found
    return moving or list(range(len(views)))


def moving_legs(now: int, views: Sequence[LegView]) -> list[int]:
    """Legs that are up with a rate above 0, ascending."""
    return [leg for leg, view in enumerate(views) if view.drain_ns(now) is not None]


def up_legs(views: Sequence[LegView]) -> list[int]:
    """Legs that are up, ascending."""
    return [leg for leg, view in enumerate(views) if view.is_up]
