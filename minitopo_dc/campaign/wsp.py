"""Space-filling points by the algorithm WSP.

Wootton, Sergent and Phan-Tan-Luu's selection, as described by Santiago, Claeys-Bruno and Sergent,
"Construction of space-filling designs using WSP algorithm for high dimensional spaces",
Chemometrics and Intelligent Laboratory Systems 113 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""One row per point, one column per dimension."""
CANDIDATES_PER_POINT = 40
"""10,000 candidates of eight dimensions leave 257 points at the least distance of the design in
"Multipath QUIC: Design and Evaluation", which has 253 (reference/mpquic_design_findings.csv)."""
_HALVINGS = 12
"""Halvings of the interval that holds the distance, until it is below the scatter of how many
points it leaves."""
_STEP = 5e-4
"""The relative step of the search below the distance, which changes the number of points by a
few."""
_STEPS = 20


@cache
def wsp(points: int, dimensions: int, *, seed: int, candidates: int | None = None) -> Points:
    """Return points in the unit cube, none of them near another.

    Of random candidates the one nearest to the centre is kept first. Then those nearer to it than
    some distance are dropped, the nearest of the others is kept, and so on. How many points a
    distance leaves scatters: a distance is searched that leaves as many as are asked for, or a few
    more; then one of the two points nearest to each other is removed until the number is right.

    Args:
        points: the number of points, at least 1.
        dimensions: the number of dimensions, at least 1.
        seed: the seed of the candidates.
        candidates: the number of candidates; None: 40 per point.

    Returns:
        The points in the order in which they were kept, `points` x `dimensions`; not to be changed.

    Raises:
        ValueError: fewer candidates than points.
    """
    count = CANDIDATES_PER_POINT * points if candidates is None else candidates
    if not 1 <= points <= count or dimensions < 1:
        raise ValueError(
            f"{points} points of {count} candidates in {dimensions} dimensions; allowed: at least "
            "one point and dimension, and as many candidates as points"
        )
    cloud = np.random.default_rng(seed).random((count, dimensions))
    enough = (_select(cloud, distance) for distance in _distances(cloud, points))
    rows = min((rows for rows in enough if len(rows) >= points), key=len)
    found = _thinned(cloud[rows], points)
    found.flags.writeable = False
    return found


def _distances(cloud: Points, points: int) -> Iterator[float]:
    """Yield distances that leave about so many points, beginning with one that leaves enough."""
    least, most = 0.0, math.sqrt(cloud.shape[1])
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if len(_select(cloud, middle)) < points:
            most = middle
        else:
            least = middle
    yield from (least / (1 + step * _STEP) for step in range(_STEPS))


def _thinned(found: Points, points: int) -> Points:
    """Return the points without the later one of the nearest two, until there are so many."""
    while len(found) > points:
        apart = ((found[:, None] - found[None]) ** 2).sum(axis=2)
        apart[np.tril_indices(len(found))] = np.inf
        found = np.delete(found, int(np.unravel_index(np.argmin(apart), apart.shape)[1]), axis=0)
    return found


def _select(cloud: Points, distance: float) -> list[int]:
    """Return the rows of the candidates that are kept."""
    left = np.arange(len(cloud))
    squared = ((cloud - 0.5) ** 2).sum(axis=1)
    kept: list[int] = []
    while len(left):
        nearest = int(np.argmin(squared))
        kept.append(int(left[nearest]))
        squared = ((cloud[left] - cloud[kept[-1]]) ** 2).sum(axis=1)
        far = squared >= distance**2
        far[nearest] = False  # also at a distance of 0
        left, squared = left[far], squared[far]
    return kept
