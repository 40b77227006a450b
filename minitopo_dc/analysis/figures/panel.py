"""One panel of the goodput figure: the runs of one transport in one mode."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.font_manager import findfont, get_font

from minitopo_dc.analysis.tables.series import BIN_S, client_rate
from minitopo_dc.analysis.tables.summary import row_name
from minitopo_dc.runs.results import flow_windows

FONT = "DejaVu Sans"
"""A font that comes with Matplotlib, so that it is everywhere."""
RATE_COLOUR = "#0072B2"
"""Blue of the palette of Okabe and Ito (Color Universal Design); all else is grey."""
STATUS_COLOURS = {"failed": "#B34700", "disturbed": "#B34700", "unsupported": "#555555"}
"""Colours of the statuses, whose names are beside them: no colour is needed to tell them apart."""
LEG_GREYS = (0.80, 0.92)
"""Lightness of the first and of the last leg's capacity."""
REASON_WIDTH, REASON_LINES = 44, 6
"""Characters and lines of small text that a panel holds."""

TITLE_LETTERS = 50
"""The letters of both titles that stand in one line above a panel."""

# Unless parse_math is off, a dollar sign in a reason begins a formula.
_TEXT: dict[str, Any] = {"family": FONT, "parse_math": False}
_TITLE: dict[str, Any] = _TEXT | {"loc": "left", "fontsize": 9.5, "fontweight": "bold"}
_OUTCOME: dict[str, Any] = _TEXT | {"loc": "right", "fontsize": 8.5}
_REASON: dict[str, Any] = _TEXT | {"fontsize": 8, "color": "0.25", "linespacing": 1.4}
_NOTE: dict[str, Any] = _TEXT | {"fontsize": 8, "color": STATUS_COLOURS["failed"]}


def draw_panel(
    axes: Axes, summary: dict[Any, Any], runs: pd.DataFrame, capacities: pd.DataFrame
) -> None:
    """Draw the runs that `summary` (a row of `compare_table`) sums up."""
    axes.set_title(f"{summary['transport']}  {row_name(summary)}", **_TITLE)
    if summary["ok"]:
        _draw_capacities(axes, capacities)
        _draw_rates(axes, runs[runs["status"] == "ok"], step_s(capacities))
        _write_goodput(axes, summary)
    else:
        _write_reason(axes, summary)


def leg_greys(legs: int) -> list[str]:
    """Return a grey for each leg, as Matplotlib writes it."""
    return [f"{lightness:.3f}" for lightness in np.linspace(*LEG_GREYS, legs)]


def step_s(capacities: pd.DataFrame) -> float:
    """Return the length in s of the steps of `capacities`; for one step, a rate's default bin."""
    times = capacities["time_s"].to_numpy(dtype=float)
    return float(times[1] - times[0]) if times.size > 1 else BIN_S


def _draw_capacities(axes: Axes, capacities: pd.DataFrame) -> None:
    """Stack the legs' capacities, leg 1 at the bottom."""
    times = capacities["time_s"].to_numpy(dtype=float)
    edges = np.append(times, times[-1] + step_s(capacities))
    stack = capacities.drop(columns="time_s").to_numpy(dtype=float).cumsum(axis=1).T
    bottom = np.zeros_like(times)
    for top, grey in zip(stack, leg_greys(len(stack)), strict=True):
        axes.stairs(top, edges, baseline=bottom, fill=True, color=grey, linewidth=0)
        bottom = top


def _draw_rates(axes: Axes, runs: pd.DataFrame, bin_s: float) -> None:
    """Draw a line per run through the middles of its bins, with a mark where its transfer ended."""
    width = 1.7 if len(runs) == 1 else 1.2
    columns = (runs[name] for name in ("directory", "details", "completion_s"))
    for directory, details, completion_s in zip(*columns, strict=True):
        rate = client_rate(Path(directory), bin_s)
        middles = rate["time_s"] + bin_s / 2
        alone = "." if len(rate) == 1 else ""  # a line of one point is not seen
        axes.plot(middles, rate["rate_mbps"], alone, color=RATE_COLOUR, linewidth=width, alpha=0.8)
        complete = max(end for _, end in flow_windows(details, completion_s))
        axes.plot(complete, 0, "^", color=RATE_COLOUR, markersize=5, clip_on=False, zorder=3)


def _write_goodput(axes: Axes, summary: dict[Any, Any]) -> None:
    goodput = f"{summary['goodput_mbps']:.1f}"
    if summary["ok"] > 1:
        goodput += f" ± {summary['goodput_sd_mbps']:.1f}"
    outcome, name = f"goodput {goodput} Mbit/s", axes.get_title("left")
    axes.set_title(outcome, color=RATE_COLOUR, **_OUTCOME)
    if len(name) + len(outcome) > TITLE_LETTERS:  # else they would lie on each other
        axes.set_title(f"{name}\n", **_TITLE)
    if summary["ok"] < summary["runs"]:
        note = f"{summary['runs'] - summary['ok']} of {summary['runs']} runs not ok"
        white: dict[str, Any] = {"facecolor": "white", "linewidth": 0, "alpha": 0.8, "pad": 2}
        corner: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top"}
        axes.text(0.98, 0.95, note, bbox=white, **corner, **_NOTE)


def _write_reason(axes: Axes, summary: dict[Any, Any]) -> None:
    status = next(each for each in STATUS_COLOURS if summary[each])
    axes.set_facecolor("0.97")
    axes.set_title(status, color=STATUS_COLOURS[status], **_OUTCOME)
    lines = textwrap.wrap(
        _printable(summary["reason"]), REASON_WIDTH, max_lines=REASON_LINES, placeholder=" …"
    )
    centre: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.5, "\n".join(lines), **centre, **_REASON)


def _printable(text: str) -> str:
    """Return text in one line, with a question mark for each character that the font lacks."""
    known = get_font(findfont(FONT)).get_charmap()
    return "".join(char if ord(char) in known else "?" for char in " ".join(text.split()))
