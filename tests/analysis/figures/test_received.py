from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from minitopo_dc.analysis import ResultError, load_results
from minitopo_dc.analysis.figures.received import draw_goodput, goodput_figure
from minitopo_dc.runs.results import RunResult
from tests.analysis.synthetic_runs import constant_capacities, no_result, result, save, save_rate

CAPACITIES = constant_capacities(6, 20.0, 12.0)
UNSUPPORTED = no_result("mpquic", "multipath", "unsupported", "cargo 1.70 is missing")
FAILED = no_result("tcp", "dc", "failed", "the element on ue died")


def saved(root: Path, *runs: RunResult) -> pd.DataFrame:
    """Runs in which the client got 20.8 Mbit/s until they were complete."""
    for run in runs:
        directory = save(root, run)
        if run.completion_s is not None:
            save_rate(directory, run.completion_s, lambda time: time * 2_600_000)
    return load_results(root)


def draw(root: Path, *runs: RunResult, capacities: pd.DataFrame = CAPACITIES) -> Figure:
    """Draw, and render too: only then does matplotlib look at texts and limits."""
    figure = draw_goodput(saved(root, *runs), capacities)
    figure.canvas.draw()
    return figure


def rates(axes: Axes) -> list[list[float]]:
    """What the lines of a panel show; a completion is a mark at 0 and no rate."""
    lines = [list(map(float, np.asarray(line.get_ydata()))) for line in axes.lines]
    return [line for line in lines if line != [0.0]]


def texts(axes: Axes) -> str:
    return "\n".join(text.get_text() for text in axes.texts)


def test_each_transport_and_mode_is_a_panel_in_the_order_of_the_table(tmp_path: Path) -> None:
    figure = draw(tmp_path, UNSUPPORTED, result(), result(repetition=2), FAILED)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["quic  dc", "tcp  dc", "mpquic  multipath"]


def test_a_panel_says_the_mean_goodput(tmp_path: Path) -> None:
    (axes,) = draw(tmp_path, result(goodput_mbps=18.04)).axes
    assert axes.get_title("right") == "goodput 18.0 Mbit/s"


def test_a_panel_of_several_runs_says_mean_and_deviation(tmp_path: Path) -> None:
    (axes,) = draw(tmp_path, result(), result(goodput_mbps=22.0, repetition=2)).axes
    assert axes.get_title("right") == "goodput 21.0 ± 1.4 Mbit/s"


def test_a_long_name_stands_above_the_goodput(tmp_path: Path) -> None:
    runs = [result("quic-picoquic", variant="least-delay", repetition=n) for n in (1, 2)]
    (axes,) = draw(tmp_path, *runs).axes
    assert axes.get_title("left") == "quic-picoquic  dc least-delay\n"


def test_a_line_is_the_rate_at_the_middles_of_the_bins(tmp_path: Path) -> None:
    (axes,) = draw(tmp_path, result(completion_s=2.0)).axes
    assert list(np.asarray(axes.lines[0].get_xdata())) == [0.25, 0.75, 1.25, 1.75]
    assert rates(axes) == [pytest.approx([20.8] * 4)]


def test_the_mark_is_where_the_client_was_complete_on_the_axis_of_the_capacity(
    tmp_path: Path,
) -> None:
    (axes,) = draw(tmp_path, result(completion_s=2.0, details={"started_s": 0.5})).axes
    marks = [line for line in axes.lines if list(np.asarray(line.get_ydata())) == [0.0]]
    assert [float(np.asarray(mark.get_xdata())[0]) for mark in marks] == [2.5]


def test_each_good_run_is_a_line(tmp_path: Path) -> None:
    failed = no_result("quic", "dc", "failed", "it died", repetition=3)
    (axes,) = draw(tmp_path, result(), result(repetition=2), failed).axes
    assert len(rates(axes)) == 2
    assert texts(axes) == "1 of 3 runs not ok"


def test_rates_have_the_steps_of_the_capacities(tmp_path: Path) -> None:
    fine = constant_capacities(6, 20.0, 12.0, step_s=0.25)
    figure = draw(tmp_path, result(completion_s=2.0), capacities=fine)
    assert len(rates(figure.axes[0])[0]) == 8
    assert "bins of 0.25 s" in figure.get_supylabel()


def test_the_axis_says_that_rates_are_of_ip_bytes(tmp_path: Path) -> None:
    assert "IP bytes (Mbit/s" in draw(tmp_path, result()).get_supylabel()


def test_capacities_are_stacked_from_leg_1_up(tmp_path: Path) -> None:
    (axes,) = draw(tmp_path, result()).axes
    low, high = (patch.get_data() for patch in axes.patches)  # type: ignore[attr-defined]
    assert set(low.values) == {20.0}
    assert set(high.values) == {32.0}
    assert list(high.baseline) == list(low.values)
    assert (high.edges[0], high.edges[-1]) == (0.0, 6.0)


def test_all_panels_have_the_same_axes(tmp_path: Path) -> None:
    runs = [result(completion_s=9.0), result("tcp", "sc", completion_s=2.0), FAILED]
    figure = draw(tmp_path, *runs)
    limits = {(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}
    ((left, right), (bottom, top)) = limits.pop()
    assert not limits
    assert (left, bottom) == (0, 0)
    assert right >= 9.0
    assert top >= 32.0


@pytest.mark.parametrize("run", [UNSUPPORTED, FAILED], ids=lambda run: str(run.status))
def test_a_panel_without_a_good_run_has_a_reason_and_nothing_else(
    tmp_path: Path, run: RunResult
) -> None:
    (axes,) = draw(tmp_path, run).axes
    assert axes.get_title("right") == run.status
    assert texts(axes) == run.reason
    assert not axes.lines
    assert not axes.patches


def test_a_long_reason_is_cut_with_an_ellipsis(tmp_path: Path) -> None:
    (axes,) = draw(tmp_path, no_result("tcp", "dc", "failed", "no " * 400)).axes
    assert texts(axes).endswith("…")
    assert len(texts(axes).splitlines()) == 6


@pytest.mark.parametrize(
    "reason", ["set $PATH or $x_{", "\x1b[31mred", "字 🙂 \u2003\x1c.", "\\frac"]
)
def test_a_reason_of_any_characters_is_drawn_without_a_warning(tmp_path: Path, reason: str) -> None:
    (axes,) = draw(tmp_path, no_result("tcp", "dc", "failed", reason)).axes
    assert texts(axes)


def test_numbers_of_the_axis_stand_below_each_column(tmp_path: Path) -> None:
    runs = [result(transport, "dc") for transport in ("a", "b", "c", "d", "e", "f", "g")]
    labelled = [
        axes.get_title("left")
        for axes in draw(tmp_path, *runs).axes
        if axes.xaxis.get_tick_params()["labelbottom"]
    ]
    assert labelled == ["e  dc", "f  dc", "g  dc"]


def test_a_transfer_within_one_bin_is_a_visible_point(tmp_path: Path) -> None:
    short = constant_capacities(0.3, 20.0, 12.0)
    (axes,) = draw(tmp_path, result(completion_s=0.3), capacities=short).axes
    assert len(rates(axes)[0]) == 1
    assert axes.lines[0].get_marker() == "."


def test_the_legend_names_every_leg(tmp_path: Path) -> None:
    figure = draw(tmp_path, result(), capacities=constant_capacities(6, 5.0, 5.0, 5.0))
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[2:] == ["capacity of leg 1", "+ leg 2", "+ leg 3"]


def test_a_broken_rate_is_an_error_and_leaves_the_old_figure(tmp_path: Path) -> None:
    results = saved(tmp_path, result())
    figure = tmp_path / "goodput.png"
    figure.write_text("old")
    (tmp_path / "quic-dc-1" / "client-rate.csv").write_text("time_s\n")
    with pytest.raises(ResultError, match=r"client-rate\.csv"):
        goodput_figure(results, CAPACITIES, figure)
    assert figure.read_text() == "old"


def test_the_png_is_an_image_for_a_page(tmp_path: Path) -> None:
    runs = [result(f"transport-{number}") for number in range(10)]
    goodput_figure(saved(tmp_path, *runs), CAPACITIES, tmp_path / "goodput.png")
    height, width, _ = imread(tmp_path / "goodput.png").shape
    assert 1000 < width < 2000
    assert 0.5 < height / width < 1


def test_importing_the_package_changes_no_global_state_of_matplotlib() -> None:
    program = "import sys, minitopo_dc.analysis; sys.exit('matplotlib.pyplot' in sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
