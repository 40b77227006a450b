"""The fit of the synthetic drives: its method, and what it is fitted to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minitopo_dc.trace import ENVIRONMENTS, Capacities
from tests.studies.digests import module

fit = module("cellular", "fit")
STEPS = fit.STEPS


def test_the_least_of_a_tilted_valley_is_found() -> None:
    def valley(place: np.ndarray) -> float:
        x, y = place
        return float((x + y - 3) ** 2 + 100 * (x - y) ** 2)

    assert fit.least(valley, np.zeros(2), 200) == pytest.approx([1.5, 1.5], abs=0.05)


def test_parameters_are_encoded_and_decoded() -> None:
    base = ENVIRONMENTS["entire"]
    parameters = fit.Parameters(base, tuple(STEPS))
    assert parameters.decode(parameters.encode()) == base


def test_only_the_difference_of_the_operators_power_is_fitted() -> None:
    base = ENVIRONMENTS["entire"]
    parameters = fit.Parameters(base, ("power_dbm",))
    moved = parameters.decode(parameters.encode() + 1)
    second = float(f"{base.power_dbm[1] + STEPS['power_dbm']:.4g}")
    assert moved == replace(base, power_dbm=(base.power_dbm[0], second))


def test_the_targets_are_the_published_tables() -> None:
    assert fit.published_cells("entire") == 2.97
    assert fit.published_capacity()["Multipath"][0] == 46.15
    single, gains = fit.published_gains("residential")
    assert single == pytest.approx(13.42, abs=0.005)
    assert [round(gain * single, 2) for gain in gains] == [20.49, 23.29, 25.38]


def test_the_sum_of_the_best_channels_is_of_each_second() -> None:
    two = Capacities("d", ("A", "B"), ((1.0, 4.0), (3.0, 0.0)), (("", ""), ("", "")))
    assert fit.best_sums(two) == [3.5, 4.0]
