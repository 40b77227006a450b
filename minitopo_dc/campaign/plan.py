"""The plan of a campaign: cases with their labels, checked, and a run for each of their seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pandas.api.types import infer_dtype
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.campaign.table import RESERVED
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import error_text, quoted
from minitopo_dc.fields.ranges import Seed
from minitopo_dc.results.kept_scenario import run_id
from minitopo_dc.results.run_result import measure_names
from minitopo_dc.runs.check import TransportLimitError, check_fields
from minitopo_dc.runs.script_plugins import Registered, registered_in_script, with_script_plugins
from minitopo_dc.scenario import Scenario

Case = tuple[Scenario, Mapping[str, Any]]
"""A scenario, and the labels that tell it from the others: `delay_ms`, `way`, ..."""
Label = str | int | float | bool | None
MAX_RUNS = 1_000_000
_SEEDS = TypeAdapter(list[Seed])
_NAME = re.compile(r"[^\W\d]\w*( \w+)*")
"""The name of a label: words of letters, digits and underscores."""
KINDS = ("string", "integer", "floating", "mixed-integer-float", "boolean", "empty")
"""The kinds of values that a label may have, by pandas' names."""


class PlannedRun(NamedTuple):
    """A row of the table: a case with a seed, and the run that it has, maybe with other rows."""

    id: str
    labels: Mapping[str, Label]
    seed: int


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
                names = dict.fromkeys(measure_names(scenario))
                if clash := names.keys() & self.labels:
                    raise SettingsError(
                        f"label {min(clash)}: that is a measure of its runs; allowed: another name"
                    )
                measures |= names
                _check(scenario, known)
            except TransportLimitError as limit:
                limits.append(f"{named}: {limit}")
            except InputError as error:
                raise InputError(f"{named}: {error}") from None
        if limits and len(limits) == self.cases:
            raise InputError(limits[0])
        return measures

    def _rows(self) -> Iterable[PlannedRun]:
        """Return all rows with the first seed, then those with the second, ...; none twice."""
        runs = [(seed, *case) for seed in self.seeds for case in self._cases]
        if not self.seeds:
            runs = [(scenario.seed, scenario, labels) for scenario, labels in self._cases]
            runs.sort(key=lambda run: run[0])
        if len(runs) > MAX_RUNS:
            raise InputError(f"cases: {len(runs)} runs; allowed: {MAX_RUNS}")
        rows: dict[tuple[Any, ...], PlannedRun] = {}
        for seed, scenario, labels in runs:
            seeded = scenario.model_copy(update={"seed": seed})  # a seed makes nothing else wrong
            identity = run_id(seeded)
            self.scenarios.setdefault(identity, seeded)
            rows.setdefault((identity, *labels.items()), PlannedRun(identity, labels, seed))
        return rows.values()


def _check(scenario: Scenario, known: set[tuple[Any, ...]]) -> None:
    """Check a scenario, and those of its traces that are not `known`, which they are then."""
    for _, radio in check_fields(scenario).directions():
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
