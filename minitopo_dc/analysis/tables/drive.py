"""A drive's channels and capacity beside tables 2 and 3 of Krämer et al., for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich import box
from rich.table import Table

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.trace import CapacityStatistics, ChannelStatistics

CELLS_REFERENCE = "mpquic_cellular_table_2_available_cells.csv"
CAPACITY_REFERENCE = "mpquic_cellular_table_3_capacity.csv"
CAPACITY_COLUMNS = ("average_mbps", "median_mbps", "p20", "p10", "p5", "p1", "p0_1")
"""Of the reference, in the order of a level's values."""
_HEADINGS = ("mean", "median", "p20", "p10", "p5", "p1", "p0.1")


def cells_table(statistics: ChannelStatistics) -> Table:
    """How many channels there are: the mean, the share of time with each number, table 2."""
    table = _table(f"Cells of {statistics.name}, {statistics.duration_s} s")
    numbers = range(len(statistics.available_shares))
    for heading in ("", "mean", *(f"{n}" for n in numbers)):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    shares = [f"{share:.1%}" for share in statistics.available_shares]
    table.add_row("available", f"{statistics.available_mean:.2f}", *shares)
    if statistics.visible_mean is not None:
        table.add_row("visible", f"{statistics.visible_mean:.2f}")
        table.caption = f"{statistics.visible_more_than_7:.1%} of the time more than 7 visible"
    for row in read_reference(CELLS_REFERENCE).to_dict("records"):
        name = str(row["environment"]).replace("_", " ")
        table.add_row(f"published, {name}", row["average_available_cells"])
    return table


def capacity_table(statistics: ChannelStatistics) -> Table:
    """Mbit/s of each level of aggregation, and of table 3 where it has the level."""
    published = read_reference(CAPACITY_REFERENCE).set_index("aggregation")
    table = _table("Capacity in Mbit/s (published: the entire set, table 3)")
    for heading in ("", *_HEADINGS):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for level, row in statistics.capacity.items():
        table.add_row(level, *(f"{value:.2f}" for value in values_of(row)))
        if level in published.index:
            table.add_row("  published", *_published(published, level))
    return table


def values_of(row: CapacityStatistics) -> tuple[float, ...]:
    """A level's values in the order of table 3."""
    return (row.mean_mbps, row.median_mbps, *row.percentiles_mbps)


def _published(table: pd.DataFrame, level: str) -> Iterator[str]:
    return (str(table.at[level, column]) for column in CAPACITY_COLUMNS)


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, title=title, title_justify="left")
