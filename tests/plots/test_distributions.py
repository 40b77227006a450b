"""Cumulated shares and maps show each value at its place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure

from minitopo_dc import plots


def axes_of() -> Axes:
    with plots.style():
        return Figure(figsize=(4, 3)).subplots()


def test_a_step_for_each_value_that_is_known() -> None:
    runs = pd.DataFrame({"way": "DC", "delay_ms": [3.0, math.nan, 1.0, 2.0]})
    axes: Any = plots.cdf(runs, "delay_ms", "way", ax=axes_of(), level=2)
    curve = axes.lines[0]
    assert list(curve.get_xdata()) == [1, 1, 2, 3]
    assert list(curve.get_ydata()) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    (legend,) = axes.get_figure().legends
    assert legend.get_texts()[0].get_text() == "DC (n = 3)"


def test_few_values_of_two_factors_have_cells_with_their_means() -> None:
    rows = [(delay, loss, delay * (loss + seed)) for delay in (5, 20) for loss in (0.0, 1.0, 2.0)
            for seed in (1, 3)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["delay_ms", "loss_percent", "goodput_mbps"])
    axes = plots.map(table, "delay_ms", "loss_percent", ax=axes_of())
    (mesh,) = (each for each in axes.collections if isinstance(each, QuadMesh))
    assert np.asarray(mesh.get_array()).tolist() == [[10, 40], [15, 60], [20, 80]]
    assert [text.get_text() for text in axes.texts] == ["10", "40", "15", "60", "20", "80"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["0", "1", "2"]


def test_points_of_a_design_point_upwards_above_the_level_and_downwards_below() -> None:
    count = 20
    table = pd.DataFrame(
        {"a": range(count), "b": range(count), "ratio": np.geomspace(0.5, 2, count)}
    )
    axes = plots.map(table, "a", "b", "ratio", ax=axes_of(), level=1)
    above, below = (each for each in axes.collections if isinstance(each, PathCollection))
    assert np.asarray(above.get_offsets())[:, 0].tolist() == list(range(10, 20))
    assert np.asarray(below.get_offsets())[:, 0].tolist() == list(range(10))
    assert above.norm(np.array([1.0])) == pytest.approx(0.5)  # the colour in the middle


def test_no_runs_have_an_empty_map_and_no_curve() -> None:
    table = pd.DataFrame({"a": [], "b": [], "goodput_mbps": [], "way": []})
    for axes in (plots.map(table, "a", "b", ax=axes_of()), plots.cdf(table, ax=axes_of())):
        axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
