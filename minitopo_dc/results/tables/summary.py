"""Summaries: a row for all runs of a transport in a mode, with notes; a row a case, with means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import pandas as pd
from rich.text import Text

from minitopo_dc import statistics
from minitopo_dc.numbers import amount, significant, with_reach, with_spread
from minitopo_dc.results.path_use import PATH_USE
from minitopo_dc.results.run_result import CAUTIONS, DESYNCHRONISED, Status
from minitopo_dc.results.tables.runs import (
    LEG_BYTES,
    MINOR,
    label_of,
    leg_columns,
    main_measure,
    measures_of,
    value_name,
    with_results,
)
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.workloads import Column, Download, get_workload, workload_names

WORDS = {
    "over first": "the transfer was over before the path on leg {} carried data",
    "unused by scheduler": "its scheduler left the path on leg {} unused",
}
"""What is said of a path; the other uses of a run that is ok are as they were asked for."""
UNITS = "units"
"""The key of `details`, and a column of the summary, with what users' programs measure."""


def compare_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Sum up runs (`minitopo_dc.load`) by their labels, in order of first appearance.

    Columns: the labels; numbers of `runs` and of those `ok`, `failed`, `disturbed` and
    `unsupported`; how many runs were `judged` by what the machine did to them, and how many
    `repeats` that took (`minitopo_dc.results.trust`); `workload`; the means of its columns (of a
    download `goodput_mbps`, `completion_s`, `capacity_share`), some with a sample standard
    deviation (n - 1; NaN for one run) such as `goodput_sd_mbps`; `leg_bytes_1`, ... (means); of
    users' programs the mean of each measure, and `units`, a dictionary of their units; `reason`,
    the first of a run that is not ok; and `notes`, what is to be known of those that are ok. Only
    runs that are `ok` count in means; without any they are NaN.

    Raises:
        ResultError: the result of a run is missing or broken.
    """
    results = runs if "details" in runs else with_results(runs)
    labels = results.attrs["labels"]
    groups: Iterable[Any] = results.groupby(labels, sort=False, observed=True, dropna=False)
    if not labels:
        groups = [((), results)]
    columns = columns_of(results)
    return pd.DataFrame(
        dict(zip(labels, values, strict=True)) | _summarise(own, columns) for values, own in groups
    )


def columns_of(table: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns for these runs: those of their workloads, a download's if unknown."""
    kinds = [kind for kind in table["workload"].unique() if kind in workload_names()]
    known = dict.fromkeys(
        column for kind in kinds or [Download.kind] for column in get_workload(kind).columns
    )
    own = _units(table).items()
    named = (Column(name, f"{name.replace('_', ' ')}\n{unit}", spread=True) for name, unit in own)
    return (*known, *named)


def _units(table: pd.DataFrame) -> dict[str, str]:
    """Return the measures of users' programs with their units, of runs or of their summary."""
    units = table[UNITS] if UNITS in table else [run.get(UNITS) for run in table.get("details", ())]
    return {name: unit for run in units if isinstance(run, dict) for name, unit in run.items()}


def spread_name(measure: str) -> str:
    """Return the column of a measure's standard deviation: `goodput_sd_mbps` of `goodput_mbps`."""
    name, _, unit = measure.rpartition("_")
    return f"{name}_sd_{unit}"


def _summarise(runs: pd.DataFrame, columns: Sequence[Column]) -> dict[str, Any]:
    ok, others = runs[runs["status"] == "ok"], runs[runs["status"] != "ok"]
    return {
        "runs": len(runs),
        **{status: int((runs["status"] == status).sum()) for status in get_args(Status)},
        "judged": int((runs["trust"] != "").sum()),
        "repeats": int(runs["repeats"].sum()),
        "workload": runs["workload"].iloc[0],
        **_numbers(ok, columns),
        **({UNITS: units} if (units := _units(runs)) else {}),
        **{leg: ok[leg].astype("float64").mean() for leg in leg_columns(runs)},
        "reason": "" if others.empty else others["reason"].iloc[0],
        "notes": notes(ok),
    }


def _numbers(ok: pd.DataFrame, columns: Sequence[Column]) -> dict[str, float]:
    numbers = {}
    for column in columns:
        values = pd.Series(values_of(ok, column.measure), dtype="float64")
        numbers[column.measure] = float(values.mean())
        if column.spread:
            numbers[spread_name(column.measure)] = float(values.std(ddof=1))
    return numbers


def values_of(ok: pd.DataFrame, measure: str) -> list[Any]:
    """Return a measure of each run; None where no run has it."""
    return list(ok.get(measure, [None] * len(ok)))


def notes(runs: pd.DataFrame) -> str:
    """Return what is to be known of runs that are ok; empty: nothing."""
    counts = Counter(line for details in runs["details"] for line in _lines(details))
    lines = [f"{words}{_share(count, len(runs))}" for words, count in counts.items()]
    numbers = [int(run[DESYNCHRONISED]) for run in runs["details"] if DESYNCHRONISED in run]
    if numbers:
        span = dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers)))
        lines.append(
            f"{' to '.join(span)} PDUs were taken for others with the same SN, as the legs' skew "
            "is more than half the SN space: stale packets were delivered; take sn_bits: 18"
            f"{_share(len(numbers), len(runs))}"
        )
    return "; ".join(lines)


def _share(count: int, runs: int) -> str:
    return "" if count == runs else f" ({count} of {runs} runs)"


def _lines(details: Mapping[str, Any]) -> Iterator[str]:
    flows = details.get("flows") or [details]
    uses = (use for flow in flows for use in flow.get(PATH_USE, {}).items())
    for leg, use in dict.fromkeys(uses):
        if use in WORDS:
            yield WORDS[use].format(leg)
    yield from details.get(CAUTIONS, ())


MEASURES = 5
"""The most measures of a page's table."""
FIRST = ("completion_s", "capacity_share")
"""The measures that are beside the main one before all others."""


def mean_tables(runs: pd.DataFrame, labels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the means of an experiment's cases, and the same as texts for a page.

    Of each measure there are `MEASURE`, `MEASURE_low`, `MEASURE_high` and, of the main one, `n`.
    The page's table has the first measures, each with the half of its 95 % interval.
    """
    main = main_measure(runs, labels)
    measures = sorted(measures_of(runs, labels), key=lambda name: (name != main, _weight(name)))
    cases = runs[list(labels)].drop_duplicates().reset_index(drop=True)
    columns, shown = {name: cases[name] for name in cases}, cases.map(value_name)
    for name in measures:
        means = cases.merge(statistics.means(runs, labels, name), "left", list(labels))
        mean, low, high = means["mean"], means["low"], means["high"]
        if name == main:
            columns["n"] = shown["n"] = means["n"].fillna(0).astype(int)
        columns |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        if name in measures[:MEASURES]:
            label, unit = label_of(name), 1.0
            if name.startswith(LEG_BYTES):
                label, unit = f"leg {name.removeprefix(LEG_BYTES)} delivered (MB)", 1e6
            shown[label] = list(map(with_reach, mean / unit, (high - mean) / unit))
    return pd.DataFrame(columns), shown


def _weight(name: str) -> int:
    if name in MINOR:
        return 3 * (name not in FIRST)
    return 2 if name.startswith(LEG_BYTES) else 1


BYTES_PER_MB = 1_000_000
STATUS_STYLES = {"ok": "green", "failed": "red", "disturbed": "red", "unsupported": "yellow"}


def render_table(comparison: pd.DataFrame, every_row: pd.DataFrame | None = None) -> Sheet:
    """Lay out `compare_table` for a terminal; what is to be known of runs is below it.

    A row without a run that is ok has no numbers. `every_row` has the rows whose runs are counted
    for the machine, if more than are shown.
    """
    columns = columns_of(comparison)
    # A part of all legs' capacity comes after the legs' bytes.
    first = [column for column in columns if not column.percent]
    last = [column for column in columns if column.percent]
    legs = leg_columns(comparison)
    labels = list(comparison.columns[: comparison.columns.get_loc("runs")])
    heads = [Head(label_of(name), text=True) for name in labels] + [Head("runs", text=True)]
    heads += [Head(*column.name_and_unit) for column in first]
    heads += [Head(f"leg {number}", "MB") for number in range(1, len(legs) + 1)]
    heads += [Head(*column.name_and_unit) for column in last]
    sheet = Sheet(heads)
    notes: dict[str, list[str]] = {}
    for row in comparison.to_dict("records"):
        texts = [text for text in (" ".join(row["reason"].split()), row["notes"]) if text]
        for text in texts:
            notes.setdefault(text, []).append(" ".join(value_name(row[name]) for name in labels))
        cells = [*_cells(row, first), *(_carried(row[leg]) for leg in legs), *_cells(row, last)]
        if row["ok"] != row["runs"]:  # so that it is not taken for the mean of all
            cells[:1] = [f"{row['ok']} of {row['runs']} runs: {cell}" for cell in cells[:1]]
        sheet.add(
            *(value_name(row[name]) for name in labels),
            _runs(row, [[*notes].index(text) + 1 for text in texts]),
            *(cells if row["ok"] else "-" * len(cells)),
        )
    for number, (text, names) in enumerate(notes.items(), start=1):
        sheet.notes.append(f"[{number}] {', '.join(names)}: {text}")
    counted = (comparison if every_row is None else every_row)[["judged", "disturbed", "repeats"]]
    judged, disturbed, repeats = map(int, counted.sum())
    if judged:
        words = f"The machine disturbed {disturbed or 'none'} of {judged} run{'s' * (judged > 1)}"
        sheet.notes.append(f"{words}; {repeats} repeated" if repeats else words)
    return sheet


def _runs(row: dict[Any, Any], notes: Sequence[int]) -> Text:
    parts = (
        Text(f"{row[status]} {status}", style)
        for status, style in STATUS_STYLES.items()
        if row[status]
    )
    return Text(" ").join([Text(", ").join(parts), *(Text(f"[{note}]") for note in notes)])


def _cells(row: dict[Any, Any], columns: list[Column]) -> Iterator[str]:
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
