"""What each leg of a run delivered over time, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pandas as pd

from minitopo_dc.analysis.figures.curves import Line, Panel, draw_series
from minitopo_dc.analysis.tables.leg_rates import BIN_S, leg_rates
from minitopo_dc.files import replacing
from minitopo_dc.settings import Direction


def legs_figure(run: Path, path: Path) -> None:
    """Draw the rates of a run's legs as PNG: a panel for each direction, a line for each leg.

    Raises:
        ResultError: a file of an element's is broken.
        OSError: one of them cannot be read, or `path` cannot be written.
    """
    panels = [
        Panel(direction, "rate of IP bytes (Mbit/s)", _lines(leg_rates(run, direction)))
        for direction in get_args(Direction)
    ]
    with replacing(path) as partial:
        draw_series(panels, steps=True).savefig(partial, format="png")


def _lines(rates: pd.DataFrame) -> list[Line]:
    lines = []
    for number, (leg, rows) in enumerate(rates.groupby("leg")):
        end = pd.DataFrame({"x": [rows["time_s"].iloc[-1] + BIN_S], "mean": [0.0]})
        bins = pd.DataFrame({"x": rows["time_s"], "mean": rows["rate_mbps"]})
        points = pd.concat([bins, end], ignore_index=True)
        lines.append(Line(f"leg {leg}", number, False, points))
    return lines
