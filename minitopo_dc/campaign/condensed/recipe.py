"""The description of a condensed result: the campaign and the options that plan its runs again.

A condensed result keeps no scenario: its cells are those of the campaign's file as it is now, with
the options of then. A run whose identity is not among them belongs to an earlier file, and counts
as not run.
"""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from minitopo_dc.campaign.file.design import Version
from minitopo_dc.campaign.file.fields import SUFFIX, CampaignFile
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.scenario import Clock, Core
from minitopo_dc.settings import Settings, SettingsError
from minitopo_dc.settings.base import read_yaml
from minitopo_dc.shipped import shipped

TRACES = "traces/"
"""The beginning of a parameter that is a trace of the package, wherever that is installed."""
Parameter = int | float | str


class Recipe(Settings):
    """What `condensed.yaml` says; options that are not given have the campaign file's values."""

    condensed: Literal[1]
    """The version of the two files."""
    campaign: str
    """The name of a campaign that comes with the package."""
    clock: Clock
    version: Version
    experiments: Annotated[tuple[str, ...], Field(min_length=1)]
    configurations: tuple[str, ...] = ()
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    repetitions: int | None = None
    size_mb: float | None = None
    seed: int | None = None
    core: Core | None = None
    measures: tuple[str, ...]
    """The columns of `runs.csv` after the first ones."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """The digest of `runs.csv`."""
    made_with: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The versions of the packages that the runs were made with; for the reader only."""

    @property
    def settings(self) -> Hashable:
        """Return what results must share to differ in seeds and in which cells they have alone."""
        parameters = tuple(sorted(self.parameters.items()))
        return (self.campaign, self.clock, self.version, self.size_mb, self.core, parameters)

    def plan(self, source: Path) -> Plan:
        """Return the plan of the campaign's file as it is now, without the runs' scenarios.

        Args:
            source: the file of this description, which errors name.

        Raises:
            SettingsError: no such campaign comes with the package, or it cannot be planned.
        """
        known = campaigns()
        if self.campaign not in known:
            allowed = ", ".join(known)
            raise SettingsError(f"{source}: campaign: {self.campaign}; allowed: {allowed}")
        try:
            return _planned(known[self.campaign], self._overrides(_file(known[self.campaign])))
        except SettingsError as error:
            raise SettingsError(f"{source}: its runs cannot be planned again: {error}") from None

    def _overrides(self, file: CampaignFile) -> Overrides:
        """Return the options; names that the file no longer has are left out."""
        experiments = _still_there("experiments", self.experiments, file.experiments)
        configurations = _still_there("configurations", self.configurations, file.configurations)
        return Overrides(
            version=self.version,
            clock=self.clock,
            core=self.core,
            repetitions=self.repetitions,
            size_mb=self.size_mb,
            seed=self.seed,
            experiments=experiments,
            configurations=configurations,
            parameters=tuple((name, placed(value)) for name, value in self.parameters.items()),
        )


def campaigns() -> dict[str, Path]:
    """Return the files of the campaigns that come with the package, by name."""
    return {path.stem: path for path in sorted(shipped("campaigns").glob(f"*{SUFFIX}"))}


def campaign_called(title: str) -> str:
    """Return the name of the shipped campaign with a title.

    Raises:
        SettingsError: none has it.
    """
    for name, path in campaigns().items():
        if read_yaml(path).get("title") == title:
            return name
    allowed = ", ".join(campaigns())
    raise SettingsError(f"{title!r}: no campaign that comes with the package; allowed: {allowed}")


def portable(name: str, value: Parameter) -> Parameter:
    """Return a parameter's value as it can be written down: a trace of the package by its name.

    Raises:
        SettingsError: it is another file, which only this machine has.
    """
    if not isinstance(value, str) or not Path(value).is_absolute():
        return value
    if not (shipped("traces") / Path(value).name).is_file():
        raise SettingsError(f"parameter {name}: {value}: allowed: a trace of the package's")
    return f"{TRACES}{Path(value).name}"


def placed(value: Parameter) -> str:
    """Return a parameter's value as the command line gives it."""
    text = str(value)
    known = text.startswith(TRACES) and shipped("traces") / text.removeprefix(TRACES)
    return str(known) if known else text


def _still_there(kind: str, names: tuple[str, ...], known: Container[str]) -> tuple[str, ...]:
    found = tuple(name for name in names if name in known)
    if names and not found:
        gone = ", ".join(names)
        raise SettingsError(f"{kind}: {gone}; the campaign has none of them any more")
    return found


@cache
def _file(path: Path) -> CampaignFile:
    return read_file(path, Overrides())


@cache
def _planned(path: Path, overrides: Overrides) -> Plan:
    """Return a plan, which takes seconds for thousands of runs, without these runs."""
    return replace(read_plan(path, overrides), runs=())
