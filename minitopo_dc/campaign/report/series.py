"""Charts over time of the first run of each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minitopo_dc.analysis.errors import ResultError, naming
from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Look,
    Numbers,
    Panel,
    Series,
    lines,
    look,
    numbers,
    plain,
    until,
    value_name,
)
from minitopo_dc.analysis.figures.path_rates import path_lines, path_marks
from minitopo_dc.analysis.logs.connection_log import connection_log, sender_recovery
from minitopo_dc.analysis.measures.congestion import congestion_series
from minitopo_dc.analysis.measures.delays import DELAYS, delays_of
from minitopo_dc.analysis.measures.drop_occasion import ACKNOWLEDGED, LOST, SENT, drop_occasion
from minitopo_dc.analysis.measures.utilisation import flow_rates, leg_rates
from minitopo_dc.analysis.tables.rows import lines_of, read_rows
from minitopo_dc.analysis.tables.series import client_rate
from minitopo_dc.campaign.file.fields import Figure
from minitopo_dc.campaign.report.evaluation import Source, run_value
from minitopo_dc.campaign.report.media import against, rows_cdf, rows_of, session
from minitopo_dc.runs.results import flow_directory, load_as_run
from minitopo_dc.workloads import RowsFigure, Workload

MAX_PACKETS = 1500
"""The most packets that are drawn in one panel; of more, the extremes of each interval."""
BELOW = 0.8
"""The place of crosses of requests without an answer on a log axis, as a part of the least
value."""
CROSS = 4
CONNECTION_BIN_S = 0.1
"""Two round trips of the mesh study: what slow start changes in one shows in the next."""
CONNECTION_PANELS = ("received (Mbit/s)", "congestion window (kB)", "smoothed round trip (ms)")
RUNS_CAPTION = "Each curve is one run: the first repetition."
DELAY_CAPTION = (
    f"Each dot is a packet, from its sending to its arrival; of more than {MAX_PACKETS} in a "
    f"panel, the fastest and the slowest of each interval. {RUNS_CAPTION}"
)
TRADE_CAPTION = (
    "Filled: mean over all runs of the configuration; hollow: each run. "
    "Better is up and to the left."
)
NO_ANSWER = "no answer"
Curves = Callable[[Path], tuple[Series, ...]]


def series_chart(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart | None:
    """Return a chart with a panel for each cell, or as the kind of figure says.

    Raises:
        ResultError: a file that the figure needs is missing or broken.
    """
    found = SERIES[figure.kind](chart, sources, figure)
    return found if found.panels else None


def _legs(run: Path) -> tuple[Series, ...]:
    rates = leg_rates(run).groupby("leg")
    return lines({f"leg {leg}": (rows["time_s"], rows["rate_mbps"]) for leg, rows in rates})


def _window(run: Path) -> tuple[Series, ...]:
    window = sender_recovery(run).window
    return lines({"window": (window["time_s"], window["cwnd_bytes"] / 1000)}, "steps")


def _occasion(run: Path) -> tuple[Series, ...]:
    events = drop_occasion(run)
    found = []
    for number, label in enumerate((SENT, ACKNOWLEDGED, LOST)):
        rows = events[events["event"] == label]
        points = numbers(rows["time_ms"]), numbers(rows["packet_number"])
        found.append(Series(label, *points, look(number), "none"))
    return tuple(found)


def _rates(run: Path) -> tuple[Series, ...]:
    rates = flow_rates(run).groupby("flow")
    return lines(
        {f"connection {flow}": (rows["time_s"], rows["rate_mbps"]) for flow, rows in rates}
    )


def _delay(run: Path) -> tuple[Series, ...]:
    packets = connection_log(run).packets.dropna(subset=["received_s"])
    sent, delay = (numbers(packets["sent_s"]),
                   numbers(1000 * (packets["received_s"] - packets["sent_s"])))  # fmt: skip
    kept = _extremes(delay, MAX_PACKETS)
    return (Series("packet", sent[kept], delay[kept], Look(marker=0), "none"),)


def _extremes(values: Numbers, most: int) -> Any:
    """Return the places of all values, or of the least and the greatest of each interval."""
    if len(values) <= most:
        return np.arange(len(values))
    parts = np.array_split(np.arange(len(values)), most // 2)
    ends = [(part[values[part].argmin()], part[values[part].argmax()]) for part in parts]
    return np.unique(np.array(ends))


def _by_cell(curves: Curves, caption: str = RUNS_CAPTION) -> Kind:
    """Return what makes a panel for each cell with a run that is ok, of each source."""

    def made(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
        panels = []
        for title, run in _first_runs(sources, chart.name, figure):
            with naming(run):
                series = tuple(until(each, figure.seconds) for each in curves(run))
                marks = tuple(path_marks(run)) if figure.kind == "paths" else ()
            x, y = Axis(_time(figure)), Axis(figure.y_label, from_zero=figure.kind != "occasion")
            panels.append(Panel(title, x, y, series, marks))
        together = figure.kind != "occasion"
        return replace(chart, panels=tuple(panels), caption=caption, together=together)

    return made


def _time(figure: Figure) -> str:
    return figure.x_label or "time (s)"


def _first_runs(sources: Sequence[Source], name: str, figure: Figure) -> Iterator[tuple[str, Path]]:
    """Yield title and directory of the first ok run of each cell, of each source."""
    for source in sources:
        rows = source.cells_of(name)
        several = rows["configuration"].nunique() > 1
        for _, cell in rows[rows["status"] == "ok"].groupby("cell", sort=True):
            first = cell.iloc[0]
            parts = [first["configuration"]] if several else []
            parts += [value_name(first["factors"].get(figure.x))] if figure.x else []
            title = ", ".join(parts) or str(first["configuration"])
            yield (
                title + (f" ({source.label})" if len(sources) > 1 else ""),
                Path(first["directory"]),
            )


def _rows(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make a panel for each configuration of each source: the rows of each cell's first run."""
    panels = []
    for source in sources:
        ok = source.cells_of(chart.name)
        ok = ok[ok["status"] == "ok"]
        for configuration, cells in ok.groupby("configuration", sort=False):
            firsts = cells.groupby("cell", sort=True).first()
            found: list[Series] = []
            for run, factors in zip(firsts["directory"], firsts["factors"], strict=True):
                label = value_name(factors.get(figure.x))
                for each in _lines_of_rows(Path(run), label, len(found)):
                    found.append(until(each, figure.seconds))
            y = Axis(figure.y_label, log=True)
            title = f"{configuration} ({source.label})"
            panels.append(Panel(title, Axis(_time(figure)), y, tuple(_with_crosses(found))))
    return replace(chart, panels=tuple(panels), caption=RUNS_CAPTION, together=True)


def _lines_of_rows(run: Path, label: str, number: int) -> Iterator[Series]:
    """Yield each line of a run's workload; with several flows, of the first one that has rows."""
    with naming(run):
        rows, wanted = rows_of(run)
    for place, (name, line) in enumerate(lines_of(rows, wanted)):
        points = numbers(line[wanted.x]), numbers(line[wanted.y])
        yield Series(", ".join(filter(None, (label, name))), *points, look(number + place))


def _with_crosses(found: Sequence[Series]) -> Iterator[Series]:
    """Yield the series, and crosses at the bottom for requests without an answer."""
    yield from found
    missing = [each.x[np.isnan(each.y)] for each in found]
    values = np.concatenate([each.y for each in found]) if found else np.array([])
    if any(map(len, missing)):
        x = np.concatenate(missing)
        lowest = BELOW * np.nanmin(values) if np.isfinite(values).any() else 1.0
        yield Series(NO_ANSWER, x, np.full(len(x), lowest), Look(6, marker=CROSS), "none")


def _under_load(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make panels of the rate that clients received and of the delays measured meanwhile."""
    rates: list[Series] = []
    delays: list[Series] = []
    delay_label = ""
    for number, (title, run) in enumerate(_first_runs(sources, chart.name, figure)):
        with naming(run):
            rate = client_rate(run)
            at, workload, wanted = _probe(run)
            rows = read_rows(at, workload.kind, wanted)
        delay_label = f"{wanted.title}: {wanted.y_label}"
        received = numbers(rate["time_s"]), numbers(rate["rate_mbps"])
        rates.append(until(Series(title, *received, plain(number)), figure.seconds))
        points = numbers(rows[wanted.x]), numbers(rows[wanted.y])
        delays.append(until(Series(title, *points, look(number)), figure.seconds))
    if not rates:
        return chart
    x = Axis(_time(figure), from_zero=True)
    panels = (
        Panel("", x, Axis("received by all clients (Mbit/s)", from_zero=True), tuple(rates)),
        Panel("", x, Axis(delay_label, from_zero=True), tuple(delays)),
    )
    return replace(chart, panels=panels, caption=RUNS_CAPTION, together=True)


def _connection(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make panels of rate, window and round trip, with a line for the first run of each cell."""
    found: list[tuple[Series, ...]] = []
    for number, (title, run) in enumerate(_first_runs(sources, chart.name, figure)):
        with naming(run):
            curves = _over_time(run)
        made = (Series(title, numbers(x), numbers(y), plain(number)) for x, y in curves)
        found.append(tuple(until(each, figure.seconds) for each in made))
    x = Axis(_time(figure), from_zero=True)
    panels = tuple(
        Panel("", x, Axis(label, from_zero=True), series)
        for label, series in zip(CONNECTION_PANELS, zip(*found, strict=True), strict=False)
    )
    return replace(chart, panels=panels, caption=RUNS_CAPTION, together=True)


def _over_time(run: Path) -> Iterator[tuple[Any, Any]]:
    """Yield times and values of each of `CONNECTION_PANELS`, of the first flow's first path."""
    rate, sender = client_rate(run, CONNECTION_BIN_S), congestion_series(run)
    sender = sender[sender["path"] == sender["path"].min()]
    sampled = sender[sender["smoothed_rtt_ms"] > 0]  # it is 0 before the first sample
    yield rate["time_s"], rate["rate_mbps"]
    yield sender["time_s"], sender["cwnd_bytes"] / 1000
    yield sampled["time_s"], sampled["smoothed_rtt_ms"]


def _probe(run: Path) -> tuple[Path, Workload, RowsFigure]:
    """Return directory, workload and figure of the first flow that measures delays."""
    scenario = load_as_run(run)
    for number, flow in enumerate(scenario.resolved_flows, start=1):
        if flow.workload.figure is not None:
            at = flow_directory(run, number, alone=not scenario.flows)
            return at, flow.workload, flow.workload.figure
    raise ResultError(
        f"{run}: no flow measures delays; give one the workload request-response or ping"
    )


def _throughput_delay(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make a panel of goodput over the 95th percentile of the delay, and one over its median."""
    panels = []
    for words, part in (("95th percentile", "p95"), ("median", "median")):
        series = tuple(_rate_delay_series(chart.name, sources, figure, part))
        if any(np.isfinite(each.x).any() for each in series):
            x = Axis(f"{DELAYS[delays_of(figure.curves[0].measure)]}, {words} (ms)", from_zero=True)
            y = Axis("goodput (Mbit/s)", from_zero=True)
            panels.append(Panel("", x, y, series))
    return replace(chart, panels=tuple(panels), caption=TRADE_CAPTION)


def _rate_delay_series(
    name: str, sources: Sequence[Source], figure: Figure, part: str
) -> Iterator[Series]:
    number = 0
    for curve in figure.curves:
        for source in sources:
            rows = source.cells_of(name, curve.configuration).to_dict("records")
            measure = f"{delays_of(curve.measure)}_{part}_ms"
            delays = numbers(run_value(row, measure, endless=False) for row in rows)
            rates = numbers(run_value(row, "goodput_mbps", endless=False) for row in rows)
            label = curve.label or curve.configuration
            label += f" ({source.label})" if len(sources) > 1 else ""
            known = np.isfinite(delays) & np.isfinite(rates)
            if known.any():
                mean = np.array([delays[known].mean()]), np.array([rates[known].mean()])
                yield Series(label, *mean, look(number), "none")
                each = delays[known], rates[known]
                yield Series(
                    f"{label}, each run", *each, replace(look(number), hollow=True), "none"
                )
            number += 1


Kind = Callable[[Chart, Sequence[Source], Figure], Chart]
SERIES: dict[str, Kind] = {
    "legs": _by_cell(_legs),
    "window": _by_cell(_window),
    "rates": _by_cell(_rates),
    "paths": _by_cell(lambda run: tuple(path_lines(run))),
    "occasion": _by_cell(_occasion),
    "delay": _by_cell(_delay, DELAY_CAPTION),
    "rows": _rows,
    "connection": _connection,
    "under-load": _under_load,
    "throughput-delay": _throughput_delay,
    "rows-cdf": rows_cdf,
    "against": against,
    "session": session,
}
