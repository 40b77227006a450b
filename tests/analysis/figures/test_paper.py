"""Charts for papers: sizes, letters, ticks, error bars, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Format,
    Mark,
    Panel,
    Scale,
    Series,
    draw,
    look,
    numbers,
    swept,
)
from minitopo_dc.analysis.figures.paper import COLUMN_INCHES, PAGE_INCHES, SMALL, save

BATCHES = [2, 10, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500]


def curves(count: int = 3, **more: Any) -> Panel:
    axis, _ = swept("batch size (packets)", BATCHES)
    x = numbers(BATCHES)
    series = tuple(
        Series(f"curve {n}", x, x / (n + 1), look(n), low=x / (n + 1) - 5, high=x / (n + 1) + 5)
        for n in range(count)
    )
    return Panel("", axis, Axis("goodput (Mbit/s)", from_zero=True), series, **more)


def sideways() -> Panel:
    names = ("Dual Connectivity, equal shares", "the better leg alone")
    axis = Axis("", ticks=tuple((float(n), name) for n, name in enumerate(names)))
    middle = numbers([0.2, 0.7])
    series = Series("share", numbers([0, 1]), middle, look(0), "none", middle - 0.1, middle + 0.1)
    return Panel("", axis, Axis("share", limits=(0, 1)), (series,), sideways=True)


def coloured() -> Panel:
    x = numbers(range(10))
    points = Series("gain", x, x, line="none", values=x)
    return Panel("Gain", Axis("rate"), Axis("delay"), (points,), scale=Scale("gain", 0, 9, 5))


def over_decades(low: float, high: float) -> Panel:
    """Points on log axes, of which 1, 2 and 5 of each power of ten may be too many to name."""
    x = np.geomspace(low, high, 40)
    points = Series("gain", x, x, line="none", values=np.linspace(0.3, 1.7, 40))
    axis = Axis("size over rate times round trip", log=True)
    scale = Scale("goodput over Dual Connectivity, over that of MP-QUIC", 0.3, 1.7, 1.05)
    return Panel("Dual Connectivity or a tie", axis, axis, (points,), scale=scale)


def long_labels(panel: Panel) -> Panel:
    """The panel with labels that are longer than a column is wide."""
    long = (
        "the 95th percentile of the time that a packet waits for those before it in a buffer (ms)"
    )
    named = tuple((place, f"{name} {long[:40]}") for place, name in panel.x.ticks)
    return replace(
        panel,
        title=f"Where {long}, and a_name_without_any_blank_that_is_longer_than_a_column_is_wide",
        x=replace(panel.x, label=long, ticks=named if panel.sideways else panel.x.ticks),
        y=replace(panel.y, label=long),
        series=tuple(replace(each, label=f"{each.label}: {long}") for each in panel.series),
        scale=panel.scale and replace(panel.scale, label=long),
    )


DECADES = [over_decades(0.2, 9000), over_decades(3, 40), over_decades(1e-4, 1e9)]
PLAIN = [curves(), sideways(), coloured(), curves(marks=(Mark(100, "open 2"),)), *DECADES]
ALL = [*PLAIN, *map(long_labels, PLAIN)]


def drawn(*panels: Panel, **more: Any) -> Figure:
    figure = draw(Chart("name", "", panels, **more))
    figure.canvas.draw()
    return figure


def texts(figure: Figure) -> list[Text]:
    """What is seen: of an axis only the ticks within it."""
    found = [
        each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()
    ]
    outside = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    return [each for each in found if isinstance(each, Text) and id(each) not in outside]


@pytest.mark.parametrize("panel", ALL)
def test_a_figure_is_as_wide_as_a_column_and_no_letter_is_below_7_points(panel: Panel) -> None:
    figure = drawn(panel)
    assert figure.get_figwidth() == COLUMN_INCHES
    assert min(float(each.get_fontsize()) for each in texts(figure)) >= SMALL == 7


def test_many_panels_take_the_page_s_width() -> None:
    assert drawn(*[curves()] * 4).get_figwidth() == PAGE_INCHES
    assert drawn(*[curves()] * 4, together=True).get_figwidth() == COLUMN_INCHES


@pytest.mark.parametrize("panel", ALL)
def test_no_text_overlaps_another_one_or_leaves_the_figure(panel: Panel) -> None:
    check_texts(drawn(panel))


@pytest.mark.parametrize("together", [True, False])
def test_long_labels_of_panels_above_and_beside_each_other_do_not_overlap(together: bool) -> None:
    check_texts(drawn(*[long_labels(curves(1))] * 4, together=together))


@pytest.mark.parametrize("copies", [1, 2])
def test_shares_above_maps_of_many_decades_have_no_text_on_another(copies: int) -> None:
    """At the width of a column, and at that of both."""
    check_texts(drawn(*[sideways(), DECADES[0], DECADES[2]] * copies))


@pytest.mark.parametrize(("panel", "named"), [(DECADES[1], "5"), (DECADES[0], "1000")])
def test_a_log_axis_names_as_many_ticks_as_fit(panel: Panel, named: str) -> None:
    axes = drawn(panel).axes[0]
    assert named in {each.get_text() for each in axes.get_xticklabels()}


def test_a_label_is_broken_only_where_it_is_too_long() -> None:
    (axes,) = drawn(curves()).axes
    assert axes.get_ylabel() == "goodput (Mbit/s)"
    (axes,) = drawn(long_labels(curves())).axes
    assert axes.get_ylabel().replace("\n", " ") == long_labels(curves()).y.label
    assert axes.get_title().startswith("Where the 95th percentile")
    assert "\n" in axes.get_title()


def check_texts(figure: Figure) -> None:
    """Check that no text leaves the figure or overlaps another one."""
    boxes = [(each.get_text(), each.get_window_extent()) for each in texts(figure)]
    whole = figure.bbox.padded(1)
    for place, (text, box) in enumerate(boxes):
        assert whole.x0 <= box.x0, (text, box)
        assert box.x1 <= whole.x1, (text, box)
        assert whole.y0 <= box.y0, (text, box)
        assert box.y1 <= whole.y1, (text, box)
        for other, another in boxes[place + 1 :]:
            assert not box.padded(-0.5).overlaps(another.padded(-0.5)), (text, other)


def test_every_swept_value_has_a_tick() -> None:
    (axes,) = drawn(curves()).axes
    assert list(axes.get_xticks()) == BATCHES
    assert axes.get_xticklabels()[-1].get_text() == "500"


def test_error_bars_reach_from_their_low_to_their_high_end() -> None:
    (axes,) = drawn(sideways()).axes
    assert bars(axes) == [pytest.approx((0.1, 0.3)), pytest.approx((0.6, 0.8))]


def bars(axes: Axes) -> list[tuple[float, float]]:
    (found,) = (each for each in axes.collections if len(each.get_paths()) == 2)
    return [tuple(np.asarray(path.vertices)[:, 0]) for path in found.get_paths()]


@pytest.mark.parametrize("kind", get_args(Format))
def test_a_file_of_each_format_is_the_same_again(kind: Format, tmp_path: Path) -> None:
    chart = Chart("name", "", (curves(),))
    first = save(chart, tmp_path, kind).read_bytes()
    assert first == save(chart, tmp_path, kind).read_bytes()
    assert first.startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[kind])


def test_a_pdf_has_its_fonts_as_submission_systems_ask_for(tmp_path: Path) -> None:
    content = save(Chart("name", "", (curves(),)), tmp_path, "pdf").read_bytes()
    assert b"/TrueType" in content or b"/CIDFontType2" in content
    assert b"/Type3" not in content
