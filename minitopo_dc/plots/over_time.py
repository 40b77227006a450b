"""Runs over time: rates, queues, windows and losses on one axis; video sessions; drives."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from minitopo_dc.analysis import buffer_over_time, client_rate, leg_rates, leg_series, pdcp_series
from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.measures.congestion import congestion_series
from minitopo_dc.analysis.tables.playback import read_segments
from minitopo_dc.analysis.tables.rows import lines_of, read_rows
from minitopo_dc.plots import theme
from minitopo_dc.plots.labels import legend_above, legend_of
from minitopo_dc.plots.theme import kind_of, styled
from minitopo_dc.runs.capacity import capacity_over_time
from minitopo_dc.runs.results import load_as_run
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import Direction
from minitopo_dc.trace import Capacities, channel_statistics

LEGS = ("#882255", "#44AA99", "#332288", "#999933")
"""Colours of legs and paths, dark and light in turns, to be told apart in grey."""
DASHES: Sequence[Any] = ("-", (0, (4, 1.4)), (0, (1, 1.4)))
RECEIVED = "received\n(Mbit/s)"
CAPACITY, LOST = "the leg's capacity", "packets lost"
MOST_BINS, LEAST_BIN_S = 100, 0.1
"""More bins of a run are noise at this width; fewer than one a sample show where samples were."""
ROW_INCHES = 0.95
LABEL_LETTERS = 16
"""The most letters of a line of a panel's label."""
TOGETHER_S = 0.1
"""The time within which changes of paths share a mark: a handover is two of them."""
Line = tuple[Any, Any]
"""Times in s, and values."""
Panels = Mapping[str, Mapping[str, Line]]
"""By the label of its axis each panel, and by its name each line."""


@styled
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
    found = []
    for place, run in enumerate(runs):
        directory = Path(getattr(run, "directory", run))
        scenario = load_as_run(directory)
        name = names[place] if names else f"{scenario.transport} {scenario.mode}"
        with naming(directory):
            found.append((name, scenario, *_tracks(directory, scenario)))
    found.sort(key=lambda each: theme.ORDER.index(kind_of(each[0])))
    labels = dict.fromkeys(label for *_, panels, _ in found for label in panels)
    grid = _grid(list(labels), len(found))
    for (name, scenario, panels, losses), column in zip(found, grid.T, strict=True):
        for label, axes in zip(labels, column, strict=True):
            _draw(axes, panels.get(label, {}), losses.get(label, ()))
        for at_s in _changes(scenario, until_s=max(panels[RECEIVED][""][0])):
            for axes in column:
                axes.axvline(at_s, color="0.4", linewidth=0.6, linestyle=":", zorder=0.9)
        column[0].set_title(name)
    for axes in grid.flat:  # only now, as the axes of a row share their limits
        axes.set(xlim=(0, None), ylim=(0, None))
    _legend(grid)
    return grid


@styled
def legs(run: Any) -> Any:
    """Draw the rate of IP bytes that each leg of a run delivered, a panel for each direction.

    Returns:
        A column of axes.

    Raises:
        ResultError, OSError: a file of an element's is missing or broken.
    """
    grid = _grid([f"{direction}\n(Mbit/s)" for direction in get_args(Direction)], 1, height=1.3)
    for direction, axes in zip(get_args(Direction), grid[:, 0], strict=True):
        rates = leg_rates(Path(getattr(run, "directory", run)), direction)
        _draw(axes, _by(rates, "leg", "rate_mbps"), ())
        axes.set(xlim=(0, None), ylim=(0, None))
    _legend(grid)
    return grid[:, 0]


@styled
def series(panels: Panels, *, steps: Iterable[str] = (), until: float | None = None) -> Any:
    """Draw lines over time in panels above each other; the lines' names are ways.

    >>> plots.series({"received (Mbit/s)": {"DC": (times, rates), "MP-QUIC": (others, more)}})

    Args:
        panels: by the label of its axis each panel: by name the times (s) and values of its lines.
        steps: labels of panels whose values hold until the next one.
        until: the end of the time axis in s.

    Returns:
        A column of axes.
    """
    looks = theme.looks(name for lines in panels.values() for name in lines)
    grid = _grid(list(panels), 1, height=1.3)
    for (label, lines), axes in zip(panels.items(), grid[:, 0], strict=True):
        for name in filter(lines.__contains__, looks):
            line: Any = {"color": looks[name].colour, "linestyle": looks[name].dash, "label": name}
            drawn = "steps-post" if label in steps else "default"
            axes.plot(*lines[name], drawstyle=drawn, linewidth=1.0, **line)
        axes.set_ylim(bottom=0)
    if looks:
        legend_above(grid[0, 0], *grid[0, 0].get_legend_handles_labels())
    grid[0, 0].set_xlim(0, until)
    return grid[:, 0]


def session(runs: Mapping[str, Any], *, until: float | None = None) -> Any:
    """Draw sessions of video: what is there to be played, and the quality of each segment.

    >>> plots.session({"DC": "results/dc", "MP-QUIC": "results/mpquic"})

    Raises:
        ResultError: a run has no `video.csv`, or it is broken.
    """
    buffers, rates = {}, {}
    for name, run in runs.items():
        segments = read_segments(Path(getattr(run, "directory", run)))
        buffers[name] = buffer_over_time(segments)
        rates[name] = (segments["done_s"], segments["bitrate_mbps"])
    panels: Panels = {"buffer (s)": buffers, "bitrate (Mbit/s)": rates}
    return series(panels, steps=["bitrate (Mbit/s)"], until=until)


@styled
def drive(capacities: Capacities, windows_s: Sequence[int] = (1, 5)) -> Any:
    """Draw a drive's two strongest channels over time, and how many channels there are.

    These are figures 1 and 2 of Krämer et al., Electronics 11 (2022) 1492.

    Args:
        capacities: of the channels.
        windows_s: the seconds over which rates are means, a panel each.

    Returns:
        A column of axes.
    """
    rows = len(windows_s) + 1
    grid = theme.new_axes(1.3 * rows, theme.PAGE_INCHES, rows, 1)[:, 0]
    ranked = np.sort(np.asarray(capacities.mbps, dtype=float), axis=0)[::-1][:2]
    for axes, window in zip(grid, windows_s, strict=False):
        steps = max(1, window // capacities.step_s)
        starts = np.arange(0, ranked.shape[1], steps)
        for rates, name, colour in zip(ranked, ("strongest", "second"), LEGS, strict=False):
            means = [rates[start : start + steps].mean() for start in starts]
            axes.step(
                starts * capacities.step_s, means, where="post", label=name, color=colour, lw=0.8
            )
        axes.set(ylabel=f"Mbit/s,\nmean of {window} s", xlabel="time (s)", ylim=(0, None))
        axes.set_xlim(0, ranked.shape[1] * capacities.step_s)
    shares = np.cumsum(channel_statistics(capacities).available_shares)
    grid[-1].step(range(len(shares)), shares, where="post", color=LEGS[0], marker="o")
    grid[-1].set(xlabel="available channels", ylabel="cumulated share", ylim=(0, 1.05))
    grid[-1].set_xticks(range(len(shares)))
    legend_above(grid[0], *grid[0].get_legend_handles_labels())
    grid[0].set_title(capacities.name, loc="right")
    return grid


def _tracks(run: Path, scenario: Scenario) -> tuple[dict[str, dict[str, Line]], dict[str, Any]]:
    """Return the panels of a run, and by the label of a leg's panel when it lost packets."""
    legs, panels, losses = leg_series(run), dict[str, dict[str, Line]](), {}
    end_s = float(client_rate(run)["time_s"].max()) + 0.5
    bin_s = max(LEAST_BIN_S, end_s / MOST_BINS)
    rate, could = client_rate(run, bin_s), capacity_over_time(scenario, end_s, bin_s)
    panels[RECEIVED] = {"": (rate["time_s"] + bin_s / 2, rate["rate_mbps"])}
    rates = leg_rates(run, bin_s=max(bin_s, 2 * LEAST_BIN_S))
    for leg, rows in rates.groupby("leg"):
        label = f"leg {leg}\n(Mbit/s)"
        capacity = could["time_s"], could[f"leg_{leg}_mbps"]
        panels[label] = {CAPACITY: capacity, f"leg {leg}": (rows["time_s"], rows["rate_mbps"])}
        losses[label] = _losses(legs[legs["leg"] == leg])
    queues = _by(legs.assign(kb=legs["queue_bytes"] / 1000), "leg", "kb")
    sender = congestion_series(run)
    windows = _by(sender.assign(kb=sender["cwnd_bytes"] / 1000), "path", "kb")
    if len(windows) == 1:  # of a connection, whose packets may take any leg
        windows = {"": windows.popitem()[1]}
    panels |= {"queues\n(kB)": queues, "congestion\nwindow (kB)": windows} | _rows(run, scenario)
    if (run / "ue-receive.csv").exists():
        held = pdcp_series(run)
        held = held[(held["bearer"] == 1) & (held["time_s"] >= 0)]
        panels["PDCP holds\n(packets)"] = {"": (held["time_s"], held["buffered"])}
    return {label: lines for label, lines in panels.items() if lines}, losses


def _rows(run: Path, scenario: Scenario) -> dict[str, dict[str, Line]]:
    """Return the panel of the workload's rows, such as the delay of each request, if it has one."""
    workload = scenario.workload
    if scenario.flows or (rows := workload.figure) is None:
        return {}
    lines = lines_of(read_rows(run, workload.kind, rows), rows)
    drawn = {name: (line[rows.x], line[rows.y]) for name, line in lines}
    return {textwrap.fill(rows.y_label, LABEL_LETTERS): drawn}


def _by(table: pd.DataFrame, key: str, value: str) -> dict[str, Line]:
    known = table[table["time_s"] >= 0].dropna(subset=[value])
    return {
        f"{key} {number:g}": (rows["time_s"], rows[value]) for number, rows in known.groupby(key)
    }


def _losses(leg: pd.DataFrame) -> Any:
    """Return the times (s) of the samples in which a leg had dropped more packets than before."""
    dropped = leg[["dropped_queue", "dropped_loss"]].sum(axis=1).diff()
    return leg["time_s"][dropped > 0].to_numpy()


def _changes(scenario: Scenario, until_s: float) -> list[float]:
    """Return when paths were to change (s), without those at the beginning and after the end."""
    plans = [flow.paths for flow in scenario.resolved_flows if flow.paths is not None]
    moments: list[float] = []
    for at_s in sorted(event.at_s for plan in plans for event in plan.events):
        if at_s - (moments[-1] if moments else 0.0) > TOGETHER_S and at_s <= until_s:
            moments.append(at_s)
    return moments


def _grid(labels: Sequence[str], columns: int, height: float = ROW_INCHES) -> Any:
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


def _draw(axes: Axes, lines: Mapping[str, Line], lost: Any) -> None:
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
        axes.plot(lost, np.full(len(lost), 0.97), "|", color="#B2182B", markersize=4, label=LOST,
                  transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip


def _legend(grid: Any) -> None:
    """Write the names of legs, of their capacity and of losses above all panels, each once."""
    pairs = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in grid.flat]
    found = {name: handle for pair in pairs for handle, name in pair}
    lines = sorted(name for name in found if name and name not in (CAPACITY, LOST))
    names = [*lines, *(name for name in (CAPACITY, LOST) if name in found)]
    legend_of(grid[0, 0].get_figure(root=True), [found[name] for name in names], names)
