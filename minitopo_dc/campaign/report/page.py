"""The report as one HTML file that needs no other: charts as data, uPlot, and the template."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jinja2

from minitopo_dc.analysis.figures.chart import (
    COLOURS,
    DASHES,
    MARKERS,
    Axis,
    Chart,
    Numbers,
    Panel,
    Series,
)
from minitopo_dc.campaign.report.words import duration, percent, share, significant

PAGE = Path(__file__).with_name("page")
DIGITS_X, DIGITS_Y = 6, 4
"""Significant digits of coordinates: more than a screen has pixels; times may begin late."""


def render(context: Mapping[str, Any], charts: Iterable[Chart]) -> str:
    """Return the HTML of the page.

    Args:
        context: what the template shows.
        charts: the charts that it names by `data-chart`.
    """
    data = {
        "looks": {"colours": COLOURS, "dashes": DASHES, "markers": MARKERS},
        "charts": {chart.name: _chart(chart) for chart in charts},
    }
    return _template().render(
        **context,
        data=_script(data),
        library=_text("uplot/uPlot.iife.min.js"),
        licence=_text("uplot/LICENSE"),
        style=_text("uplot/uPlot.min.css") + _text("report.css"),
        script=_text("report.js"),
    )


def _script(data: Any) -> str:
    """Return JSON for use within HTML, where no text of a campaign can end the script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _chart(chart: Chart) -> dict[str, Any]:
    return {
        "name": chart.name,
        "together": chart.together,
        "panels": [_panel(panel) for panel in chart.panels],
    }


def _panel(panel: Panel) -> dict[str, Any]:
    xs: dict[str, list[float | None]] = {}
    series = [_series(each, xs) for each in panel.series]
    scale = panel.scale
    return {
        "title": panel.title,
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "series": series,
        "xs": list(xs.values()),
        "marks": [(mark.x, mark.label, mark.colour) for mark in panel.shown_marks],
        "level_x": panel.level_x,
        "level_y": panel.level_y,
        "sideways": panel.sideways,
        "scale": None if scale is None else asdict(scale) | {"colours": scale.colours},
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return asdict(axis)


def _series(series: Series, xs: dict[str, list[float | None]]) -> dict[str, Any]:
    """Return a series; its x is the place in `xs`, which series with equal x share."""
    x = _numbers(series.x, DIGITS_X)
    key = json.dumps(x)
    xs.setdefault(key, x)
    first, third = series.quartiles or (None, None)
    more = {"low": series.low, "high": series.high, "first": first, "third": third}
    more |= {"left": series.left, "right": series.right}
    found = {name: _numbers(values) for name, values in more.items() if values is not None}
    if series.values is not None:
        found["values"] = _numbers(series.values)
    return {
        "label": series.label,
        "x": list(xs).index(key),
        "y": _numbers(series.y),
        "line": series.line,
        **asdict(series.look),
        **found,
    }


def _numbers(values: Numbers, digits: int = DIGITS_Y) -> list[float | None]:
    return [
        float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()
    ]


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(number=significant, percent=percent, share=share, duration=duration)
    return environment.from_string(_text("report.html"))


def _text(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")
