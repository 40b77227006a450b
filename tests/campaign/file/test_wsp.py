"""Points of WSP: how many, how far apart, where."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.campaign.wsp import Points, wsp

SEED_OF_DESIGN = 1


def least_distance(points: Points) -> float:
    """Of any two of the points."""
    squared = [
        float(((points[index + 1 :] - point) ** 2).sum(axis=1).min())
        for index, point in enumerate(points[:-1])
    ]
    return math.sqrt(min(squared, default=math.inf))


def test_the_design_of_the_papers_size_fills_the_space() -> None:
    points = wsp(253, 8, seed=SEED_OF_DESIGN)
    assert points.shape == (253, 8)
    assert least_distance(points) >= 0.63
    assert points.min(axis=0).max() <= 0.01
    assert points.max(axis=0).min() >= 0.99


def test_the_same_seed_gives_the_same_points() -> None:
    first = wsp(20, 3, seed=7).copy()
    wsp.cache_clear()
    assert np.array_equal(first, wsp(20, 3, seed=7))
    assert not np.array_equal(first, wsp(20, 3, seed=8))


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_there_are_as_many_points_as_asked_for_all_in_the_unit_cube(
    points: int, dimensions: int, seed: int
) -> None:
    made = wsp(points, dimensions, seed=seed)
    assert made.shape == (points, dimensions)
    assert made.min() >= 0
    assert made.max() < 1
    assert least_distance(made) > 0


def test_points_are_further_apart_than_random_ones() -> None:
    random = np.random.default_rng(1).random((50, 4))
    assert least_distance(wsp(50, 4, seed=1)) > 3 * least_distance(random)


def test_the_first_point_is_the_candidate_nearest_to_the_centre() -> None:
    cloud = np.random.default_rng(5).random((400, 2))
    nearest = cloud[((cloud - 0.5) ** 2).sum(axis=1).argmin()]
    assert np.array_equal(wsp(10, 2, seed=5)[0], nearest)


def test_more_points_than_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="10 points of 9 candidates"):
        wsp(10, 2, seed=1, candidates=9)
