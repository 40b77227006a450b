"""Tables of a drive's channels and capacity beside tables 2 and 3 of Krämer et al."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.analysis.tables.sheet import Head, Sheet
from minitopo_dc.numbers import significant
from minitopo_dc.trace import CapacityStatistics, ChannelStatistics

CELLS_REFERENCE = "mpquic_cellular_table_2_available_cells.csv"
CAPACITY_REFERENCE = "mpquic_cellular_table_3_capacity.csv"
CAPACITY_COLUMNS = ("average_mbps", "median_mbps", "p20", "p10", "p5", "p1", "p0_1")
"""Columns of the reference, in the order of a level's values."""
_HEADINGS = ("mean", "median", "p20", "p10", "p5", "p1", "p0.1")


def cells_table(statistics: ChannelStatistics) -> Sheet:
    """Return the mean number of channels, the share of time with each number, and table 2."""
    shares = [significant(100 * share) for share in statistics.available_shares]
    heads = [Head("cells", text=True), Head("mean")]
    heads += [Head(f"time\nwith {number}", "%") for number in range(len(shares))]
    sheet = Sheet(heads, title=f"Cells of {statistics.name}, {statistics.duration_s} s")
    sheet.add("available", significant(statistics.available_mean), *shares)
    none = [""] * len(shares)
    if statistics.visible_mean is not None and statistics.visible_more_than_7 is not None:
        sheet.add("visible", significant(statistics.visible_mean), *none)
        share = significant(100 * statistics.visible_more_than_7)
        sheet.notes.append(f"More than 7 were visible for {share} % of the time.")
    for row in read_reference(CELLS_REFERENCE).to_dict("records"):
        name = str(row["environment"]).replace("_", " ")
        sheet.add(f"published, {name}", str(row["average_available_cells"]), *none)
    return sheet


def capacity_table(statistics: ChannelStatistics) -> Sheet:
    """Return Mbit/s of each level of aggregation, and of table 3 where it has the level."""
    published = read_reference(CAPACITY_REFERENCE).set_index("aggregation")
    heads = [Head("capacity", text=True), *(Head(each, "Mbit/s") for each in _HEADINGS)]
    sheet = Sheet(heads, title="Capacity (published: the entire set, table 3)")
    for level, row in statistics.capacity.items():
        sheet.add(level, *map(significant, values_of(row)))
        if level in published.index:
            sheet.add(f"{level} published", *_published(published, level))
    return sheet


def values_of(row: CapacityStatistics) -> tuple[float, ...]:
    """Return a level's values in Mbit/s in the order of table 3."""
    return (row.mean_mbps, row.median_mbps, *row.percentiles_mbps)


def _published(table: pd.DataFrame, level: str) -> Iterator[str]:
    return (str(table.at[level, column]) for column in CAPACITY_COLUMNS)
