"""The comparison for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from minitopo_dc.analysis.tables.load import leg_columns
from minitopo_dc.analysis.tables.summary import columns_of, row_name, spread_name
from minitopo_dc.workloads import Column

BYTES_PER_MB = 1_000_000
STATUS_STYLES = {"ok": "green", "failed": "red", "disturbed": "red", "unsupported": "yellow"}


def render_table(
    comparison: pd.DataFrame, labels: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Lay out `compare_table` for a terminal; reasons of runs that are not ok stand below it.

    A transport without a run that is ok has no numbers. `labels` has what is shown of a transport
    in place of its name, broken at blanks where the terminal is narrow.
    """
    legs = leg_columns(comparison)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,  # the box has a space between columns: 80 characters hold two legs
        show_edge=False,
        caption_justify="left",
        caption_style="",
    )
    table.add_column("transport", min_width=max(map(len, comparison["transport"]), default=0))
    table.add_column("mode", no_wrap=True)
    words = [len(status) for status in STATUS_STYLES if comparison[status].any()]
    table.add_column("runs", min_width=max(words, default=0))
    first, last = _around_the_legs(columns_of(comparison))
    numbers = (f"leg {i + 1}\nMB" for i in range(len(legs)))
    for heading in (*(each.heading for each in first), *numbers, *(each.heading for each in last)):
        table.add_column(heading, justify="right", no_wrap=True)
    notes: list[Text] = []
    for row in comparison.to_dict("records"):
        if row["reason"]:
            notes.append(_note(len(notes) + 1, row))
        runs = _runs(row, len(notes) if row["reason"] else None)
        shown = [*_shown(row, first), *_carried(row, legs), *_shown(row, last)]
        table.add_row(labels.get(row["transport"], row["transport"]), row_name(row), runs, *shown)
    if machine := _machine(comparison):
        notes.append(Text(machine))
    if notes:
        table.caption = Text("\n").join(notes)
    return table


def _machine(comparison: pd.DataFrame) -> str:
    """What the machine did to the runs, in words; empty where none could be judged."""
    judged, disturbed, repeats = (
        int(comparison[name].sum()) for name in ("judged", "disturbed", "repeats")
    )
    if not judged:
        return ""
    words = f"This machine: {judged - disturbed} of {judged} runs undisturbed"
    return f"{words}; {repeats} repeated" if repeats else words


def _runs(row: dict[Any, Any], note: int | None) -> Text:
    """How many runs ended how, and where the reason is."""
    parts = [
        Text(f"{row[status]} {status}", style=style)
        for status, style in STATUS_STYLES.items()
        if row[status]
    ]
    text = Text(", ").join(parts)
    return text if note is None else text.append(f" [{note}]")


def _around_the_legs(columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """What stands before the legs' bytes, and what is a part of them all, behind."""
    return [each for each in columns if not each.percent], [
        each for each in columns if each.percent
    ]


def _shown(row: dict[Any, Any], columns: Sequence[Column]) -> list[str]:
    return [_number(row, column) if row["ok"] else "-" for column in columns]


def _number(row: dict[Any, Any], column: Column) -> str:
    value = row[column.measure]
    if pd.isna(value):
        return "-"
    if column.percent:
        return f"{value:.{column.digits}%}"
    text = f"{value:.{column.digits}f}"
    if column.spread and row["ok"] > 1:
        text += f" ± {row[spread_name(column.measure)]:.{column.digits}f}"
    return text


def _carried(row: dict[Any, Any], legs: list[str]) -> list[str]:
    if not row["ok"]:
        return ["-"] * len(legs)
    return ["-" if pd.isna(row[leg]) else f"{row[leg] / BYTES_PER_MB:.1f}" for leg in legs]


def _note(number: int, row: dict[Any, Any]) -> Text:
    """A reason, as text: what looks like markup in it is none."""
    reason = " ".join(row["reason"].split())
    return Text(f"[{number}] {row['transport']} {row_name(row)}: {reason}")
