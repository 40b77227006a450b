"""The plan of a campaign: cases with their labels, checked, and a run for each of their seeds.

A program is a Python file that has the cases.
"""

from __future__ import annotations

import importlib.util
import inspect
import io
import re
import sys
import traceback
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.campaign.store import RESERVED
from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import error_text, quoted
from minitopo_dc.fields.ranges import Seed
from minitopo_dc.installation import PACKAGE, checkout
from minitopo_dc.results.kept_scenario import run_id
from minitopo_dc.results.run_result import measure_names
from minitopo_dc.runs.check import TransportLimitError, check_fields
from minitopo_dc.runs.script_plugins import Registered, registered_in_script, with_script_plugins
from minitopo_dc.scenario import LegDirection, Scenario

Case = tuple[Scenario, Mapping[str, Any]]
"""A scenario, and the labels that tell it from the others: `delay_ms`, `way`, ..."""
Label = str | int | float | bool | None
MAX_RUNS = 1_000_000
_SEEDS = TypeAdapter(list[Seed])
_NAME = re.compile(r"[^\W\d]\w*( \w+)*")
"""The name of a label: words of letters, digits and underscores."""
Row = tuple[str, Mapping[str, Label], int]
"""Of the table: a run, which other rows may have too, the case's labels and the seed."""
KINDS = ("string", "integer", "floating", "mixed-integer-float", "boolean", "empty")
"""The kinds of values that a label may have, by pandas' names."""


class Plan:
    """The rows of a campaign in the order in which they are run, and the scenario of each run.

    Args:
        cases: scenarios with their labels.
        seeds: each case is run once with each of them; none: with its scenario's own.

    Raises:
        InputError: a case, a scenario, a label or a seed is wrong; the message names the case.
    """

    def __init__(self, cases: Iterable[Case], seeds: Iterable[int]) -> None:
        own = registered_in_script()
        self._cases = [_case(number, case, own) for number, case in enumerate(cases, start=1)]
        self.labels = tuple(dict.fromkeys(name for _, labels in self._cases for name in labels))
        try:
            self.seeds = tuple(dict.fromkeys(_SEEDS.validate_python([*seeds])))
        except ValidationError as error:
            raise InputError(f"seeds: {error_text(error.errors()[0])}") from None
        self.cases = len(self._cases)
        for name in self.labels:
            _check_label(name, [labels.get(name) for _, labels in self._cases])
        self.measures = tuple(self._checked())
        self.scenarios: dict[str, Scenario] = {}
        self.rows = tuple(self._rows())

    def _checked(self) -> dict[str, None]:
        """Check each scenario before any is run, each trace once; return the measures' names.

        Raises:
            InputError: one is wrong, or all are beyond their transports, of which otherwise the run
                says so; the message names its case by the labels.
        """
        known: set[tuple[Any, ...]] = set()
        measures: dict[str, None] = {}
        limits: list[str] = []
        for scenario, labels in self._cases:
            case = ", ".join(f"{label} {value}" for label, value in labels.items())
            named = f"case {quoted(case) or 'without labels'}"
            try:
                workloads = [flow.workload for flow in scenario.resolved_flows]
                names = dict.fromkeys(
                    measure_names(len(scenario.legs), workloads, alone=not scenario.flows)
                )
                if clash := names.keys() & self.labels:
                    raise SettingsError(
                        f"label {min(clash)}: that is a measure of its runs; allowed: another name"
                    )
                measures |= names
                _read_once(check_fields(scenario).directions(), known)
            except TransportLimitError as limit:
                limits.append(f"{named}: {limit}")
            except InputError as error:
                raise InputError(f"{named}: {error}") from None
        if limits and len(limits) == self.cases:
            raise InputError(limits[0])
        return measures

    def _rows(self) -> Iterable[Row]:
        """Return all rows with the first seed, then those with the second, ...; none twice."""
        runs = [(seed, *case) for seed in self.seeds for case in self._cases]
        if not self.seeds:
            runs = [(scenario.seed, scenario, labels) for scenario, labels in self._cases]
            runs.sort(key=lambda run: run[0])
        if len(runs) > MAX_RUNS:
            raise InputError(f"cases: {len(runs)} runs; allowed: {MAX_RUNS}")
        rows: dict[tuple[Any, ...], Row] = {}
        for seed, scenario, labels in runs:
            seeded = scenario.model_copy(update={"seed": seed})  # a seed makes nothing else wrong
            identity = run_id(seeded)
            self.scenarios.setdefault(identity, seeded)
            rows.setdefault((identity, *labels.items()), (identity, labels, seed))
        return rows.values()


def _read_once(directions: Iterable[tuple[str, LegDirection]], known: set[tuple[Any, ...]]) -> None:
    """Read those traces of legs' directions that are not `known`, which they are then."""
    for _, radio in directions:
        trace = radio.trace, radio.trace_column, radio.trace_time_column
        if radio.trace is not None and trace not in known:
            radio.capacity()
            known.add(trace)


def _case(number: int, case: Any, own: Registered) -> tuple[Scenario, dict[str, Label]]:
    match case:
        case (Scenario() as scenario, Mapping() as labels):
            pass
        case _:
            raise InputError(
                f"cases: number {number} is {quoted(repr(case))}; allowed: a tuple of a Scenario "
                "and a mapping of labels to values"
            )
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in labels.items()
    }
    return with_script_plugins(scenario, own), plain


def _check_label(name: Any, values: Sequence[Any]) -> None:
    """Refuse a label that no table can have.

    Args:
        name: its name.
        values: those of all cases, None where a case lacks it.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "allowed are names of letters, digits and underscores"
        raise InputError(f"label {quoted(repr(name))}: {allowed}")
    if name in RESERVED:
        allowed = f"allowed: another name, not {', '.join(RESERVED)}"
        raise InputError(f"label {name}: that is a column of every table; {allowed}")
    if infer_dtype(values, skipna=True) not in KINDS:
        kinds = {type(value): quoted(repr(value)) for value in values if value is not None}
        raise InputError(
            f"label {name}: {' and '.join(kinds.values())}; allowed: values of one kind in all "
            "cases: text, numbers, or True and False; None where there is none"
        )


FILE = "campaign.py"
"""The campaign of a study that has one only, named like its folder."""
MISTAKES = (AttributeError, ImportError, InputError, NameError, TypeError)
"""Errors of a report that a table without rows does not excuse."""
_QUOTED = re.compile("'([^']+)'")
"""A name among several in the words of a KeyError of pandas."""
_CASES = re.compile(r"^def cases\(", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A campaign's file that was imported."""

    path: Path
    title: str
    notes: str
    _module: ModuleType

    def cases(self, version: str) -> list[Any]:
        """Return the cases of a version; InputError shows a mistake in making them."""
        with _shown(self.path):
            return list(self._module.cases(version))

    def seeds(self, version: str) -> list[int]:
        """Return the seeds of each case; empty: each has its scenario's own."""
        with _shown(self.path):
            return list(getattr(self._module, "seeds", lambda _: ())(version))

    def sections(self, runs: pd.DataFrame) -> list[tuple[str, Any]]:
        """Return what `report(runs)` yields, titles and contents; empty without that function.

        Of a table that lacks runs it may be less: the last section then says what was not made.

        Raises:
            InputError: the report has a mistake, which is not due to missing runs.
        """
        sections: list[tuple[str, Any]] = []
        with _shown(self.path):
            try:
                sections.extend(self._sections(runs))
            except Exception as error:
                if _mistake(error, runs, ()) is not None:
                    raise
                shown = _as_python_shows(error, self.path, "needs runs that this table lacks")
                print(f"minitopo-dc: {shown}", file=sys.stderr)  # noqa: T201
                sections.append(("not shown", shown))
        return sections

    def try_report(self, runs: pd.DataFrame, values: Collection[str]) -> None:
        """Make a report of a table without rows, so that a misspelt column is found before a run.

        Args:
            runs: the table.
            values: of the labels; who asks for one as a column misses rows, not a column.

        Raises:
            InputError: the report has a mistake. Errors that may be due to the missing rows are
                none, nor is a column that a runner may give beside the table's.
        """
        try:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                list(self._sections(runs))
        except Exception as error:
            if (hint := _mistake(error, runs, values)) is not None:
                raise InputError(_as_python_shows(error, self.path) + hint) from None

    def _sections(self, runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
        allowed = "allowed: pairs of a title and its content"
        try:
            for section in getattr(self._module, "report", lambda _: ())(runs):
                match section:
                    case (str(), _):
                        yield section
                    case _:
                        shown = quoted(repr(section))
                        raise InputError(f"{self.path}: report yields {shown}; {allowed}")
        finally:
            if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
                pyplot.close("all")  # it keeps figures, which can still be drawn and written


def studies() -> dict[str, Path]:
    """Return the campaigns of the checkout's or the installed studies, by name.

    `studies/mesh/campaign.py` is `mesh`; any other file there with a function `cases` is
    `FOLDER/FILE`, e.g. `thesis/fairness`. The files are read, not run.
    """
    files = sorted((checkout() or PACKAGE / "data").glob("studies/*/*.py"))
    return {
        path.parent.name if path.name == FILE else f"{path.parent.name}/{path.stem}": path
        for path in files
        if _CASES.search(path.read_text(encoding="utf-8"))
    }


def load_program(path: Path) -> Program:
    """Import a campaign's file; it finds modules beside it, as a script does.

    Raises:
        InputError: it cannot be imported, shown at its line.
        InputError: there is no such file, or it has no `cases(version)`.
    """
    path = path.resolve()
    if not path.is_file():
        raise InputError(f"{quoted(path)}: no such regular file; allowed: a campaign's Python file")
    module = _imported(path)
    for name, parameter in (("cases", "version"), ("seeds", "version"), ("report", "runs")):
        try:
            if name == "cases" or hasattr(module, name):
                inspect.signature(getattr(module, name, None)).bind(None)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InputError(f"{path}: {name}: allowed is a function {name}({parameter})") from None
    title, _, notes = inspect.cleandoc(module.__doc__ or "").partition("\n")
    return Program(path, title.rstrip(".") or path.parent.name, notes.strip(), module)


_folders: list[str] = []
"""The folder of the campaign's file that was imported last, alone."""


def _imported(path: Path) -> ModuleType:
    for name, module in list(sys.modules.items()):  # another campaign's `report`, for example
        folder = str(Path(getattr(module, "__file__", None) or "/").parent)
        if folder in _folders and name != "__main__":
            del sys.modules[name]
    folder = str(path.parent)
    sys.path[:] = [folder, *(place for place in sys.path if place not in _folders)]
    _folders[:] = [folder]
    name = f"campaign_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with _shown(path):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _shown(path: Path) -> Iterator[None]:
    """Turn any error of a campaign's file into one that is shown as Python does."""
    try:
        yield
    except Exception as error:
        raise InputError(_as_python_shows(error, path)) from None


def _as_python_shows(error: Exception, path: Path, verdict: str = "has a mistake") -> str:
    """Return a traceback from the file's first line to the last one of the user's own files."""

    def is_own(file: Path) -> bool:
        installed = file.is_relative_to(PACKAGE) or "site-packages" in file.parts
        return not installed and file.exists()

    shown = traceback.TracebackException.from_exception(error)
    begin = [place for place, frame in enumerate(shown.stack) if frame.filename == str(path)]
    own = [place for place, frame in enumerate(shown.stack) if is_own(Path(frame.filename))]
    shown.stack[:] = shown.stack[begin[0] : own[-1] + 1] if begin else []
    return f"{path} {verdict}\n{''.join(shown.format(chain=False)).rstrip()}"


def _mistake(error: Exception, runs: pd.DataFrame, values: Collection[str]) -> str | None:
    """Return what to say of an error of a report of no rows; None if it may be due to that."""
    if isinstance(error, KeyError):
        text = str(error.args[0]) if error.args else ""
        for name in _QUOTED.findall(text) or [text]:
            known = name in runs or name in values
            if not known and (hint := did_you_mean(name, map(str, runs))):
                return f"\n{name}: no column of the table; {hint}"
        return None
    return "" if isinstance(error, MISTAKES) and not isinstance(error, UnboundLocalError) else None
