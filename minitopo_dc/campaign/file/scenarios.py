"""The step from a campaign's file to the scenarios of its cells; errors name file and key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.file.cells import Cell, cells_of
from minitopo_dc.campaign.file.design import Version, factor_names
from minitopo_dc.campaign.file.expressions import Evaluation
from minitopo_dc.campaign.file.fields import CampaignFile, Experiment
from minitopo_dc.campaign.file.grammar import ExpressionError
from minitopo_dc.campaign.file.measure_names import check_measures
from minitopo_dc.campaign.file.parameters import changed, numbers_of, placed
from minitopo_dc.runs.check import TransportLimitError, check_fields, tell_doubts
from minitopo_dc.scenario import Clock, Core, Scenario
from minitopo_dc.scenario.field_paths import LABEL, PathError, check_path, set_value
from minitopo_dc.settings import SettingsError, read_yaml
from minitopo_dc.trace import TraceError

FIELD_CLOCKS: dict[str, Clock] = {
    "virtual": "virtual",
    "real.sysctl": "real",
    "real.client_cpu_percent": "real",
}
"""The clock of fields that describe a machine, which the other clock leaves out. Other fields below
`real` change what is measured: the virtual clock refuses them."""


@dataclass(frozen=True)
class Overrides:
    """Changes by the command line; None leaves the file's value."""

    version: Version = "full"
    clock: Clock | None = None
    core: Core | None = None
    """The core of the virtual clock."""
    repetitions: int | None = None
    size_mb: float | None = None
    """The size of downloads, except where the size is a factor."""
    seed: int | None = None
    experiments: tuple[str, ...] = ()
    """The only experiments that are wanted; none: all."""
    configurations: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


def read_file(path: Path, overrides: Overrides) -> CampaignFile:
    """Return the file with its parameters in place."""
    file = CampaignFile.check(read_yaml(path), str(path))
    document = file.model_dump(mode="json", exclude={"parameters"}, exclude_unset=True)
    try:
        values = changed(file.parameters, overrides.parameters)
        replaced = placed(document, values, numbers_of(file.parameters))
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None
    return CampaignFile.check({**replaced, "parameters": values}, str(path))


class Planner:
    """A maker of the scenarios of a file; every error names the file and the key."""

    def __init__(self, path: Path, file: CampaignFile, clock: Clock, overrides: Overrides) -> None:
        self._path = path
        self._file = file
        self._clock = clock
        self._overrides = overrides
        self._traces: set[tuple[str, str, str | None]] = set()
        self._places: dict[str, str] = {}
        self._known_values: dict[tuple[str, str], Any] = {}
        self._checked: dict[str, Scenario] = {}

    def experiments(self) -> Iterable[str]:
        """Return the names of the experiments that are wanted."""
        self._known("--experiments", self._overrides.experiments, self._file.experiments)
        self._known("--configurations", self._overrides.configurations, self._file.configurations)
        if not self._file.has(self._overrides.version):
            version = self._overrides.version
            raise SettingsError(f"{self._path}: --{version}: the file has no {version} version")
        return self._overrides.experiments or self._file.experiments

    def cells(self, name: str) -> Iterator[tuple[Cell, Scenario]]:
        """Yield each cell of an experiment, with the scenario of its first repetition."""
        experiment = self._file.experiments[name]
        key = f"experiments.{name}"
        self._check_keys(name, experiment)
        wanted = self._overrides.configurations
        try:
            cells = list(
                cells_of(
                    self._file,
                    name,
                    version=self._overrides.version,
                    wanted=wanted,
                    directory=self._path.parent,
                )
            )
        except ValueError as error:
            raise SettingsError(f"{self._path}: {key}.{error}") from None
        self._check_replaced(name, experiment)
        if not cells and not wanted:
            raise SettingsError(f"{self._path}: {key}.{self._overrides.version}: keeps no cell")
        found = [(cell, self._scenario(cell)) for cell in cells]
        try:
            check_measures(self._file, experiment, [scenario for _, scenario in found])
        except ValueError as error:
            raise SettingsError(f"{self._path}: {key}.{error}") from None
        yield from found

    def repetitions(self, name: str) -> int:
        """Return how many repetitions each cell of an experiment has."""
        if self._overrides.repetitions is not None:
            return self._overrides.repetitions
        usual = self._file.experiments[name].repetitions or self._file.repetitions
        fewer = self._file.smaller(self._overrides.version).repetitions
        return usual if fewer is None else min(usual, fewer)

    def _scenario(self, cell: Cell) -> Scenario:
        document: dict[str, Any] = {}
        evaluation = Evaluation(cell.factors, self._known_values)
        for fields in self._layers(cell):
            for path, value in fields.items():
                if not path.startswith(LABEL) and _has_field(self._clock, path):
                    try:
                        set_value(document, path, _as_json(evaluation.of(value)))
                    except (PathError, ExpressionError) as error:
                        raise SettingsError(f"{self._path}: {cell}: {path}: {error}") from None
        self._place_traces(document)
        return self._checked_once(document, str(cell))

    def _checked_once(self, document: dict[str, Any], where: str) -> Scenario:
        """Check a scenario, unless the same one of another cell was checked before."""
        text = json.dumps(document, sort_keys=True)
        if text not in self._checked:
            scenario = Scenario.check(document, f"{self._path}: {where}")
            self._check(scenario, where)
            self._checked[text] = scenario
        return self._checked[text]

    def _layers(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        yield self._file.base
        yield {"clock": self._clock}
        yield self._file.configurations[cell.configuration]
        yield self._file.experiments[cell.experiment].base
        yield self._file.smaller(self._overrides.version).fields
        for path, value in (
            ("workload.size_mb", self._overrides.size_mb),
            ("seed", self._overrides.seed),
            ("virtual.core", self._overrides.core if self._clock == "virtual" else None),
        ):
            yield {} if value is None else {path: value}
        yield cell.factors

    def _place_traces(self, document: dict[str, Any]) -> None:
        """Make relative traces absolute: they are relative to the campaign's file."""
        legs = document.get("legs")
        for leg in legs if isinstance(legs, list) else ():
            for direction in (leg, *leg.values()) if isinstance(leg, dict) else ():
                if isinstance(direction, dict) and isinstance(direction.get("trace"), str):
                    direction["trace"] = self._real(direction["trace"])

    def _real(self, trace: str) -> str:
        if trace not in self._places:
            self._places[trace] = os.path.realpath(self._path.parent / trace)
        return self._places[trace]

    def _check(self, scenario: Scenario, where: str) -> None:
        """Check what the fields alone do not tell: transport, clock, options, traces."""
        try:
            with suppress(TransportLimitError):  # only its own runs are `unsupported`
                check_fields(scenario)
            self._check_traces(scenario)
        except (SettingsError, TraceError) as error:
            raise SettingsError(f"{self._path}: {where}: {error}") from None

    def _check_traces(self, scenario: Scenario) -> None:
        """Check traces; each is read once, however many cells have it."""
        for _, direction in scenario.directions():
            if direction.trace is not None:
                known = (
                    str(direction.trace),
                    direction.trace_column,
                    direction.trace_time_column,
                )
                if known not in self._traces:
                    direction.capacity()
                    tell_doubts(direction)
                self._traces.add(known)

    def _check_keys(self, name: str, experiment: Experiment) -> None:
        """Check that every path leads to a field."""
        file, key = self._file, f"experiments.{name}"
        places: list[tuple[str, Iterable[str]]] = [
            ("base", file.base),
            *((f"configurations.{each}", fields) for each, fields in file.configurations.items()),
            ("quick.fields", file.quick.fields),
            ("sample.fields", file.sample.fields),
            (f"{key}.base", experiment.base),
            (f"{key}.grid", experiment.grid),
            *((f"{key}.joint", group) for group in experiment.joint),
            *((f"{key}.cells", fields) for fields in experiment.cells),
            (f"{key}.design.factors", factor_names(experiment.design)),
        ]
        for place, paths in places:
            for path in paths:
                try:
                    check_path(path)
                except PathError as error:
                    raise SettingsError(f"{self._path}: {place}: {error}") from None

    def _check_replaced(self, name: str, experiment: Experiment) -> None:
        """Refuse a list or mapping that would replace fields of a layer below it as a whole."""
        factors = [
            path
            for path in experiment.factors()
            if any(isinstance(value, list | dict) for value in experiment.values(path))
        ]
        whole = [path for path, value in experiment.base.items() if isinstance(value, list | dict)]
        layers: list[tuple[str, Iterable[str], list[str]]] = [
            (f"configurations.{each}", self._file.configurations[each], [*whole, *factors])
            for each in self._file.configurations_of(experiment, self._overrides.version)
        ]
        layers.append((f"experiments.{name}.base", experiment.base, factors))
        for layer, paths, replacing in layers:
            for path, other in product(paths, replacing):
                if path.startswith(f"{other}."):
                    raise SettingsError(
                        f"{self._path}: experiments.{name}: {other} replaces {path} of {layer}; "
                        f"put {other} below the file's base, or name its single fields"
                    )

    def _known(self, option: str, names: Iterable[str], known: Iterable[str]) -> None:
        for name in names:
            if name not in known:
                raise SettingsError(f"{self._path}: {option} {name}: allowed: {', '.join(known)}")


@cache
def _has_field(clock: Clock, path: str) -> bool:
    """Return whether a clock has a field at all."""
    clocks = (of for place, of in FIELD_CLOCKS.items() if f"{path}.".startswith(f"{place}."))
    return all(of == clock for of in clocks)


def _as_json(value: Any) -> Any:
    """Return a copy of a value with the types that JSON has."""
    if value is None or isinstance(value, str | int | float):
        return value
    return json.loads(json.dumps(value))
