"""Runs over time: rates, queues, windows and losses on one axis; video sessions; drives."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from minitopo_dc.fields import Direction
from minitopo_dc.plots import theme
from minitopo_dc.plots.axes import handles_of, legend
from minitopo_dc.plots.theme import ordered, style
from minitopo_dc.results import buffer_over_time, client_rate, leg_rates, leg_series, pdcp_series
from minitopo_dc.results.files import naming
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.measures.congestion import congestion_series
from minitopo_dc.results.metrics import capacity_over_time
from minitopo_dc.results.tables.rows import lines_of, read_rows
from minitopo_dc.results.tables.series import read_segments
from minitopo_dc.scenario import Scenario
from minitopo_dc.trace import Capacities, channel_statistics

LEGS = ("#882255", "#44AA99", "#332288", "#999933")
"""Colours of legs and paths, dark and light in turns, to be told apart in grey."""
DASHES: Sequence[Any] = ("-", (0, (4, 1.4)), (0, (1, 1.4)))
RECEIVED = "received\n(Mbit/s)"
CAPACITY, LOST = "the leg's capacity", "packets lost"
MOST_BINS, LEAST_BIN_S = 100, 0.1
"""More bins of a run are noise at this width; fewer than one a sample show where samples were."""
RUN_ROW_INCHES, ROW_INCHES = 0.95, 1.3
"""The height of a panel of a whole run, and of one of few."""
LABEL_LETTERS = 16
"""The most letters of a line of a panel's label."""
TOGETHER_S = 0.1
"""The time within which changes of paths share a mark: a handover is two of them."""
WINDOWS_S = (1, 5)
"""The seconds over which the rates of a drive are means."""
Line = tuple[Any, Any]
"""Times in s, and values."""
Panels = Mapping[str, Mapping[str, Line]]
"""By the label of its axis each panel, and by its name each line."""


@style()
def timeline(*runs: Any, names: Sequence[str] = ()) -> Any:
    """Draw a run over time; several runs beside each other, one leg first and multipath last.

    >>> plots.timeline("results/compare/quic-picoquic-dc-1", "results/compare/mpquic-multipath-1")

    The panels are what the client receives, what each leg delivers and could carry (grey), its
    queue, the windows of the paths, and the packets that PDCP holds back. Ticks at the top of a
    leg's panel show losses, a dotted line where a path was to change.

    Args:
        runs: directories of runs that are ok, or objects with a `directory`.
        names: of the runs; none: their transport and mode.

    Returns:
        An array of axes: a row a panel, a column a run.

    Raises:
        ResultError, SettingsError, OSError: a file of a run is missing or broken.
    """
    directories = [*map(_directory, runs)]
    scenarios = [*map(load_as_run, directories)]
    names = names or [f"{scenario.transport} {scenario.mode}" for scenario in scenarios]
    columns = []
    for directory, scenario in zip(directories, scenarios, strict=True):
        with naming(directory):
            columns.append((_run_panels(directory, scenario), _losses(directory)))
    labels = [*dict.fromkeys(label for panels, _ in columns for label in panels)]
    grid = _grid(labels, len(runs), RUN_ROW_INCHES)
    in_order = sorted(range(len(runs)), key=lambda run: ordered(names).index(names[run]))
    for run, column in zip(in_order, grid.T, strict=True):
        panels, losses = columns[run]
        for label, axes in zip(labels, column, strict=True):
            _draw(axes, panels.get(label, {}), losses.get(label, ()))
            for at_s in _changes(scenarios[run], until_s=max(panels[RECEIVED][""][0])):
                axes.axvline(at_s, color="0.4", linewidth=0.6, linestyle=":", zorder=0.9)
        column[0].set_title(names[run])
    return _finished(grid)


@style()
def legs(run: Any) -> Any:
    """Draw the rate of IP bytes that each leg of a run delivered, in a column of axes.

    Raises:
        ResultError, OSError: a file of an element's is missing or broken.
    """
    grid = _grid([f"{direction}\n(Mbit/s)" for direction in get_args(Direction)])
    for direction, axes in zip(get_args(Direction), grid[:, 0], strict=True):
        _draw(axes, _lines(leg_rates(_directory(run), direction), "leg", "rate_mbps"))
    return _finished(grid)[:, 0]


@style()
def series(panels: Panels, *, steps: Iterable[str] = (), until: float | None = None) -> Any:
    """Draw lines over time in panels above each other; the lines' names are ways.

    >>> plots.series({"received (Mbit/s)": {"DC": (times, rates), "MP-QUIC": (others, more)}})

    Times are in s. The values of the panels named in `steps` hold until the next one; the axis of
    time ends at `until`. Returns a column of axes.
    """
    looks = theme.looks(name for lines in panels.values() for name in lines)
    grid = _grid([*panels])
    for (label, lines), axes in zip(panels.items(), grid[:, 0], strict=False):
        for name in filter(lines.__contains__, looks):
            line: Any = {"color": looks[name].colour, "linestyle": looks[name].dash, "label": name}
            drawn = "steps-post" if label in steps else "default"
            axes.plot(*lines[name], drawstyle=drawn, linewidth=1.0, **line)
        axes.set_ylim(bottom=0)
    if looks:
        handles = handles_of(*grid.flat)
        legend(grid[0, 0].get_figure(root=True), {name: handles[name] for name in looks})
    grid[0, 0].set_xlim(0, until)
    return grid[:, 0]


def session(runs: Mapping[str, Any], *, until: float | None = None) -> Any:
    """Draw sessions of video: what is there to be played, and the quality of each segment.

    >>> plots.session({"DC": "results/dc", "MP-QUIC": "results/mpquic"})

    Raises:
        ResultError: a run has no `video.csv`, or it is broken.
    """
    segments = {name: read_segments(_directory(run)) for name, run in runs.items()}
    rates = {name: (rows["done_s"], rows["bitrate_mbps"]) for name, rows in segments.items()}
    buffers = {name: buffer_over_time(rows) for name, rows in segments.items()}
    panels: Panels = {"buffer (s)": buffers, "bitrate (Mbit/s)": rates}
    return series(panels, steps=["bitrate (Mbit/s)"], until=until)


@style()
def drive(capacities: Capacities) -> Any:
    """Draw a drive's two strongest channels over time, and how many channels there are.

    These are figures 1 and 2 of Krämer et al., Electronics 11 (2022) 1492, in a column of axes.
    """
    rows = len(WINDOWS_S) + 1
    grid = theme.new_axes(ROW_INCHES * rows, theme.PAGE_INCHES, rows)[:, 0]
    ranked = np.sort(np.asarray(capacities.mbps, dtype=float), axis=0)[::-1][:2]
    end_s = ranked.shape[1] * capacities.step_s
    for axes, window in zip(grid, WINDOWS_S, strict=False):
        starts = np.arange(0, ranked.shape[1], max(1, window // capacities.step_s))
        counts = np.diff(starts, append=ranked.shape[1])
        for rates, name, colour in zip(ranked, ("strongest", "second"), LEGS, strict=False):
            means, line = np.add.reduceat(rates, starts) / counts, {"label": name, "color": colour}
            axes.step(starts * capacities.step_s, means, where="post", lw=0.8, **line)
        axes.set(ylabel=f"Mbit/s,\nmean of {window} s", xlabel="time (s)")
        axes.set(ylim=(0, None), xlim=(0, end_s))
    shares = np.cumsum(channel_statistics(capacities).available_shares)
    grid[-1].step(range(len(shares)), shares, where="post", color=LEGS[0], marker="o")
    grid[-1].set(xlabel="available channels", ylabel="cumulated share", ylim=(0, 1.05))
    grid[-1].set_xticks(range(len(shares)))
    legend(grid[0].get_figure(root=True), handles_of(grid[0]))
    grid[0].set_title(capacities.name, loc="right")
    return grid


def _directory(run: Any) -> Path:
    return Path(getattr(run, "directory", run))


def _run_panels(run: Path, scenario: Scenario) -> dict[str, Mapping[str, Line]]:
    """Return the panels of a run that have lines."""
    end_s = float(client_rate(run)["time_s"].max()) + 0.5
    bin_s = max(LEAST_BIN_S, end_s / MOST_BINS)
    rate, could = client_rate(run, bin_s), capacity_over_time(scenario, end_s, bin_s)
    panels: dict[str, Mapping[str, Line]] = {
        RECEIVED: {"": (rate["time_s"] + bin_s / 2, rate["rate_mbps"])}
    }
    rates = leg_rates(run, bin_s=max(bin_s, 2 * LEAST_BIN_S))
    for leg, rows in rates.groupby("leg"):
        capacity = could["time_s"], could[f"leg_{leg}_mbps"]
        panels[_leg_label(leg)] = {CAPACITY: capacity} | _lines(rows, "leg", "rate_mbps")
    panels["queues\n(kB)"] = _lines(leg_series(run), "leg", "queue_bytes", 1000)
    windows = _lines(congestion_series(run), "path", "cwnd_bytes", 1000)
    if len(windows) == 1:  # of a connection, whose packets may take any leg
        windows = {"": windows.popitem()[1]}
    panels["congestion\nwindow (kB)"] = windows
    workload = scenario.workload
    if not scenario.flows and (figure := workload.figure) is not None:
        lines = lines_of(read_rows(run, workload.kind, figure), figure)
        panels[textwrap.fill(figure.y_label, LABEL_LETTERS)] = {
            name: (line[figure.x], line[figure.y]) for name, line in lines
        }
    if (run / "ue-receive.csv").exists():
        held = pdcp_series(run)
        held = held[(held["bearer"] == 1) & (held["time_s"] >= 0)]
        panels["PDCP holds\n(packets)"] = {"": (held["time_s"], held["buffered"])}
    return {label: lines for label, lines in panels.items() if lines}


def _leg_label(leg: Any) -> str:
    return f"leg {leg}\n(Mbit/s)"


def _lines(table: pd.DataFrame, key: str, value: str, scale: float = 1) -> dict[str, Line]:
    """Return a line for each leg or path of a table."""
    known = table[table["time_s"] >= 0].dropna(subset=[value])
    groups = known.groupby(key)
    return {f"{key} {no:g}": (rows["time_s"], rows[value] / scale) for no, rows in groups}


def _losses(run: Path) -> dict[str, Any]:
    """Return by a leg's panel the times (s) of samples before which it had dropped packets."""
    series = leg_series(run)
    dropped = series["dropped_queue"] + series["dropped_loss"]
    lost = series[dropped.groupby(series["leg"]).diff() > 0]
    return {_leg_label(leg): rows["time_s"].to_numpy() for leg, rows in lost.groupby("leg")}


def _changes(scenario: Scenario, until_s: float) -> list[float]:
    """Return when paths were to change (s), without those at the beginning and after the end."""
    plans = [flow.paths for flow in scenario.resolved_flows if flow.paths is not None]
    moments: list[float] = []
    for at_s in sorted(event.at_s for plan in plans for event in plan.events):
        if at_s - (moments[-1] if moments else 0.0) > TOGETHER_S and at_s <= until_s:
            moments.append(at_s)
    return moments


def _grid(labels: Sequence[str], columns: int = 1, height: float = ROW_INCHES) -> Any:
    """Return axes that share their time, and in each row their values."""
    rows = max(1, len(labels))
    width = theme.PAGE_INCHES if columns > 1 else theme.COLUMN_INCHES * 1.3
    grid = theme.new_axes(height * rows + 0.4, width, rows, columns, sharex=True, sharey="row")
    for axes, label in zip(grid[:, 0], labels, strict=False):
        axes.set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    grid[0, 0].margins(x=0)
    grid[0, 0].get_figure(root=True).align_ylabels()
    return grid


def _draw(axes: Axes, lines: Mapping[str, Line], lost: Sequence[float] = ()) -> None:
    """Draw a panel: capacity as an area, lines by the number of their leg, losses at its top."""
    for number, (name, (times, values)) in enumerate(lines.items()):
        if name == CAPACITY:
            axes.fill_between(times, values, step="post", color="0.88", linewidth=0, label=name)
            continue
        last = name.rpartition(" ")[2]
        place = int(last) - 1 if last.isdigit() else number
        colour = LEGS[place % len(LEGS)] if name else "#111111"
        dash = DASHES[place % len(DASHES)]
        axes.plot(times, values, color=colour, linestyle=dash, linewidth=1.0, label=name)
    if not lines:
        middle: Any = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, "none", color="0.5", **middle)
    if len(lost):
        ticks: Any = {"color": "#B2182B", "markersize": 4, "label": LOST, "clip_on": False}
        top = np.full(len(lost), 0.97)
        axes.plot(lost, top, "|", transform=axes.get_xaxis_transform(), **ticks)


def _finished(grid: Any) -> Any:
    """Return the panels, which begin at 0, with a legend of legs, their capacity and losses."""
    for axes in grid.flat:  # only now, as the axes of a row share their limits
        axes.set(xlim=(0, None), ylim=(0, None))
    handles = handles_of(*grid.flat)
    names = sorted(filter(None, handles), key=lambda name: (name == LOST, name == CAPACITY, name))
    legend(grid[0, 0].get_figure(root=True), {name: handles[name] for name in names})
    return grid
