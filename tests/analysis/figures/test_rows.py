"""The figure of a workload's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from minitopo_dc.analysis import ResultError, load_results
from minitopo_dc.analysis.figures.rows import draw_rows, rows_figure
from minitopo_dc.analysis.tables.rows import lines_of, read_rows
from minitopo_dc.runs.results import RunResult
from minitopo_dc.workloads import Download, Ping, Realtime, RequestResponse, RowsFigure, Workload
from minitopo_dc.workloads.base import Row
from minitopo_dc.workloads.request_response import request_rows
from tests.analysis.synthetic_runs import no_result, result, save

REQUESTS = request_rows([(0.0, 0.02), (0.4, 0.45), (0.8, 0.81)])
UNANSWERED = request_rows([(0.0, 0.02), (0.4, None), (0.8, None)])
NO_GOODPUT = {"workload": "request-response", "goodput_mbps": None, "capacity_share": None}
ECHOES: list[Row] = [
    {"leg": leg, "backhaul": 1, "time_s": time_s, "rtt_ms": 10.0 * leg}
    for leg in (1, 2)
    for time_s in (0.0, 1.0)
]
assert Ping.figure is not None
FIGURE: RowsFigure = Ping.figure


def saved(root: Path, run: RunResult, rows: list[Row]) -> Path:
    directory = save(root, run)
    pd.DataFrame(rows).to_csv(directory / f"{run.workload}.csv", index=False)
    return directory


def asked(transport: str = "quic", mode: str = "dc", **changes: Any) -> RunResult:
    return result(transport, mode, **(NO_GOODPUT | changes))


def draw(root: Path, workload: Workload | None = None) -> Figure:
    """Draw, and render too: only then does matplotlib lay it out."""
    figure = draw_rows(load_results(root), workload or RequestResponse())
    figure.canvas.draw()
    return figure


def points(axes: Axes) -> list[list[tuple[float, float]]]:
    """What each line shows."""
    return [list(map(tuple, np.asarray(line.get_xydata()).tolist())) for line in axes.lines]


def near(*expected: tuple[float, float]) -> list[Any]:
    return [pytest.approx(each) for each in expected]


def test_a_run_is_a_line_of_its_delays_over_time(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    (axes,) = draw(tmp_path).axes
    (line,) = points(axes)
    assert line == near((0.0, 20), (0.4, 50), (0.8, 10))


def test_a_request_without_an_answer_is_a_cross_at_its_time(tmp_path: Path) -> None:
    saved(tmp_path, asked(), UNANSWERED)
    (axes,) = draw(tmp_path).axes
    _, crosses = axes.lines
    assert crosses.get_marker() == "x"
    assert points(axes)[1] == [(0.4, 0.0), (0.8, 0.0)]


def test_runs_of_unequal_length_are_a_line_each(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    saved(tmp_path, asked(repetition=2), REQUESTS[:1])
    (axes,) = draw(tmp_path).axes
    assert [len(line) for line in points(axes)] == [3, 1]


def test_each_transport_and_mode_is_a_panel_with_its_own_runs(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    saved(tmp_path, asked("mptcp", "multipath"), REQUESTS[:2])
    saved(tmp_path, asked("quic", "sc"), REQUESTS[:1])
    figure = draw(tmp_path)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["quic sc", "quic dc", "mptcp multipath"]
    assert [len(points(axes)[0]) for axes in figure.axes] == [1, 3, 2]


def test_panels_of_one_mode_name_their_split_policies(tmp_path: Path) -> None:
    for n, variant in enumerate(("batch", "least-delay"), start=1):
        saved(tmp_path, asked(variant=variant, repetition=n), REQUESTS)
    titles = [axes.get_title() for axes in draw(tmp_path).axes]
    assert titles == ["quic dc batch", "quic dc least-delay"]


def test_a_panel_without_a_run_that_is_ok_says_so(tmp_path: Path) -> None:
    failed = no_result("tcp", "dc", "failed", "it died", workload="request-response")
    saved(tmp_path, asked(), REQUESTS)
    save(tmp_path, failed)
    quic, tcp = draw(tmp_path).axes
    assert [text.get_text() for text in tcp.texts] == ["no run is ok"]
    assert not tcp.lines
    assert not quic.texts


def test_echoes_of_each_leg_are_a_line_of_their_own(tmp_path: Path) -> None:
    saved(tmp_path, asked("icmp", "sc", workload="ping"), ECHOES)
    (axes,) = draw(tmp_path, Ping()).axes
    assert points(axes) == [[(0.0, 10.0), (1.0, 10.0)], [(0.0, 20.0), (1.0, 20.0)]]


def test_frames_of_both_directions_have_their_own_colours_and_names(tmp_path: Path) -> None:
    frames: list[Row] = [
        {"captured_s": time_s, "delay_ms": 20.0 + up, "up": up}
        for up in (0, 1)
        for time_s in (0.0, 1.0)
    ]
    saved(tmp_path, asked("quic", "dc", workload="realtime"), frames)
    (axes,) = draw(tmp_path, Realtime()).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["down", "up"]
    first, second = (line.get_color() for line in axes.lines)
    assert first != second


def test_a_run_of_one_line_has_no_legend_and_room_for_its_last_marker(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    (axes,) = draw(tmp_path).axes
    assert axes.get_legend() is None
    assert axes.get_xlim()[1] > 0.8


def test_lines_are_told_apart_by_the_values_of_their_columns() -> None:
    found = [(name, len(rows)) for name, rows in lines_of(pd.DataFrame(ECHOES), FIGURE)]
    assert found == [("leg 1, backhaul 1", 2), ("leg 2, backhaul 1", 2)]


def test_the_axes_have_the_labels_of_the_workload_and_begin_at_0(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    figure = draw(tmp_path)
    assert figure.get_suptitle() == "Delay of each request"
    assert figure.get_supxlabel() == "sent (s since the client began to connect)"
    assert figure.get_supylabel() == "delay (ms)"
    assert (figure.axes[0].get_xlim()[0], figure.axes[0].get_ylim()[0]) == (0, 0)


@pytest.mark.parametrize("rows", [REQUESTS, UNANSWERED])
def test_the_panels_take_most_of_the_figure(rows: list[Row], tmp_path: Path) -> None:
    for mode in ("sc", "dc"):
        saved(tmp_path, asked(mode=mode), rows)
    for axes in draw(tmp_path).axes:
        assert axes.get_position().height > 0.5
        assert axes.get_position().width > 0.35


def test_the_file_is_an_image_in_the_place_of_an_older_one(tmp_path: Path) -> None:
    saved(tmp_path, asked(), REQUESTS)
    path = tmp_path / "request-response.png"
    path.write_text("old")
    rows_figure(load_results(tmp_path), RequestResponse(), path)
    assert imread(path).shape[1] > 500


def test_a_run_without_its_rows_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    directory = save(tmp_path, asked())
    path = directory / "request-response.csv"
    with pytest.raises(ResultError, match=rf"^{path}: .*No such file"):
        draw(tmp_path)


def test_an_empty_file_of_rows_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "ping.csv").touch()
    with pytest.raises(ResultError, match=rf"^{tmp_path / 'ping.csv'}: No columns"):
        read_rows(tmp_path, "ping", FIGURE)


def test_text_in_place_of_a_number_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    pd.DataFrame([ECHOES[0], {**ECHOES[1], "rtt_ms": "slow"}]).to_csv(tmp_path / "ping.csv")
    with pytest.raises(ResultError, match=rf"^{tmp_path / 'ping.csv'}: .*slow"):
        read_rows(tmp_path, "ping", FIGURE)


def test_rows_without_a_column_of_the_figure_are_an_error_that_names_it(tmp_path: Path) -> None:
    directory = saved(tmp_path, asked(), [{"request": 1, "sent_s": 0.0}])
    path = directory / "request-response.csv"
    with pytest.raises(ResultError, match=rf"^{path}: no column delay_ms"):
        draw(tmp_path)


def test_a_workload_without_rows_has_no_such_figure(tmp_path: Path) -> None:
    save(tmp_path, result())
    with pytest.raises(ValueError, match="workload download has no figure of its rows"):
        draw(tmp_path, Download())
