"""Figures of tables show means with their intervals, and values at their places."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from minitopo_dc import plots
from minitopo_dc.errors import InputError
from minitopo_dc.results.measures.account import CAUSES
from minitopo_dc.statistics import mean_interval

WAYS = ["MP-QUIC", "DC 1:1", "leg 2"]
GOODPUT = {"MP-QUIC": 30.0, "DC 1:1": 20.0, "leg 2": 10.0}
DELAYS = [5, 20, 60]


def table(ways: list[str] = WAYS, **more: Any) -> pd.DataFrame:
    """Three ways at three delays with three seeds, all ok."""
    rows = [
        {"way": way, "delay_ms": delay, "seed": seed, "status": "ok",
         "goodput_mbps": GOODPUT.get(way, 5.0) - delay / 10 + seed**2} | more
        for way, delay, seed in product(ways, DELAYS, (1, 2, 3))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def axes_of(width: float = 3.5, height: float = 2.3) -> Axes:
    with plots.style():
        return Figure(figsize=(width, height)).subplots()


def bars_of_error(axes: Axes) -> dict[str, ErrorbarContainer]:
    return {str(curve.get_label()): curve
            for curve in axes.containers if isinstance(curve, ErrorbarContainer)}  # fmt: skip


def legends(axes: Axes) -> list[str]:
    figure = axes.get_figure(root=True)
    assert figure is not None
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def named(axes: Axes) -> list[str]:
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    return [text.get_text() for text in axes.texts]


def test_a_curve_has_means_and_the_halves_of_students_intervals() -> None:
    runs = table()
    axes = plots.curves(runs, x="delay_ms", by="way", ax=axes_of())
    for way, container in bars_of_error(axes).items():
        line, _, (segments,) = container.lines
        places, means = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        for delay, mean, (low, high) in zip(places, means, segments.get_segments(), strict=True):
            values = runs[(runs["way"] == way) & (runs["delay_ms"] == delay)]["goodput_mbps"]
            interval = mean_interval(values.tolist())
            assert mean == pytest.approx(values.mean())
            assert (low[1], high[1]) == pytest.approx((interval.low, interval.high))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delay (ms)", "goodput (Mbit/s)")


@pytest.mark.parametrize(
    "names",
    [
        ["MP-QUIC, NewReno", "MP-QUIC, CUBIC", "MP-QUIC, BBRv1", "MPTCP, CUBIC", "leg 1 alone"],
        [f"DC {number}" for number in range(12)],
    ],
    ids=["long", "many"],
)
@pytest.mark.parametrize("draw", [plots.curves, plots.bars])
def test_a_legend_is_above_its_axes_and_within_its_figure(draw: Any, names: list[str]) -> None:
    axes: Any = draw(table(names), x="delay_ms", by="way", ax=axes_of(height=8))
    figure = axes.get_figure(root=True)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1


def test_numbers_that_tell_ways_apart_are_named_with_what_they_are_of() -> None:
    runs = table(["DC"])
    runs["loss_percent"] = [1, 5, 10] * 3
    axes = plots.curves(runs, x="delay_ms", by="loss_percent", ax=axes_of())
    assert legends(axes) == ["loss 1 %", "loss 5 %", "loss 10 %"]
    axes = plots.bars(runs, x="loss_percent", ax=axes_of())
    assert axes.get_yticklabels()[0].get_text() == "loss 1 %"
    assert named(axes) == ["3.17", "6.17", "11.2"]  # 5 - 8.5 / 3 + seed ** 2


def test_shared_axes_end_where_the_values_of_all_of_them_do() -> None:
    with plots.style():
        first, second = Figure().subplots(1, 2, sharey=True)
    plots.curves(table(["leg 2"]), x="delay_ms", ax=first)
    plots.curves(table(["MP-QUIC"]), x="delay_ms", ax=second)
    assert first.get_ylim()[0] == 0
    assert first.get_ylim()[1] > 40  # the interval of the largest mean ends there


def test_nothing_is_seen_of_the_interval_of_one_run() -> None:
    runs = table().drop_duplicates(["way", "delay_ms"])
    axes: Any = plots.bars(runs, x="delay_ms", by="way", ax=axes_of())
    spans = [
        span for bars in axes.containers[1::2] for span in bars.errorbar.lines[2][0].get_segments()
    ]
    assert len(spans) == 9
    assert all(start == end for (start, _), (end, _) in spans)
    assert not any(caps for bars in axes.containers[1::2] for caps in bars.errorbar.lines[1])


def test_runs_that_are_not_ok_do_not_count() -> None:
    runs = table()
    runs.loc[0, "status"], runs.loc[0, "goodput_mbps"] = "disturbed", 1e6
    axes = plots.curves(runs, x="delay_ms", by="way", ax=axes_of())
    (curve, *_) = bars_of_error(axes)["MP-QUIC"].lines
    assert np.asarray(curve.get_ydata())[0] == pytest.approx(29.5 + (4 + 9) / 2)


@pytest.mark.parametrize(
    ("delays", "scale", "ticks"),
    [
        ([1, 30, 1000], "log", ["1", "30", "1000"]),
        ([10, 30, 60], "linear", ["10", "30", "60"]),
        ([0, 10, 1000], "linear", None),  # no room for a number at each
        ([20, 20, 20], "linear", ["20"]),
    ],
)
def test_a_factor_over_orders_of_magnitude_has_a_log_axis(
    delays: list[int], scale: str, ticks: list[str] | None
) -> None:
    runs = table().replace({"delay_ms": dict(zip(DELAYS, delays, strict=True))})
    axes = plots.curves(runs, x="delay_ms", by="way", ax=axes_of())
    assert axes.get_xscale() == scale
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown == ticks or (ticks is None and len(shown) > 3)


def test_times_over_orders_of_magnitude_have_a_log_axis_also_where_axes_share_it() -> None:
    runs = table().assign(delay_p95_ms=lambda table: 10.0 ** (table["delay_ms"] / 12))
    with plots.style():
        first, second = Figure().subplots(1, 2, sharey=True)
    plots.curves(runs, x="delay_ms", by="way", y="delay_p95_ms", ax=first)
    plots.curves(runs[:3], x="delay_ms", by="way", y="delay_p95_ms", ax=second)
    assert (first.get_yscale(), second.get_yscale()) == ("log", "log")
    low, high = first.get_ylim()
    assert 0 < low < 3
    assert high > 1e5


def test_bars_begin_at_0_and_have_their_means_as_length_and_as_text() -> None:
    runs = table()
    axes: Any = plots.bars(runs, x="way", ax=axes_of())
    means = runs.groupby("way")["goodput_mbps"].mean()
    lengths = [patch.get_width() for patch in axes.patches]
    assert lengths == pytest.approx([means[way] for way in ("leg 2", "DC 1:1", "MP-QUIC")])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["leg 2", "DC 1:1", "MP-QUIC"]
    assert named(axes) == ["11.8", "21.8", "31.8"]
    assert axes.get_xlim()[0] == 0


def test_bars_of_two_factors_stand_in_groups_without_touching() -> None:
    axes: Any = plots.bars(table(), x="delay_ms", by="way", ax=axes_of(height=4))
    spans = sorted((patch.get_y(), patch.get_y() + patch.get_height()) for patch in axes.patches)
    assert len(spans) == 9
    assert all(end < start for (_, end), (start, _) in pairwise(spans))


def test_a_category_has_bars_of_its_own_ways_only_around_its_middle() -> None:
    runs = table()
    runs = runs[(runs["way"] == "MP-QUIC") | (runs["delay_ms"] == 20)]
    axes: Any = plots.bars(runs, x="delay_ms", by="way", ax=axes_of())
    middles = sorted(patch.get_y() + patch.get_height() / 2 for patch in axes.patches)
    near, middle, far = axes.get_yticks()
    assert middles == pytest.approx([near, middle - 1, middle, middle + 1, far])


def test_a_bar_without_a_run_that_is_ok_says_so() -> None:
    runs = table()
    runs.loc[(runs["way"] == "leg 2") & (runs["delay_ms"] == 20), "status"] = "failed"
    axes = plots.bars(runs, x="delay_ms", by="way", ax=axes_of())
    assert [text for text in named(axes) if not text[0].isdigit()] == ["none"]


def test_a_comparison_has_a_line_at_the_bound() -> None:
    axes: Any = plots.comparison(table().assign(bound_mbps=100.0), ax=axes_of())
    (line,) = axes.lines
    assert list(line.get_xdata()) == [100.0, 100.0]
    assert axes.get_xlim()[1] > 100.0
    assert "no way can be faster" in axes.get_xlabel()


def test_a_sweep_has_the_bound_at_each_value() -> None:
    runs = table().assign(bound_mbps=lambda table: 2.0 * table["delay_ms"])
    axes: Any = plots.curves(runs, x="delay_ms", by="way", ax=axes_of())
    (line,) = (line for line in axes.lines if line.get_label() == "bound")
    assert line.get_ydata() == pytest.approx(2.0 * line.get_xdata())


def test_a_comparison_without_ways_names_rows_by_their_labels() -> None:
    rows = table().assign(transport="quic", mode="dc")
    rows.attrs["labels"] = ["transport", "mode"]
    axes = plots.comparison(rows.drop(columns="way"), ax=axes_of())
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["quic dc"]


@pytest.mark.parametrize("draw", [plots.curves, plots.bars])
@pytest.mark.parametrize("x", ["way", "delay_ms"])
@pytest.mark.parametrize("by", ["way", None])
def test_a_table_without_runs_has_axes_and_no_curve(draw: Any, x: str, by: str | None) -> None:
    axes = draw(table().iloc[:0], x=x, by=by, ax=axes_of())
    named(axes)
    assert "goodput (Mbit/s)" in (axes.get_xlabel(), axes.get_ylabel())


def test_a_misspelt_column_is_named_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InputError, match=r"dely_ms; .*delay_ms"):
        plots.curves(table(), x="dely_ms")


@pytest.mark.parametrize("draw", [plots.curves, plots.bars])
def test_a_formula_in_a_name_is_no_formula(draw: Any) -> None:
    named(draw(table().assign(way=r"DC $\frac{"), x="way", by="way", ax=axes_of()))


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
    (mesh,) = (part for part in axes.collections if isinstance(part, QuadMesh))
    assert np.asarray(mesh.get_array()).tolist() == [[10, 40], [15, 60], [20, 80]]
    assert [text.get_text() for text in axes.texts] == ["10", "40", "15", "60", "20", "80"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["0", "1", "2"]


def test_points_of_a_design_point_upwards_above_the_level_and_downwards_below() -> None:
    count = 20
    table = pd.DataFrame(
        {"a": range(count), "b": range(count), "ratio": np.geomspace(0.5, 2, count)}
    )
    axes = plots.map(table, "a", "b", "ratio", ax=axes_of(), level=1)
    above, below = (part for part in axes.collections if isinstance(part, PathCollection))
    assert np.asarray(above.get_offsets())[:, 0].tolist() == list(range(10, 20))
    assert np.asarray(below.get_offsets())[:, 0].tolist() == list(range(10))
    assert above.norm(np.array([1.0])) == pytest.approx(0.5)  # the colour in the middle


def test_no_runs_have_an_empty_map_and_no_curve() -> None:
    table = pd.DataFrame({"a": [], "b": [], "goodput_mbps": [], "way": []})
    for axes in (plots.map(table, "a", "b", ax=axes_of()), plots.cdf(table, ax=axes_of())):
        axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]


@pytest.mark.parametrize("level", [None, 1.0])
@pytest.mark.parametrize("values", [[0.97, 1.02], [3.0, 3.0], [0.001, 500.0], [0.4, 2.1]])
def test_a_bar_of_colours_has_three_labels_or_more(
    values: list[float], level: float | None
) -> None:
    runs = pd.DataFrame({"a": [1, 2], "b": [1, 1], "ratio": values})
    axes = plots.map(runs, "a", "b", "ratio", ax=axes_of(), level=level)
    figure: Any = axes.get_figure(root=True)
    figure.draw_without_rendering()
    bar = figure.axes[1]
    low, high = bar.get_ylim()
    labels = zip(bar.get_yticks(), bar.get_yticklabels(), strict=True)
    shown = {label.get_text() for tick, label in labels if low <= tick <= high}
    assert len(shown - {""}) >= 3


def test_a_map_has_the_colour_of_dc_above_its_level_and_of_multipath_below() -> None:
    runs = pd.DataFrame({"a": [1, 2], "b": [1, 1], "ratio": [0.5, 2.0]})
    (mesh,) = plots.map(runs, "a", "b", "ratio", ax=axes_of(), level=1).collections
    assert isinstance(mesh, QuadMesh)
    below, above = mesh.to_rgba(np.array([0.5, 2.0]))[:, :3]
    assert below[0] > below[2]  # more red than blue, as multipath is
    assert above[2] > above[0]


def test_losses_are_summed_up_along_a_packets_way_with_a_tick_for_each_place(
    tmp_path: Path,
) -> None:
    leg = {"pushed_packets": 190, "delivered_packets": 170, "dropped_queue": 15, "dropped_loss": 5}
    sent = {"sdus": 190, "offered": 200, "dropped_buffer": 10, "pdus_1": 190, "dropped_split": 0}
    received = {"pdus_1": 170, "delivered": 170}
    summary = {"legs": {"1": leg}, "transmit": {"1": sent}, "receive": {}}
    (tmp_path / "gnb-summary.json").write_text(json.dumps(summary))
    (tmp_path / "ue-summary.json").write_text(json.dumps({"receive": {"1": received}}))
    axes = plots.packets({"DC": tmp_path}, direction="downlink", ax=axes_of(7, 3))
    places = [label.get_text() for label in axes.get_yticklabels()]
    assert places == [cause.words for cause in CAUSES.values()]
    (line,) = axes.lines
    values = dict(zip(np.asarray(line.get_ydata()), np.asarray(line.get_xdata()), strict=True))
    lost = {places[at]: values[at] for at in range(len(places))}
    assert lost["on no leg, by the split policy"] == 0
    assert (lost["in the waiting buffer"], lost["in the legs' queues"]) == (5.0, 12.5)
    assert lost["in the air"] == lost["too late for t-Reordering"] == 15.0
    marked = np.asarray(line.get_ydata())[np.asarray(line.get_markevery())]
    assert [places[int(at)] for at in marked] == [
        *("in the waiting buffer", "in the legs' queues", "in the air"),
    ]
