"""Print the results of a run, comparison or campaign, or two side by side (`minitopo-dc show`)."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from minitopo_dc.campaign.store import FACTS, NoResultsError, load
from minitopo_dc.cli.advise import ADVICE
from minitopo_dc.cli.calibrate import print_calibration
from minitopo_dc.cli.campaign import tell_directory
from minitopo_dc.cli.compare import print_comparison, print_files
from minitopo_dc.cli.run import tell_run
from minitopo_dc.cli.screen import drop_privileges, print_json, print_runs, say
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import parse_json, read_text
from minitopo_dc.numbers import for_json, significant
from minitopo_dc.registry import load_plugins
from minitopo_dc.results.kept_scenario import load_as_run, load_recorded
from minitopo_dc.results.run_result import MAX_BYTES
from minitopo_dc.results.tables.runs import (
    load_result,
    main_measure,
    measures_of,
    name_and_unit,
    value_name,
    with_results,
)
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.scenario.carriers import KINDS, carrier, values_of
from minitopo_dc.statistics import mean_interval
from minitopo_dc.ways import LABEL, Comparison, differing_fields, ways_of

MAX_DIFFERENCES = 12
"""The most fields that are listed in which two sets of runs differ: sets with more are hardly
comparable."""
OF_WAYS = ([LABEL], ["transport", "mode"])
"""The first labels of a comparison, and of runs that no campaign made."""
MAX_BELOW = 5
"""The most directories that an error names."""


def execute(arguments: argparse.Namespace) -> int:
    """Print what the directories hold; return 0.

    Raises:
        SettingsError: there are more than two directories, or one holds no results.
        ResultError: a file of a run is missing or broken.
    """
    roots, as_json = arguments.directories, arguments.json
    if len(roots) == 1 and str(roots[0]).startswith(KINDS) and not roots[0].exists():
        _show_carrier(str(roots[0]), as_json=as_json)
        return 0
    if len(roots) > 2:
        raise SettingsError(f"show: {len(roots)} directories; allowed: one, or two side by side")
    if arguments.measure is not None and len(roots) < 2:
        raise SettingsError("--measure: needs two directories")
    load_plugins(arguments.plugin)
    drop_privileges(roots)
    if len(roots) == 2:
        _compare(*roots, measure=arguments.measure, as_json=as_json)
    else:
        _show(*roots, as_json=as_json)
    return 0


def _show_carrier(name: str, *, as_json: bool) -> None:
    """Print the fields of a leg for which a carrier's name stands, with their sources."""
    try:
        rows = [*values_of(carrier(name))]
    except ValueError as error:
        raise SettingsError(f"show: {error}") from None
    if as_json:
        facts = [{"field": field, "value": value, "source": words} for field, value, words in rows]
        print(json.dumps(facts, indent=1))  # noqa: T201
        return
    heads = [Head(title, text=True) for title in ("field", "value", "source")]
    sheet = Sheet(heads, title=f"A leg that is {name}")
    for field, value, words in rows:
        sheet.add(field, str(value), words)
    Console().print(sheet)


def _show(root: Path, *, as_json: bool) -> None:
    if (root / "result.json").exists():
        tell_run(load_result(root), root, as_json=as_json)
        return
    runs = _loaded(root)
    is_comparison = runs.attrs["labels"] == [LABEL]
    if "ideal_rate_mbps" in runs and not as_json:
        print_calibration(runs)
    elif (root / FACTS).exists() and not is_comparison:
        tell_directory(root, as_json=as_json)
    elif as_json:
        print_json(runs)
    elif not is_comparison:
        print_runs(with_results(runs), ())
    elif (root / ADVICE).exists():
        print_runs(with_results(runs), _advised(root / ADVICE))
    else:
        print_comparison(Comparison(runs, root))
        print_files(root)
        done = int((runs["status"] != "missing").sum())
        if done < len(runs):
            words = "the same command runs the rest with --output"
            say(f"{done} of {len(runs)} runs are finished; {words} {root}")


def _advised(path: Path) -> list[str]:
    """Return the sentences of a file of advice."""
    try:
        said = parse_json(read_text(path, MAX_BYTES, within=path.parent))["sentences"]
        return list(map(str, said))
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"{quoted(path)}: not a result of advise: {error}"
        raise SettingsError(words) from None


def _loaded(root: Path) -> pd.DataFrame:
    """Return the table of a directory; an error names those below it that have one."""
    try:
        runs = load(root)
    except NoResultsError:
        below = {path.parent for path in root.glob(f"*/{FACTS}")}
        if not below:
            raise
        latest = sorted(below, key=lambda path: path.stat().st_mtime, reverse=True)[:MAX_BELOW]
        words = f"the directories below it have some: {', '.join(map(quoted, latest))}"
        raise SettingsError(f"{quoted(root)}: no results; {words}") from None
    if (runs["status"] == "missing").all():
        raise SettingsError(f"{quoted(root)}: none of its runs is finished")
    return runs


def _compare(first: Path, second: Path, *, measure: str | None, as_json: bool) -> None:
    tables = _named(*map(_loaded, (first, second)))
    name = measure or main_measure(pd.concat(tables, ignore_index=True), tables[0].attrs["labels"])
    sets = [_with_value(*given, name) for given in zip((first, second), tables, strict=True)]
    rows = side_by_side(*sets)
    names = [list(dict.fromkeys(runs["row"])) for runs in sets]
    only = [[row for row in own if row not in other] for own, other in (names, names[::-1])]
    differ = _differing(*sets)
    if as_json:
        shown = [for_json(row) for row in rows.to_dict("records")]
        facts = {"measure": name, "rows": shown, "only_first": only[0], "only_second": only[1]}
        print(json.dumps({**facts, "differ": differ}, indent=1))  # noqa: T201
        return
    Console().print(_sheet(rows, name))
    lost = [int((table["status"] != "ok").sum()) for table in tables]
    for line in _below(rows, zip((first, second), only, lost, strict=True), differ):
        say(line)


def _matched(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, int]]:
    """Yield each row that is in both sets, with its pairs of runs of one seed, and their number.

    Where no seed is in both, each run has all runs of the other set, and there are 0 pairs.
    """
    for row, mine in first.groupby("row", sort=False):
        other = second[second["row"] == row]
        pairs = mine.merge(other, on="seed")
        both = pairs if len(pairs) else mine.merge(other, how="cross")
        if len(both):
            yield str(row), both, len(pairs)


def side_by_side(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare two sets of runs by the rows that are in both.

    Runs of one seed meet the same losses and jitter: they are a pair. The difference is the mean
    over pairs, with Student's 95 % interval. Where no seed is in both, it is that of the means, and
    there is no interval; one pair has none either.

    Args:
        first: `row`, `seed` and `value` of each run.
        second: the same of the other set.

    Returns:
        `row`; `first` and `second`, the means over the compared runs; `difference`, the second less
        the first; `low` and `high` (NaN: no interval), `pairs`.
    """
    rows = []
    for row, both, pairs in _matched(first, second):
        means = float(both["value_x"].mean()), float(both["value_y"].mean())
        interval = mean_interval(list(both["value_y"] - both["value_x"])[:pairs])
        rows.append((row, *means, means[1] - means[0], interval.low, interval.high, pairs))
    columns = ["row", "first", "second", "difference", "low", "high", "pairs"]
    return pd.DataFrame(rows, columns=columns)


def _named(first: pd.DataFrame, second: pd.DataFrame) -> list[pd.DataFrame]:
    """Return both tables with `row`, the name by which a row of one is found in the other.

    The name has the labels' values. A row that is not in both has the name of the way that its
    scenario is (`ways_of`), whatever people have called it, if that is in both or nobody has.
    """
    tables = [runs.assign(row=_label_names(runs)) for runs in (first, second)]
    in_both = set(tables[0]["row"]) & set(tables[1]["row"])
    of_ways = all(runs.attrs["labels"][:2] in OF_WAYS for runs in tables)
    if not of_ways or all(set(runs["row"]) == in_both for runs in tables):
        return tables
    ways = [_way_names(runs) for runs in tables]
    known = set(ways[0]) & set(ways[1])
    for runs, names in zip(tables, ways, strict=True):
        is_unnamed = runs.attrs["labels"] != [LABEL]
        runs["row"] = [
            way if row not in in_both and (way in known or is_unnamed) else row
            for row, way in zip(runs["row"], names, strict=True)
        ]
    return tables


def _label_names(runs: pd.DataFrame) -> list[str]:
    named = runs[runs.attrs["labels"]].to_dict("records")
    return [
        ", ".join(
            str(value) if name == LABEL else f"{name} {value_name(value)}"
            for name, value in row.items()
            if pd.notna(value)
        )
        for row in named
    ]


def _way_names(runs: pd.DataFrame) -> list[str]:
    root, first = Path(runs.attrs["directory"]), runs[runs["status"] != "missing"]
    first = first.drop_duplicates("row")
    own = {row: load_as_run(root / run) for row, run in first[["row", "run"]].to_numpy()}
    scenarios = {row: scenario.model_copy(update={"seed": 1}) for row, scenario in own.items()}
    ways = ways_of([*scenarios.values()])
    names = {
        row: next(way for way, other in ways.items() if other == scenario)
        for row, scenario in scenarios.items()
    }
    return [names.get(row, row) for row in runs["row"]]


def _with_value(root: Path, table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the runs that have a measure, as `value`, with their `directory`."""
    known = measures_of(table, [*table.attrs["labels"], "row"])
    if measure not in table or not np.isfinite(table[measure].astype(float)).any():
        raise SettingsError(
            f"{quoted(root)}: no run with status ok has {measure}; they have: "
            f"{', '.join(sorted(known))}"
        )
    values = table[measure].astype(float)
    places = [str(root / run) for run in table["run"]]
    named = table[["row", "seed"]].assign(directory=places, value=values)
    return named[np.isfinite(values) & (table["status"] == "ok")]


def _differing(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, list[Any]]:
    differ: dict[str, list[Any]] = {}
    for _, both, _ in _matched(first, second):
        runs = (Path(both[f"directory_{end}"].iloc[0]) for end in "xy")
        for field, values in differing_fields(*map(load_recorded, runs)).items():
            differ.setdefault(field, list(values))
    differ.pop("seed", None)
    return differ


def _sheet(rows: pd.DataFrame, measure: str) -> Sheet:
    what, unit = name_and_unit(measure)
    heads = [Head("configuration", text=True), Head("first", unit), Head("second", unit)]
    heads += [Head("difference", unit), Head("95 %\ninterval", unit, text=True), Head("pairs")]
    sheet = Sheet(heads, title=f"{what[:1].upper()}{what[1:]}: second minus first")
    for row in rows.to_dict("records"):
        low, high = row["low"], row["high"]
        interval = "-" if math.isnan(low) else f"{significant(low)} to {significant(high)}"
        means = (significant(row[name]) for name in ("first", "second", "difference"))
        sheet.add(row["row"], *means, interval, str(row["pairs"]))
    return sheet


def _below(
    rows: pd.DataFrame,
    sets: Iterable[tuple[Path, Sequence[str], int]],
    differ: Mapping[str, Sequence[Any]],
) -> Iterator[str]:
    """Yield the notes below the table; a set is its directory, its own rows, runs left out."""
    for which, (root, only, lost) in zip(("First", "Second"), sets, strict=True):
        left = f"; {lost} runs that are not ok are left out" if lost else ""
        yield f"{which}: {root}{left}"
        if only:
            yield f"Only in the {which.lower()}: {'; '.join(only)}"
    if rows.empty:
        yield "No configuration is in both."
    for field, (old, new) in list(differ.items())[:MAX_DIFFERENCES]:
        yield f"They differ in {field}: {old} and {new}"
    if len(differ) > MAX_DIFFERENCES:
        yield f"They differ in {len(differ) - MAX_DIFFERENCES} more fields"
    if (rows["pairs"] == 0).any():
        yield "A row with 0 pairs has no seed in both, so it has no interval."
    elif rows["low"].isna().any():
        yield "One pair has no interval; more seeds would give one."
