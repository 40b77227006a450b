"""Models of a number: planted causes are found, noise is known as such, effects have their form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.analysis.learning.factors import matrix, read_factors
from minitopo_dc.analysis.learning.local_effects import local_effects
from minitopo_dc.analysis.learning.regression import Regressed, noise_floor, regress

FACTORS = ["windows", "queueing", "capacity"]
NOISE = 0.1


def points(number: int, seed: int) -> pd.DataFrame:
    """Make points whose number grows with the logarithm of one factor, and with a level."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "windows": np.exp(random.uniform(0, 5, number)),
            "queueing": random.uniform(0, 3, number),
            "capacity": random.choice(["constant", "drive"], number),
        }
    )
    table["true"] = 0.3 * np.log(table["windows"]) + 0.4 * (table["capacity"] == "drive")
    table["ratio"] = table["true"] + random.normal(0, NOISE, number)
    return table


def regressed(table: pd.DataFrame, measure: str) -> Regressed:
    factors = read_factors(table, FACTORS, {})
    found = regress(matrix(table, factors), table[measure].to_numpy(), factors, 1)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def found() -> Regressed:
    return regressed(points(200, 1), "ratio")


def test_a_planted_cause_is_explained_as_far_as_noise_lets_it(found: Regressed) -> None:
    most = 1 - NOISE**2 / found.variance
    assert 0.8 < found.r2 < most
    assert found.r2_interval.low < most
    noise = NOISE * np.sqrt(2 / np.pi)
    assert noise < found.error < 2 * noise < found.constant


def test_the_importances_are_those_of_the_planted_factors(found: Regressed) -> None:
    clear = [each.factor.path for each in found.importances if each.is_clear]
    assert clear == ["windows", "capacity"]


def test_noise_is_explained_by_nothing() -> None:
    table = points(100, 2)
    table["noise"] = np.random.default_rng(3).normal(0, 1, 100)
    found = regressed(table, "noise")
    assert found.r2 < 0.05
    assert found.error > 0.95 * found.constant


def test_the_same_points_give_the_same_model() -> None:
    one, other = (regressed(points(40, 1), "ratio") for _ in range(2))
    assert (one.r2, one.error) == (other.r2, other.error)
    assert [each.mean for each in one.importances] == [each.mean for each in other.importances]
    assert (one.predict(one.values) == other.predict(other.values)).all()


def test_too_few_points_have_no_model() -> None:
    table = points(24, 1)
    factors = read_factors(table, FACTORS, {})
    assert regress(matrix(table, factors), table["ratio"].to_numpy(), factors, 1) is None
    assert regress(np.empty((100, 0)), np.zeros(100), [], 1) is None


def test_the_noise_floor_is_the_scatter_of_repetitions() -> None:
    random = np.random.default_rng(1)
    expected = random.normal(0, 3, 400)
    found = noise_floor(expected + random.normal(0, 0.2, (5, 400)))
    assert found.points == 400
    assert found.variance == pytest.approx(0.04, rel=0.1)
    assert found.error == pytest.approx(0.2 * np.sqrt(2 / np.pi), rel=0.1)
    assert found.most_r2(0.4) == pytest.approx(0.9, abs=0.02)


def test_a_point_with_one_repetition_has_no_scatter() -> None:
    found = noise_floor(np.array([[1.0, 5.0], [3.0, np.nan]]))
    assert (found.points, found.variance) == (1, 2.0)
    assert noise_floor(np.array([[1.0, 5.0]])).points == 0


def test_the_effect_of_a_factor_is_its_own_though_another_one_goes_with_it() -> None:
    """The answer falls with one column; the other one goes with it and has twice its effect."""
    random = np.random.default_rng(1)
    first = random.uniform(0, 1, 500)
    values = np.column_stack([first, first + random.normal(0, 0.05, 500)])

    def predict(asked: np.ndarray) -> np.ndarray:
        return np.asarray(-(asked[:, 0] ** 2) + 2 * asked[:, 1])

    found = local_effects(predict, values, 0)
    assert found is not None
    rises = found.effect - found.effect[0]
    assert rises == pytest.approx(-(found.at**2 - found.at[0] ** 2), abs=1e-9)


def test_an_effect_has_the_mean_zero_and_a_constant_none() -> None:
    values = np.linspace(0, 1, 81)[:, np.newaxis]
    found = local_effects(lambda asked: 3 * asked[:, 0], values, 0)
    assert found is not None
    middles = (found.effect[1:] + found.effect[:-1]) / 2
    assert float(middles.mean()) == pytest.approx(0, abs=0.02)
    assert local_effects(lambda asked: asked[:, 0], np.ones((5, 1)), 0) is None
