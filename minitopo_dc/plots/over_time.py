"""Runs over time: rates, queues, windows and losses on one axis; video sessions; drives."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from minitopo_dc.fields import Direction
from minitopo_dc.plots import theme
from minitopo_dc.plots.theme import LEGS, ordered, style
from minitopo_dc.results import buffer_over_time, client_rate, leg_rates, leg_series, pdcp_series
from minitopo_dc.results.files import naming, read_numbers
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.measures.account import losses_over_time
from minitopo_dc.results.measures.delays import FILE as DELAYS
from minitopo_dc.results.measures.delays import PARTS, packet_delays
from minitopo_dc.results.run_result import capacity_over_time
from minitopo_dc.results.tables.series import congestion_series, element_series, read_segments
from minitopo_dc.scenario import Scenario
from minitopo_dc.trace import Capacities, channel_statistics
from minitopo_dc.workloads import RowsFigure

DASHES: Sequence[Any] = ("-", (0, (4, 1.4)), (0, (1, 1.4)))
RECEIVED = "received\n(Mbit/s)"
CAPACITY, LOST = "capacity", "packets lost"
"""Lines that are drawn as an area, and as ticks at the top of their panel."""
MOST_BINS, LEAST_SAMPLES = 100, 2
"""More bins of a run are noise at this width; with fewer samples a bin, rates would show where in
it the samples were."""
ROW_INCHES = 1.0
"""The height of a panel."""
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
    queue, the windows of the paths, the packets that wait for a leg at gnb, those that PDCP holds
    back at ue, and the parts of packets' delays, of runs with `virtual.packet_delays`. Ticks at the
    top of a panel show losses there, a dotted line where a path was to change. Returns an array of
    axes with a row a panel, a column a run.

    Args:
        runs: directories of runs that are ok, or objects with a `directory`.
        names: of the runs; none: their transport and mode.

    Raises:
        ResultError, SettingsError, OSError: a file of a run is missing or broken.
    """
    directories = [*map(_directory, runs)]
    scenarios = [*map(load_as_run, directories)]
    names = names or [f"{scenario.transport} {scenario.mode}" for scenario in scenarios]
    order = sorted(range(len(runs)), key=lambda run: ordered(names).index(names[run]))
    columns = []
    for run in order:
        with naming(directories[run]):
            columns.append(_run_panels(directories[run], scenarios[run]))
    grid = _grid(columns, _leg_look)
    for run, panels, column in zip(order, columns, grid.T, strict=True):
        column[0].set_title(names[run])
        plans = [flow.paths.events for flow in scenarios[run].resolved_flows if flow.paths]
        changes = {event.at_s for plan in plans for event in plan}
        for axes in column:
            for at_s in changes:
                if 0 < at_s <= max(panels[RECEIVED][""][0]):
                    axes.axvline(at_s, color="0.4", linewidth=0.6, linestyle=":", zorder=0.9)
            if not axes.has_data():
                middle: Any = {"transform": axes.transAxes, "ha": "center", "va": "center"}
                axes.text(0.5, 0.5, "none", color="0.5", **middle)
    return grid


@style()
def legs(run: Any) -> Any:
    """Draw the rate of IP bytes that each leg of a run delivered, in a column of axes.

    Raises:
        ResultError, OSError: a file of an element's is missing or broken.
    """
    panels = {
        f"{direction}\n(Mbit/s)": rates(leg_rates(_directory(run), direction), "leg")
        for direction in get_args(Direction)
    }
    return _grid([panels], _leg_look)[:, 0]


def rates(table: pd.DataFrame, by: str = "") -> dict[str, Line]:
    """Return a table of rates in bins as lines for `series`, each rate at the middle of its bin.

    >>> plots.series({"Mbit/s": plots.rates(dc.results.path_rates("results/run"), "leg")})

    Args:
        table: has `time_s`, the begins of bins of one width, and `rate_mbps`, e.g. `client_rate`.
        by: the column that tells lines apart; empty: there is one, without a name.
    """
    widths = np.diff(np.unique(table["time_s"]))
    middles = table.assign(time_s=table["time_s"] + (widths.min() / 2 if len(widths) else 0.0))
    if by:
        return _lines(middles, by, "rate_mbps")
    return {"": (middles["time_s"], middles["rate_mbps"])}


@style()
def series(panels: Panels, *, steps: Iterable[str] = (), until: float | None = None) -> Any:
    """Draw lines over time in panels above each other; the lines' names are ways.

    >>> plots.series({"received (Mbit/s)": {"DC": (times, rates), "MP-QUIC": (others, more)}})

    Times are in s. The values of the panels named in `steps` hold until the next one; the axis of
    time ends at `until`. Returns a column of axes.
    """
    looks = theme.looks(name for lines in panels.values() for name in lines)

    def look(way: str, _: int) -> dict[str, Any]:
        return {"color": looks[way].colour, "linestyle": looks[way].dash}

    grid = _grid([panels], look, steps)
    grid[0, 0].set_xlim(0, until)
    return grid[:, 0]


def session(runs: Mapping[str, Any]) -> Any:
    """Draw sessions of video: what is there to be played, and the quality of each segment.

    >>> plots.session({"DC": "results/dc", "MP-QUIC": "results/mpquic"})

    Raises:
        ResultError: a run has no `video.csv`, or it is broken.
    """
    segments = {name: read_segments(_directory(run)) for name, run in runs.items()}
    rates = {name: (rows["done_s"], rows["bitrate_mbps"]) for name, rows in segments.items()}
    buffers = {name: buffer_over_time(rows) for name, rows in segments.items()}
    panels: Panels = {"buffer (s)": buffers, "bitrate (Mbit/s)": rates}
    return series(panels, steps=["bitrate (Mbit/s)"])


@style()
def drive(capacities: Capacities) -> Any:
    """Draw a drive's two strongest channels over time, and how many channels there are.

    These are figures 1 and 2 of Krämer et al., Electronics 11 (2022) 1492, in a column of axes.
    """
    rows = len(WINDOWS_S) + 1
    grid = theme.grid_of(theme.new_figure(theme.PAGE_INCHES, ROW_INCHES * rows), rows)[:, 0]
    ranked = np.sort(np.asarray(capacities.mbps, dtype=float), axis=0)[::-1][:2]
    for axes, window in zip(grid, WINDOWS_S, strict=False):
        starts = np.arange(0, ranked.shape[1], max(1, window // capacities.step_s))
        counts = np.diff(starts, append=ranked.shape[1])
        for rates, name, colour in zip(ranked, ("strongest", "second"), LEGS, strict=False):
            means, line = np.add.reduceat(rates, starts) / counts, {"label": name, "color": colour}
            axes.step(starts * capacities.step_s, means, where="post", lw=0.8, **line)
        axes.set(ylabel=f"Mbit/s,\nmean of {window} s", xlabel="time (s)", ylim=(0, None))
        axes.set_xlim(0, ranked.shape[1] * capacities.step_s)
    shares = np.cumsum(channel_statistics(capacities).available_shares)
    grid[-1].step(range(len(shares)), shares, where="post", color=LEGS[0], marker="o")
    grid[-1].set(xlabel="available channels", xticks=range(len(shares)))
    grid[-1].set(ylabel="cumulated share", ylim=(0, 1.05))
    grid[0].set_title(capacities.name, loc="right")
    theme.legend(grid[0])
    return grid


def _directory(run: Any) -> Path:
    return Path(getattr(run, "directory", run))


def _run_panels(run: Path, scenario: Scenario) -> Panels:
    sampled, losses = leg_series(run), losses_over_time(run)
    bin_s = _bin_s(run, sampled["time_s"])
    rate, carried = client_rate(run, bin_s), leg_rates(run, bin_s=bin_s)
    end_s = float(rate["time_s"].max()) + bin_s
    could = capacity_over_time(scenario.legs, end_s, bin_s)
    could.loc[len(could)] = {**could.iloc[-1], "time_s": end_s}  # an area's last bin has an end
    panels: dict[str, Mapping[str, Line]] = {RECEIVED: rates(rate)}
    for leg, rows in carried.groupby("leg"):
        capacity = could["time_s"], could[f"leg_{leg}_mbps"]
        lines = {CAPACITY: capacity} | rates(rows, "leg")
        panels[f"leg {leg}\n(Mbit/s)"] = lines | _losses(losses, f"leg {leg}")
    panels["queues\n(kB)"] = _lines(sampled, "leg", "queue_bytes", 1000)
    windows = _lines(congestion_series(run), "path", "cwnd_bytes", 1000)
    if len(windows) == 1:  # of a connection, whose packets may take any leg
        windows = {"": windows.popitem()[1]}
    panels["congestion\nwindow (kB)"] = windows
    workload = scenario.workload
    if not scenario.flows and (figure := workload.figure) is not None:
        rows = read_numbers(run, f"{workload.kind}.csv", figure.columns)
        panels[textwrap.fill(figure.y_label, 16)] = {
            name: (line[figure.x], line[figure.y]) for name, line in _lines_of(rows, figure)
        }
    if (run / "gnb-transmit.csv").exists():
        waiting = _of_bearer(element_series(run, "gnb", "transmit", "bearer"), "waiting")
        panels["waits for a\nleg (packets)"] = waiting | _losses(losses, "transmit 1")
    if (run / "ue-receive.csv").exists():
        held = _of_bearer(pdcp_series(run), "buffered")
        panels["PDCP holds\n(packets)"] = held | _losses(losses, "receive 1")
    if (run / DELAYS).exists():
        panels["packet delay\n(ms)"] = _delay_parts(run, scenario, bin_s)
    return {label: lines for label, lines in panels.items() if lines}


def _bin_s(run: Path, samples: pd.Series[float]) -> float:
    """Return the width in s of the bins of all rates of a run, by when its legs were sampled."""
    every_s = float(np.median(np.diff(np.unique(samples)))) if samples.nunique() > 1 else 0.1
    end_s = float(client_rate(run, every_s)["time_s"].max()) + every_s
    return max(LEAST_SAMPLES * every_s, end_s / MOST_BINS)


def _lines(table: pd.DataFrame, key: str, value: str, scale: float = 1) -> dict[str, Line]:
    known = table[table["time_s"] >= 0].dropna(subset=[value])
    groups = known.groupby(key)
    return {f"{key} {no:g}": (rows["time_s"], rows[value] / scale) for no, rows in groups}


def _of_bearer(sampled: pd.DataFrame, value: str) -> dict[str, Line]:
    """Return a gauge of the first bearer; nothing where it has none."""
    rows = sampled[(sampled["bearer"] == 1) & (sampled["time_s"] >= 0)]
    return {"": (rows["time_s"], rows[value])} if value in rows else {}


def _lines_of(rows: pd.DataFrame, figure: RowsFigure) -> Iterator[tuple[str, pd.DataFrame]]:
    groups: Any = rows.groupby(list(figure.lines)) if figure.lines else [((), rows)]
    for values, line in groups:
        named = zip(figure.lines, values, strict=True)
        texts = (figure.words.get(key, {}).get(of) or f"{key} {of}" for key, of in named)
        yield ", ".join(texts), line


def _delay_parts(run: Path, scenario: Scenario, bin_s: float) -> dict[str, Line]:
    """Return the mean of each part of the packets' delays in bins, on top of the parts before it.

    The highest comes first, so that the areas of the others are drawn over it.
    """
    packets = packet_delays(run)
    packets = packets[packets["direction"].isin(scenario.loads)]
    bins = (packets["time_s"] // bin_s + 0.5) * bin_s
    means = packets[[f"{part}_ms" for part in PARTS]].groupby(bins).mean().fillna(0)
    heights = means.cumsum(axis="columns")
    shown = [part for part in PARTS if means[f"{part}_ms"].any()]
    return {part: (heights.index, heights[f"{part}_ms"]) for part in reversed(shown)}


def _losses(losses: pd.DataFrame, part: str) -> dict[str, Line]:
    """Return the times (s) of samples before which a leg or bearer lost packets, if it has."""
    rows = losses[losses["part"] == part]
    lost = rows[rows["lost"].diff() > 0]
    return {LOST: (lost["time_s"], np.full(len(lost), 0.97))} if len(lost) else {}


def _leg_look(name: str, number: int) -> dict[str, Any]:
    last = name.rpartition(" ")[2]
    place = int(last) - 1 if last.isdigit() else number
    colour = LEGS[place % len(LEGS)] if name else theme.INK
    return {"color": colour, "linestyle": DASHES[place % len(DASHES)]}


def _grid(
    columns: Sequence[Panels],
    look: Callable[[str, int], dict[str, Any]],
    steps: Iterable[str] = (),
) -> Any:
    labels = [*dict.fromkeys(label for panels in columns for label in panels)]
    width = theme.PAGE_INCHES if len(columns) > 1 else theme.COLUMN_INCHES * 1.3
    figure: Any = theme.new_figure(width, ROW_INCHES * len(labels) + 0.4)
    grid = theme.grid_of(figure, len(labels), len(columns), sharex=True, sharey="row")
    for label, row in zip(labels, grid, strict=True):
        row[0].set_ylabel(label)
        for axes, panels in zip(row, columns, strict=True):
            for number, (name, line) in enumerate(panels.get(label, {}).items()):
                drawn = "steps-post" if label in steps else "default"
                _draw(axes, name, line, drawstyle=drawn, **look(name, number))
    grid[0, 0].margins(x=0)
    for axes in grid.flat:  # only now, as the axes of a row share their limits
        axes.set(xlim=(0, None), ylim=(0, None))
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    figure.align_ylabels()
    theme.legend(grid[0, 0])
    return grid


def _draw(axes: Axes, name: str, line: Line, **look: Any) -> None:
    if name == CAPACITY:
        axes.fill_between(*line, step="post", color="0.88", linewidth=0, label=name)
    elif name in theme.DELAYS:
        axes.fill_between(*line, color=theme.DELAYS[name], linewidth=0, label=name)
    elif name == LOST:
        ticks: Any = {"color": theme.LOST, "markersize": 4, "clip_on": False}
        axes.plot(*line, "|", transform=axes.get_xaxis_transform(), label=name, **ticks)
    else:
        axes.plot(*line, linewidth=1.0, label=name, **look)
