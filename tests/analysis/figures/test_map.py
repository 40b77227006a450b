"""Maps of two factors."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from minitopo_dc.analysis.figures.points import draw_map

LOSSES = [0.0, 0.01, 0.1, 1.0]


def drawn(loss: list[float]) -> Axes:
    count = len(loss)
    table = pd.DataFrame(
        {"loss": loss, "rate": [4.0 + place for place in range(count)], "gain": [1.0] * count}
    )
    return draw_map(table, "loss", "rate", {"gain": "Gain"}, 1.0).axes[0]


def places(axes: Axes) -> list[float]:
    """Of the points, to the right."""
    return [float(place) for place in np.asarray(axes.collections[0].get_offsets())[:, 0]]


def test_a_factor_of_few_levels_has_them_at_equal_distances() -> None:
    axes = drawn(LOSSES * 5)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "0.01", "0.1", "1"]
    assert list(axes.get_xticks()) == [0, 1, 2, 3]


def test_points_of_one_level_lie_beside_each_other_and_nearest_to_it() -> None:
    found = places(drawn(LOSSES * 5))
    assert len(set(found)) == len(found)
    assert [round(place) for place in found] == [0, 1, 2, 3] * 5


def test_a_factor_of_many_values_has_an_axis_of_numbers() -> None:
    assert places(drawn([5, 6, 7, 8, 9, 11])) == [5, 6, 7, 8, 9, 11]
