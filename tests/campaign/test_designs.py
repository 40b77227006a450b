"""Space-filling designs: the points of the YAML campaigns, number by number."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc import InputError
from minitopo_dc.campaign import grid, latin_hypercube, sobol, spread

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


@pytest.mark.parametrize("factor", [(2, 1), (0, 1, "log"), [], (1, 2, "cubic")])
def test_a_factor_without_a_range_is_refused(factor: Any) -> None:
    with pytest.raises(InputError, match="factor x"):
        sobol(4, {"x": factor})
    with pytest.raises(InputError, match="0 points"):
        sobol(0, {"x": (0, 1)})
