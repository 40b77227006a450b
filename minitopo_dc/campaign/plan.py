"""The plan of a campaign: cases with their labels, checked, and a run for each of their seeds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from minitopo_dc.campaign.table import RESERVED, measure_names
from minitopo_dc.errors import InputError
from minitopo_dc.runs.check import check_fields
from minitopo_dc.runs.own_plugins import own_files, own_things, restored, with_own_plugins
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.scenario.identity import run_id
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import error_text, quoted
from minitopo_dc.settings.ranges import Seed

Case = tuple[Scenario, Mapping[str, Any]]
"""A scenario, and the labels that tell it from the others: `delay_ms`, `way`, ..."""
Label = str | int | float | bool | None
MAX_RUNS = 1_000_000
_SEED: TypeAdapter[int] = TypeAdapter(Seed)
_NAME = re.compile(r"[^\W\d]\w*( \w+)*")
"""The name of a label: words of letters, digits and underscores."""


class PlannedRun(NamedTuple):
    """A row of the table: a case with a seed, and the run that it has, maybe with other rows."""

    id: str
    labels: Mapping[str, Label]
    seed: int


@dataclass(frozen=True)
class Task:
    """A scenario to be run, on this machine or another."""

    id: str
    scenario: Scenario
    repetition: int = 1

    def __reduce__(self) -> tuple[Callable[..., Task], tuple[Any, ...]]:
        """Pickle as plain values, with the files of the user's own plugins."""
        values = self.scenario.model_dump(mode="json")
        return _task, (self.id, values, own_files(self.scenario), self.repetition)


def _task(identity: str, values: dict[str, Any], files: dict[str, str], repetition: int) -> Task:
    return Task(identity, restored(values, files), repetition)


class Plan:
    """The rows of a campaign in the order in which they are run, and the scenario of each run.

    Args:
        cases: scenarios with their labels.
        seeds: each case is run once with each of them; none: with its scenario's own.

    Raises:
        InputError: a case, a scenario, a label or a seed is wrong; the message names the case.
    """

    def __init__(self, cases: Iterable[Case], seeds: Iterable[int]) -> None:
        own = own_things()
        given = [
            (with_own_plugins(scenario, own), labels)
            for scenario, labels in map(_case, itertools.count(1), cases)
        ]
        self.labels = tuple(dict.fromkeys(name for _, labels in given for name in labels))
        self.seeds = tuple(dict.fromkeys(map(_seed, seeds)))
        self.cases = len(given)
        _check_kinds(self.labels, [labels for _, labels in given])
        _Checks(self.labels).check(given)
        self.measures = tuple(
            dict.fromkeys(name for scenario, _ in given for name in measure_names(scenario))
        )
        self.scenarios: dict[str, Scenario] = {}
        self.rows = tuple(self._rows(given))

    def _rows(self, given: Sequence[tuple[Scenario, dict[str, Label]]]) -> Iterator[PlannedRun]:
        """Yield all rows with the first seed, then those with the second, ...; none twice."""
        each = [(scenario.seed, scenario, labels) for scenario, labels in given]
        if self.seeds:
            each = [(seed, scenario, labels) for seed in self.seeds for _, scenario, labels in each]
        else:
            each.sort(key=lambda run: run[0])
        if len(each) > MAX_RUNS:
            raise InputError(f"cases: {len(each)} runs; allowed: {MAX_RUNS}")
        known: set[tuple[Any, ...]] = set()
        for seed, scenario, labels in each:
            seeded = scenario.model_copy(update={"seed": seed})  # a seed makes nothing else wrong
            identity = run_id(seeded)
            row = identity, *labels.items()
            if row not in known:
                known.add(row)
                self.scenarios.setdefault(identity, seeded)
                yield PlannedRun(identity, labels, seed)


def _seed(value: Any) -> int:
    try:
        return _SEED.validate_python(value)
    except ValidationError as error:
        raise InputError(f"seeds: {error_text(error.errors()[0])}") from None


def _case(number: int, case: Any) -> tuple[Scenario, dict[str, Label]]:
    """Return a case after a check of what it is made of."""
    pair = isinstance(case, tuple) and len(case) == 2
    if not pair or not isinstance(case[0], Scenario) or not isinstance(case[1], Mapping):
        raise InputError(
            f"cases: number {number} is {quoted(repr(case))}; allowed: a tuple of a Scenario and "
            "a mapping of labels to values"
        )
    scenario, labels = case
    return scenario, {_name(name): _label(name, value) for name, value in labels.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"label {quoted(repr(name))}: allowed are names of letters, digits and underscores"
        )
    if name in RESERVED:
        raise InputError(
            f"label {name}: that is a column of every table; allowed: another name, not "
            f"{', '.join(RESERVED)}"
        )
    return name


def _label(name: str, value: Any) -> Label:
    """Return a label's value as the plain one that tables have."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise InputError(
        f"label {name}: {quoted(repr(value))}; allowed: text, a number, True, False or None"
    )


def _check_kinds(names: Iterable[str], cases: Sequence[Mapping[str, Label]]) -> None:
    """Refuse a label that is a number in some cases and text in others: no column has both."""
    for name in names:
        values = [labels[name] for labels in cases if labels.get(name) is not None]
        kinds = {_kind(value): value for value in values}
        if len(kinds) > 1:
            shown = " and ".join(repr(value) for value in kinds.values())
            raise InputError(f"label {name}: {shown}; allowed: values of one kind in all cases")


def _kind(value: Label) -> str:
    return type(value).__name__ if isinstance(value, str | bool) else "number"


class _Checks:
    """Checks of each scenario, before any of them is run; each trace is read once."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._labels = frozenset(labels)
        self._traces: set[tuple[Path, str | None, str | None]] = set()

    def check(self, cases: Iterable[tuple[Scenario, Mapping[str, Label]]]) -> None:
        """Check all of them; InputError names the case by its labels."""
        for scenario, labels in cases:
            try:
                check_fields(scenario)
                self._read_traces(resolve_scenario(scenario).scenario)
                self._check_clash(scenario)
            except InputError as error:
                named = ", ".join(f"{name} {value}" for name, value in labels.items())
                raise InputError(f"case {quoted(named) or 'without labels'}: {error}") from None

    def _read_traces(self, scenario: Scenario) -> None:
        for _, radio in scenario.directions():
            if radio.trace is not None:
                known = radio.trace, radio.trace_column, radio.trace_time_column
                if known not in self._traces:
                    radio.capacity()
                    self._traces.add(known)

    def _check_clash(self, scenario: Scenario) -> None:
        clash = self._labels.intersection(measure_names(scenario))
        if clash:
            raise SettingsError(
                f"label {min(clash)}: that is a measure of its runs; allowed: another name"
            )
