"""The comparison's table as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from rich.text import Text

from minitopo_dc.numbers import amount, significant, with_spread
from minitopo_dc.results.tables.runs import leg_columns
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.results.tables.summary import columns_of, row_name, spread_name
from minitopo_dc.workloads import Column

BYTES_PER_MB = 1_000_000
STATUS_STYLES = {"ok": "green", "failed": "red", "disturbed": "red", "unsupported": "yellow"}


def render_table(
    comparison: pd.DataFrame,
    labels: Mapping[str, str] = MappingProxyType({}),
    every_row: pd.DataFrame | None = None,
) -> Sheet:
    """Lay out `compare_table` for a terminal; what is to be known of runs is below it.

    A transport without a run that is ok has no numbers. `labels` has the name that is shown for a
    transport, `every_row` the rows whose runs are counted for the machine, if more than are shown.
    """
    columns = columns_of(comparison)
    # A part of all legs' capacity comes after the legs' bytes.
    first = [column for column in columns if not column.percent]
    last = [column for column in columns if column.percent]
    legs = leg_columns(comparison)
    heads = [Head("transport", text=True), Head("mode", text=True), Head("runs", text=True)]
    heads += [Head(*column.name_and_unit) for column in first]
    heads += [Head(f"leg {number}", "MB") for number in range(1, len(legs) + 1)]
    heads += [Head(*column.name_and_unit) for column in last]
    sheet = Sheet(heads)
    notes: dict[str, list[str]] = {}
    for row in comparison.to_dict("records"):
        texts = [text for text in (" ".join(row["reason"].split()), row["notes"]) if text]
        for text in texts:
            notes.setdefault(text, []).append(f"{row['transport']} {row_name(row)}")
        cells = [*_numbers(row, first), *(_carried(row[leg]) for leg in legs)]
        cells[:1] = [f"{_of_runs(row)}{cell}" for cell in cells[:1]]
        sheet.add(
            labels.get(row["transport"], row["transport"]),
            row_name(row),
            _runs(row, [[*notes].index(text) + 1 for text in texts]),
            *(cells if row["ok"] else "-" * len(cells)),
            *(_numbers(row, last) if row["ok"] else "-" * len(last)),
        )
    for number, (text, names) in enumerate(notes.items(), start=1):
        sheet.notes.append(f"[{number}] {', '.join(names)}: {text}")
    sheet.notes += _machine(comparison if every_row is None else every_row)
    return sheet


def _machine(comparison: pd.DataFrame) -> Iterator[str]:
    """Yield in words what the machine did to the runs; nothing where none could be judged."""
    judged, disturbed, repeats = (
        int(comparison[name].sum()) for name in ("judged", "disturbed", "repeats")
    )
    if judged:
        runs = "run" if judged == 1 else "runs"
        words = f"The machine disturbed {disturbed or 'none'} of {judged} {runs}"
        yield f"{words}; {repeats} repeated" if repeats else words


def _runs(row: dict[Any, Any], notes: Sequence[int]) -> Text:
    """Return how many runs have each status, and the numbers of the notes on them."""
    parts = (
        Text(f"{row[status]} {status}", style)
        for status, style in STATUS_STYLES.items()
        if row[status]
    )
    return Text(" ").join([Text(", ").join(parts), *(Text(f"[{note}]") for note in notes)])


def _of_runs(row: dict[Any, Any]) -> str:
    """Return what stands before a mean of some runs only, so that it is not taken for the mean."""
    return "" if row["ok"] == row["runs"] else f"{row['ok']} of {row['runs']} runs: "


def _numbers(row: dict[Any, Any], columns: list[Column]) -> Iterator[str]:
    for column in columns:
        value = row[column.measure]
        if column.spread and row["ok"] > 1 and not pd.isna(value):
            yield with_spread(value, row[spread_name(column.measure)])
        else:
            yield column.shown(value)


def _carried(count: float) -> str:
    """Return bytes in MB; few of them, which would be 0.0 there, in a unit of their own."""
    if 0 < count < 0.1 * BYTES_PER_MB:
        return amount(count)
    return significant(count / BYTES_PER_MB)
