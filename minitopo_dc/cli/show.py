"""Print the results of a run, comparison or campaign, or compare two (`minitopo-dc show`).

The command reads the files of the directories and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console

from minitopo_dc.campaign.table import FACTS, load, row_of
from minitopo_dc.cli import options
from minitopo_dc.cli.advise import ADVICE
from minitopo_dc.cli.campaign import tell_directory
from minitopo_dc.cli.compare import print_comparison
from minitopo_dc.cli.owner import drop_privileges
from minitopo_dc.cli.run import tell_run
from minitopo_dc.cli.screen import print_runs, resume_text, say
from minitopo_dc.comparison import ASKED, differing_fields, load_runs, number_of_runs
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import parse_json, read_text
from minitopo_dc.numbers import for_json, significant
from minitopo_dc.registry import load_plugins
from minitopo_dc.results import results_table
from minitopo_dc.results.kept_scenario import load_recorded
from minitopo_dc.results.run_result import MAX_BYTES, RunResult
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.results.tables.summary import columns_of
from minitopo_dc.scenario import DUAL_CONNECTIVITY
from minitopo_dc.statistics import mean_interval

HELP = "print the results of a run, comparison or campaign, or compare two of them"
Kind = Literal["run", "comparison", "campaign"]
MAX_DIFFERENCES = 12
"""The most fields that are listed in which two sets of runs differ: sets with more are hardly
comparable."""
MAX_BELOW = 5
"""The most directories that an error names."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    parser.add_argument(
        "directory",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="results directory of a run, comparison or campaign",
    )
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="DIR",
        help="compare two comparisons or two campaigns: for each configuration of both, the "
        "difference and its 95 %% confidence interval over seeds",
    )
    parser.add_argument(
        "--measure",
        metavar="NAME",
        help="measure that --compare compares (default: goodput_mbps, or the workload's first "
        "measure)",
    )
    options.add(parser, "--plugin", "--json")


def execute(arguments: argparse.Namespace) -> int:
    """Print what the directories hold; return 0.

    Raises:
        SettingsError: a directory holds no results, or the two are of different kinds.
        ResultError: a file of a run is missing or broken.
    """
    if (arguments.directory is None) == (arguments.compare is None):
        raise SettingsError("show: give DIR, or --compare DIR DIR")
    if arguments.measure is not None and arguments.compare is None:
        raise SettingsError("--measure: needs --compare")
    load_plugins(arguments.plugins)
    drop_privileges(arguments.compare or [arguments.directory])
    if arguments.compare is not None:
        _compare(*arguments.compare, measure=arguments.measure, as_json=arguments.json)
    else:
        root, as_json = arguments.directory, arguments.json
        match _kind(root):
            case "run":
                tell_run(load_result(root), root, as_json=as_json)
            case "comparison":
                _show_comparison(root, as_json=as_json)
            case "campaign":
                tell_directory(root, as_json=as_json)
    return 0


def _show_comparison(root: Path, *, as_json: bool) -> None:
    results = load_runs(root)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=1))  # noqa: T201
        return
    if (root / ADVICE).exists():
        path = root / ADVICE
        try:
            said = parse_json(read_text(path, MAX_BYTES, within=root))["sentences"]
            sentences = list(map(str, said))
        except (OSError, ValueError, KeyError, TypeError) as error:
            words = f"{quoted(path)}: not a result of advise: {error}"
            raise SettingsError(words) from None
        print_runs(results_table(results), sentences)
        return
    print_comparison(results, root)
    planned = number_of_runs(root)
    if planned is not None and len(results) < planned:
        words = resume_text(len(results), planned)
        say(f"{words} with --output {root}")


def _kind(root: Path) -> Kind:
    if (root / FACTS).exists():
        return "campaign"
    if (root / "result.json").exists():
        return "run"
    if any(root.glob("*/result.json")):
        return "comparison"
    if (root / ASKED).exists():
        raise SettingsError(f"{quoted(root)}: none of its runs is finished")
    below = {path.parent for name in (FACTS, ASKED) for path in root.glob(f"*/{name}")}
    words = f"looked for result.json, */result.json and {FACTS}"
    if below:
        latest = sorted(below, key=lambda path: path.stat().st_mtime, reverse=True)[:MAX_BELOW]
        words = f"the directories below it have some: {', '.join(map(quoted, latest))}"
    raise SettingsError(f"{quoted(root)}: no results; {words}")


def _compare(first: Path, second: Path, *, measure: str | None, as_json: bool) -> None:
    tables = [_table(root) for root in (first, second)]
    both = pd.concat(tables, ignore_index=True)
    name = measure or "goodput_mbps"
    if measure is None and ("goodput_mbps" not in both or both["goodput_mbps"].isna().all()):
        name = next(column.measure for column in columns_of(both) if not column.count)
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


def _table(root: Path) -> pd.DataFrame:
    match _kind(root):
        case "campaign":
            table = load(root)
            runs = []
            for values in table[table["status"] != "missing"].to_dict("records"):
                known = [name for name in table.attrs["labels"] if pd.notna(values[name])]
                named = ", ".join(f"{label} {values[label]}" for label in known)
                runs.append(_row(load_result(root / values["run"])) | {"row": named})
        case "comparison":
            runs = list(map(_row, load_runs(root)))
        case "run":
            runs = [_row(load_result(root))]
    if not runs:
        raise SettingsError(f"{quoted(root)}: no run is done")
    return pd.DataFrame(runs)


def _row(run: RunResult) -> dict[str, Any]:
    """Return a run with a name for its row that does not depend on what else is compared there.

    A comparison with one split policy does not name it in its rows; its scenario does.
    """
    variant = run.variant
    if not variant and run.mode in DUAL_CONNECTIVITY:
        variant = load_recorded(Path(run.directory)).pdcp.split
    name = " ".join(filter(None, (run.transport, run.mode, variant)))
    facts = {field: getattr(run, field) for field in ("seed", "directory", "workload")}
    return {"row": name, **facts, **row_of(run)}


_FACTS = ("row", "seed", "directory", "workload", "status", "reason")
"""Columns of such a table that are no measures."""


def _with_value(root: Path, table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the runs that have a measure, as `value`."""
    known = [name for name in map(str, table) if name not in _FACTS and table[name].notna().any()]
    if measure not in known:
        raise SettingsError(
            f"{quoted(root)}: no run with status ok has {measure}; they have: "
            f"{', '.join(sorted(known))}"
        )
    values = table[measure].astype(float)
    return table[[*_FACTS]].assign(value=values)[np.isfinite(values)]


def _differing(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, list[Any]]:
    differ: dict[str, list[Any]] = {}
    for _, both, _ in _matched(first, second):
        runs = (Path(both[f"directory_{end}"].iloc[0]) for end in "xy")
        for field, values in differing_fields(*map(load_recorded, runs)).items():
            differ.setdefault(field, list(values))
    differ.pop("seed", None)
    return differ


UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "bytes": "byte"}
"""Units by the last word of a measure's name."""


def _sheet(rows: pd.DataFrame, measure: str) -> Sheet:
    name, _, last = measure.rpartition("_")
    unit = UNITS.get(last, "")
    what = (name if unit else measure).replace("_", " ")
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
            yield f"Only in the {which.lower()}: {', '.join(only)}"
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
