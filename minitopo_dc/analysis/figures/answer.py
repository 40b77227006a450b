"""An experiment's answers in one picture: shares of points with intervals, and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minitopo_dc.analysis.figures.chart import Chart, draw
from minitopo_dc.analysis.figures.over_points import (
    BORDER_CAPTION,
    MAP_CAPTION,
    SHARE_CAPTION,
    Map,
    map_panel,
    share_panel,
)
from minitopo_dc.statistics import Proportion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def answer_chart(
    name: str, shares: Mapping[str, Proportion], x_label: str, maps: Sequence[Map]
) -> Chart:
    """Return the shares of points that reach a limit in one panel, and a map in each other one.

    Args:
        name: the name of the figure's files.
        shares: the share of the points, by label.
        x_label: what they are shares of: `share of the points at 0.97 or above`.
        maps: the maps, of which the first ones are drawn beside the shares.
    """
    panels = (share_panel(shares, x_label), *map(map_panel, maps))
    told = [SHARE_CAPTION, MAP_CAPTION if maps else ""]
    told += [BORDER_CAPTION if any(each.border for each in maps) else ""]
    return Chart(name, "", panels, " ".join(filter(None, told)))


def draw_answer(
    shares: Mapping[str, Mapping[float, Proportion]],
    limit: float,
    maps: Sequence[Map],
    *,
    less: bool = False,
) -> Figure:
    """Draw the shares of points in one panel, and a map in each other one.

    Args:
        shares: by label and limit, the share of the points that reach it.
        limit: the limit that is drawn.
        maps: the maps, of which the first ones are drawn beside the shares.
        less: whether a point reaches the limit by being at most so much.
    """
    chosen = {label: at[limit] for label, at in shares.items()}
    x_label = f"share of the points at {limit:g} or {'below' if less else 'above'}"
    return draw(answer_chart("answer", chosen, x_label, maps))
