"""Print the results of a run, comparison or campaign, or compare two (`minitopo-dc show`).

The command reads the files of the directories and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
from rich.console import Console

from minitopo_dc.analysis.measures.side_by_side import COLUMNS, SideBySide, side_by_side
from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.analysis.tables.sheet import Head, Sheet
from minitopo_dc.analysis.tables.summary import columns_of
from minitopo_dc.campaign.table import FACTS, load, row_of
from minitopo_dc.commands.advise import ADVICE, tell_advice
from minitopo_dc.commands.campaign import tell_directory
from minitopo_dc.commands.compare import tell_comparison
from minitopo_dc.commands.options.scenario import add_plugin_option
from minitopo_dc.commands.owner import drop_privileges
from minitopo_dc.commands.run import tell_run
from minitopo_dc.commands.screen import resume_text
from minitopo_dc.comparison_runs import ASKED, differing_fields, runs_asked
from minitopo_dc.files import parse_json, read_text
from minitopo_dc.numbers import significant
from minitopo_dc.plugins import load_plugins
from minitopo_dc.runs.results import MAX_BYTES, RunResult, load_recorded
from minitopo_dc.scenario import DUAL_CONNECTIVITY
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted

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
    add_plugin_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


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
        _show(arguments.directory, as_json=arguments.json)
    return 0


def _show(root: Path, *, as_json: bool) -> None:
    match _kind(root):
        case "run":
            tell_run(load_result(root), root, as_json=as_json)
        case "comparison":
            _show_comparison(root, as_json=as_json)
        case "campaign":
            tell_directory(root, as_json=as_json)


def _show_comparison(root: Path, *, as_json: bool) -> None:
    results = _results(root)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=1))  # noqa: T201
        return
    if (root / ADVICE).exists():
        tell_advice(results, _advice(root / ADVICE))
        return
    tell_comparison(results, root)
    asked = runs_asked(root)
    if asked is not None and len(results) < asked:
        words = resume_text(len(results), asked)
        Console().print(f"{words} with --output {root}", markup=False, soft_wrap=True)


def _advice(path: Path) -> list[str]:
    """Return what was said.

    Raises:
        SettingsError: the file is no advice.
    """
    try:
        told = parse_json(read_text(path, MAX_BYTES, within=path.parent))["sentences"]
        return [str(each) for each in told]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{quoted(path)}: not a result of advise: {error}") from None


def _kind(root: Path) -> Kind:
    """Return the kind of results that a directory holds.

    Raises:
        SettingsError: the directory holds no results.
    """
    if (root / FACTS).exists():
        return "campaign"
    if (root / "result.json").exists():
        return "run"
    if any(root.glob("*/result.json")):
        return "comparison"
    if (root / "plan.json").exists():
        raise SettingsError(
            f"{quoted(root)}: the campaign of a YAML file, which this version does not read; "
            "`show` prints each of its runs, and docs/from-yaml-campaigns.md moves the campaign"
        )
    if (root / ASKED).exists():
        raise SettingsError(f"{quoted(root)}: none of its runs is finished")
    raise SettingsError(f"{quoted(root)}: no results; {_results_below(root)}")


def _results_below(root: Path) -> str:
    """Return which directories below this one hold results, the latest first."""
    found = {path.parent for name in (FACTS, ASKED) for path in root.glob(f"*/{name}")}
    if not found:
        return f"looked for result.json, */result.json and {FACTS}"
    latest = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:MAX_BELOW]
    return f"the directories below it have some: {', '.join(map(quoted, latest))}"


def _results(root: Path) -> list[RunResult]:
    """Return the results of a run, or of a comparison in the order of its runs.

    Raises:
        SettingsError: a run is a link to another directory.
        ResultError: a result is broken.
    """
    if (root / "result.json").exists():
        return [load_result(root)]
    runs = [each for each in sorted(root.glob("*")) if (each / "result.json").exists()]
    for run in runs:
        if run.is_symlink():
            raise SettingsError(f"{quoted(run)}: a link; allowed: a directory of this comparison's")
    return sorted(map(load_result, runs), key=lambda each: each.repetition)


class _Set(NamedTuple):
    """The runs of a directory that are compared by a measure."""

    root: Path
    runs: pd.DataFrame
    """The runs that are ok and have the measure: `COLUMNS`, and `directory`."""
    left_out: int


def _compare(first: Path, second: Path, *, measure: str | None, as_json: bool) -> None:
    kinds = [_kind(each) for each in (first, second)]
    if len({each == "campaign" for each in kinds}) > 1:
        raise SettingsError(f"--compare: a {kinds[0]} and a {kinds[1]}; allowed: two of a kind")
    tables = [_table(each) for each in (first, second)]
    name = measure or _usual_measure(pd.concat(tables, ignore_index=True))
    sets = [_set(root, table, name) for root, table in zip((first, second), tables, strict=True)]
    found = side_by_side(*(each.runs[list(COLUMNS)] for each in sets))
    differ = _differing(found, *(each.runs for each in sets))
    if as_json:
        only = {"only_first": found.only_first, "only_second": found.only_second}
        rows = [each.to_json() for each in found.rows]
        print(json.dumps({"measure": name, "rows": rows, **only, "differ": differ}, indent=1))  # noqa: T201
    else:
        _tell(found, sets, name, differ)


def _table(root: Path) -> pd.DataFrame:
    """Return all runs: `row`, `point`, `seed`, `status`, `directory`, `workload`, `measures`."""
    if _kind(root) == "campaign":
        rows = list(_labelled_rows(root))
    else:
        rows = [
            {"row": _row_name(run), "point": "", "workload": run.workload}
            | _run_columns({**row_of(run), "seed": run.seed, "directory": run.directory})
            for run in _results(root)
        ]
    if not rows:
        raise SettingsError(f"{quoted(root)}: no run is done")
    return pd.DataFrame(rows)


def _labelled_rows(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a campaign's table whose runs are done."""
    runs = load(root)
    labels = runs.attrs["labels"]
    for row in runs[runs["status"] != "missing"].to_dict("records"):
        directory = root / row["run"]
        named = ", ".join(f"{label} {row[label]}" for label in labels if pd.notna(row[label]))
        workload = load_result(directory).workload
        values = {**row, "directory": str(directory)}
        yield {"row": named, "point": "", "workload": workload, **_run_columns(values)}


def _run_columns(values: Mapping[Any, Any]) -> dict[str, Any]:
    kept = {name: values[name] for name in ("seed", "status", "directory")}
    return kept | {"measures": dict(values)}


def _row_name(run: RunResult) -> str:
    """Return a row's name, which does not depend on what else is compared there.

    A comparison with one split policy does not name it in its rows; its scenario does.
    """
    variant = run.variant
    if not variant and run.mode in DUAL_CONNECTIVITY:
        variant = load_recorded(Path(run.directory)).pdcp.split
    return " ".join(filter(None, (run.transport, run.mode, variant)))


def _usual_measure(table: pd.DataFrame) -> str:
    """Return goodput where there is one, else the workload's first number that is no count."""
    if any(
        "goodput_mbps" in each and _is_number(each["goodput_mbps"]) for each in table["measures"]
    ):
        return "goodput_mbps"
    return next(each.measure for each in columns_of(table) if not each.count)


def _set(root: Path, table: pd.DataFrame, measure: str) -> _Set:
    """Return the runs that have a measure.

    Raises:
        SettingsError: no run has it; the message names the measures that there are.
    """
    values = [each.get(measure) for each in table["measures"]]
    has = [_is_number(value) for value in values]
    if not any(has):
        known = sorted(
            {name for each in table["measures"] for name in each if _is_number(each[name])}
        )
        raise SettingsError(
            f"{quoted(root)}: no run with status ok has {measure}; they have: {', '.join(known)}"
        )
    runs = table.assign(value=values)[has].astype({"value": float})
    return _Set(root, runs[[*COLUMNS, "directory"]], int((table["status"] != "ok").sum()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _differing(
    found: SideBySide, first: pd.DataFrame, second: pd.DataFrame
) -> dict[str, list[Any]]:
    """Return the fields in which the scenarios of matched rows differ, with both values."""
    differ: dict[str, list[Any]] = {}
    for each in found.rows:
        runs = [frame[frame["row"] == each.row] for frame in (first, second)]
        pairs = runs[0].merge(runs[1], on=["point", "seed"])
        if pairs.empty:
            pairs = runs[0].merge(runs[1], how="cross")
        names = pairs[["directory_x", "directory_y"]].iloc[0]
        for field, values in differing_fields(
            *(load_recorded(Path(name)) for name in names)
        ).items():
            differ.setdefault(field, list(values))
    differ.pop("seed", None)
    return differ


UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "bytes": "byte"}
"""Units by the last word of a measure's name."""


def _tell(
    found: SideBySide, sets: Sequence[_Set], measure: str, differ: Mapping[str, Sequence[Any]]
) -> None:
    name, _, last = measure.rpartition("_")
    unit = UNITS.get(last, "")
    what = (name if unit else measure).replace("_", " ")
    heads = [Head("configuration", text=True), Head("first", unit), Head("second", unit)]
    heads += [Head("difference", unit), Head("95 %\ninterval", unit, text=True), Head("pairs")]
    sheet = Sheet(heads, title=f"{what[:1].upper()}{what[1:]}: second minus first")
    for each in found.rows:
        numbers = (each.first, each.second, each.difference)
        interval = f"{significant(each.low)} to {significant(each.high)}"
        shown = "-" if math.isnan(each.low) else interval
        sheet.add(each.row, *map(significant, numbers), shown, str(each.pairs))
    console = Console()
    console.print(sheet)
    for line in _below(found, sets, differ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _below(
    found: SideBySide, sets: Sequence[_Set], differ: Mapping[str, Sequence[Any]]
) -> Iterator[str]:
    """Yield the notes below the table."""
    only = (found.only_first, found.only_second)
    for which, each, rows in zip(("First", "Second"), sets, only, strict=True):
        left = f"; {each.left_out} runs that are not ok are left out" if each.left_out else ""
        yield f"{which}: {each.root}{left}"
        if rows:
            yield f"Only in the {which.lower()}: {', '.join(rows)}"
    if not found.rows:
        yield "No configuration is in both."
    for field, (old, new) in list(differ.items())[:MAX_DIFFERENCES]:
        yield f"They differ in {field}: {old} and {new}"
    if len(differ) > MAX_DIFFERENCES:
        yield f"They differ in {len(differ) - MAX_DIFFERENCES} more fields"
    if any(each.pairs == 0 for each in found.rows):
        yield "A row with 0 pairs has no seed in both, so it has no interval."
    elif any(math.isnan(each.low) for each in found.rows):
        yield "One pair has no interval; more seeds would give one."
