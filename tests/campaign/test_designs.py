"""Space-filling designs: the points of the YAML campaigns, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from minitopo_dc import InputError
from minitopo_dc.campaign import grid, latin_hypercube, points_of, sobol, spread, wsp

FACTORS: dict[str, Any] = {"rate": (4, 100, "log"), "share": (0.5, 0.95), "loss": [0, 0.1, 1]}


def test_a_grid_varies_its_last_factor_fastest() -> None:
    assert [*grid(a=(1, 2), b="xy")] == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


# The values of commit b4e897d, whose results were published.
@pytest.mark.parametrize(
    ("points", "last"),
    [
        (sobol(6, FACTORS), {"point": 6, "rate": 20.785, "share": 0.838407, "loss": 0.1}),
        (
            latin_hypercube(6, FACTORS, seed=7),
            {"point": 6, "rate": 71.9615, "share": 0.89921, "loss": 0.1},
        ),
        (wsp(6, FACTORS, seed=2), {"point": 6, "rate": 96.5158, "share": 0.933573, "loss": 1}),
    ],
)
def test_points_are_those_of_the_published_designs(
    points: list[dict[str, Any]], last: dict[str, Any]
) -> None:
    assert len(points) == 6
    assert points[-1] == last
    assert sobol(512, FACTORS)[:64] == sobol(64, FACTORS)  # the first points are a design, too
    assert spread(range(10), 3) == [0, 3, 6]
    assert spread([1, 2], 5) == [1, 2]


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        ((2, 1), "low below high"),
        ((0, 1, "log"), "low above 0"),
        ([], "a list of one level or more"),
        ((1, 2, "cubic"), "allowed"),
    ],
)
def test_a_factor_without_a_range_is_refused(factor: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"factor x: .*{words}"):
        sobol(4, {"x": factor})
    with pytest.raises(InputError, match="0 points, 1 factors; allowed: 1 or more of each"):
        sobol(0, {"x": (0, 1)})


@given(st.integers(1, 20), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_points_of_wsp_are_as_many_as_asked_for_and_apart(
    points: int, factors: int, seed: int
) -> None:
    values = unit_wsp(points, factors, seed)
    assert values.shape == (points, factors)
    assert 0 <= values.min() <= values.max() <= 1
    assert min(pdist(values), default=1) > 0
    random = np.random.default_rng(1).random((50, 4))
    assert min(pdist(unit_wsp(50, 4, 1))) > 3 * min(pdist(random))


def unit_wsp(points: int, factors: int, seed: int) -> Any:
    """Return the points of WSP in the unit cube, a row each."""
    design = wsp(points, dict.fromkeys("abcd"[:factors], (0, 1)), seed=seed)
    return pd.DataFrame(design).drop(columns="point").to_numpy()


def test_points_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("case,rate,delay\na,10,5\nb,20,5\na,30,50\n")
    columns = {"rate_mbps": ("rate", 1, 100), "delay_ms": ("delay", 0, 100)}
    assert points_of(path, columns, where={"case": "a"}) == [
        {"point": 1, "rate_mbps": 10.0, "delay_ms": 5.0},
        {"point": 2, "rate_mbps": 30.0, "delay_ms": 50.0},
    ]
    with pytest.raises(InputError, match="line 4, column rate: 30; allowed: numbers from 1 to 20"):
        points_of(path, {"rate_mbps": ("rate", 1, 20)})
    with pytest.raises(InputError, match="no column loss; has case, rate, delay"):
        points_of(path, {"loss": ("loss", 0, 1)})
    with pytest.raises(InputError, match=r"no rows with \{'case': 'c'\}"):
        points_of(path, columns, where={"case": "c"})
    with pytest.raises(InputError, match=r"missing\.csv: No such file"):
        points_of(tmp_path / "missing.csv", columns)
