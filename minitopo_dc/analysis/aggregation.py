"""What several paths gain over the best one of them."""

from __future__ import annotations

from collections.abc import Sequence


def aggregation_benefit(multipath: float, single: Sequence[float]) -> float:
    """The experimental aggregation benefit of De Coninck and Bonaventure (CoNEXT 2017).

    Args:
        multipath: goodput over all paths.
        single: goodput of the single-path protocol over each path alone, in the same unit.

    Returns:
        -1: nothing was delivered; 0: as much as over the best path; 1: as much as over all of them
        together, which can be exceeded.

    Raises:
        ValueError: fewer than two paths, or no path delivers anything.
    """
    best, together = max(single, default=0.0), sum(single)
    if len(single) < 2 or best <= 0:
        raise ValueError("needs two paths or more, and goodput over one of them")
    if multipath < best:
        return (multipath - best) / best
    rest = together - best
    # With nothing to be had from the others, as much as the best path is all.
    return (multipath - best) / rest if rest > 0 else 0.0
