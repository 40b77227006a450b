"""Cells of an experiment: its configurations, each with every combination of its factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from minitopo_dc.analysis import ResultError
from minitopo_dc.analysis.tables.reference import check_column, read_reference
from minitopo_dc.campaign.file.design import Version, factor_names
from minitopo_dc.campaign.file.explain import check_explained, check_sides, check_when
from minitopo_dc.campaign.file.fields import (
    OVER_POINTS,
    CampaignFile,
    Experiment,
    Fields,
    Figure,
    Joint,
    Reference,
)
from minitopo_dc.campaign.file.measure_names import check_names

MAX_CELLS = 100_000
"""The most cells of an experiment: each is a scenario that is checked, in a millisecond."""
SMALLER: tuple[Version, ...] = ("quick", "sample")


@dataclass(frozen=True)
class Cell:
    """A configuration of an experiment with a value of each factor."""

    experiment: str
    configuration: str
    factors: Mapping[str, Any]
    runs: tuple[str, ...] = ()
    """Identities of the runs, one per repetition; empty before the cell is planned."""

    def __str__(self) -> str:
        """Return the cell's place in the file, for messages."""
        words = [self.configuration, *(f"{k}={v}" for k, v in self.factors.items())]
        return f"experiments.{self.experiment} ({', '.join(words)})"


def cells_of(
    file: CampaignFile,
    name: str,
    *,
    version: Version,
    wanted: Sequence[str] = (),
    directory: Path = Path(),
) -> Iterator[Cell]:
    """Yield every cell of an experiment, configuration by configuration.

    Args:
        file: the campaign's file, which has the configurations.
        name: the experiment's name.
        version: keep only the values that the experiment names for this version.
        wanted: configurations, also such as are not standard; none: those of the version.
        directory: where the file is.

    Raises:
        ValueError: a design cannot be made, factors of one `joint` have different numbers of
            values, a factor stands twice, or a name is not known: the message begins with the key
            below the experiment.
    """
    experiment = file.experiments[name]
    _check(file, experiment)
    kept = experiment.kept(version)
    _check_number(experiment)
    combinations = list(_factors(experiment, _designed(experiment, version, directory)))
    for configuration in _configurations(file, experiment, version, wanted):
        for factors in combinations:
            if _is_kept(factors, kept):
                yield Cell(name, configuration, factors)


def _configurations(
    file: CampaignFile, experiment: Experiment, version: Version, wanted: Sequence[str]
) -> list[str]:
    if not wanted:
        return list(file.configurations_of(experiment, version))
    return [name for name in experiment.configurations or file.configurations if name in wanted]


def _designed(experiment: Experiment, version: Version, directory: Path) -> list[Fields]:
    if experiment.design is None:
        return []
    try:
        return list(experiment.design.cells(version, directory))
    except ValueError as error:
        raise ValueError(f"design.{error}") from None


def _factors(experiment: Experiment, designed: list[Fields]) -> Iterator[Fields]:
    alone: Iterable[list[Fields]] = (
        [{path: value} for value in values] for path, values in experiment.grid.items()
    )
    joint = (list(_joint(group)) for group in experiment.joint)
    listed = [list(each) for each in (experiment.cells, designed) if each]
    for parts in product(*alone, *joint, *listed):
        yield {path: value for part in parts for path, value in part.items()}


def _check_number(experiment: Experiment) -> None:
    """Refuse more cells than a campaign can have, before they are made."""
    design = experiment.design
    groups = [
        *map(len, experiment.grid.values()),
        *(len(next(iter(group.values()))) for group in experiment.joint),
        len(experiment.cells) or 1,
        1 if design is None else design.points or 1,
    ]
    if math.prod(groups) > MAX_CELLS:
        raise ValueError(
            f"grid, joint, cells, design: {math.prod(groups):,} cells; allowed: {MAX_CELLS:,}"
        )


def _joint(group: Joint) -> Iterator[Fields]:
    for values in zip(*group.values(), strict=True):
        yield dict(zip(group, values, strict=True))


def _is_kept(factors: Fields, kept: Mapping[str, Sequence[Any]]) -> bool:
    return all(factors[path] in values for path, values in kept.items() if path in factors)


def _check(file: CampaignFile, experiment: Experiment) -> None:
    for name in experiment.configurations or ():
        if name not in file.configurations:
            allowed = ", ".join(file.configurations)
            raise ValueError(f"configurations: {name} is unknown; allowed: {allowed}")
    for group in experiment.joint:
        if len({len(values) for values in group.values()}) > 1:
            lengths = ", ".join(f"{path} has {len(values)}" for path, values in group.items())
            raise ValueError(f"joint: as many values for all, please: {lengths}")
    listed = {path for fields in experiment.cells for path in fields}
    designed = set(factor_names(experiment.design))
    groups = [set(experiment.grid), *map(set, experiment.joint), listed, designed]
    for path in sorted(set().union(*groups)):
        if sum(path in group for group in groups) > 1:
            raise ValueError(f"grid, joint, cells, design: {path} stands in more than one of them")
    for version in SMALLER:
        for path in experiment.kept(version):
            if path not in experiment.factors():
                allowed = ", ".join(sorted(experiment.factors())) or "none"
                raise ValueError(f"{version}: {path} is no factor here; allowed: {allowed}")
    check_sides(experiment.outcomes, experiment.joined)
    measures = {name: each.joined for name, each in file.experiments.items()}
    check_explained(
        experiment.explain,
        joined=experiment.joined,
        factors=experiment.factors(),
        configurations=file.configurations,
        joined_of=measures,
    )
    check_when(experiment.when, [*experiment.factors(), *experiment.joined], measures)
    check_names(file, experiment)
    _check_report(file, experiment)


def _check_report(file: CampaignFile, experiment: Experiment) -> None:
    """Refuse names in the figure and the reference that do not exist."""
    figure = experiment.figure
    if figure is None:
        return
    x = "" if figure.kind == "against" else figure.x  # there a measure
    for axis, factor in (("x", x), ("y", figure.y)):
        if factor and factor not in experiment.factors():
            allowed = ", ".join(sorted(experiment.factors())) or "none"
            raise ValueError(f"figure.{axis}: {factor} is no factor here; allowed: {allowed}")
    for curve in figure.curves:
        if figure.kind in OVER_POINTS:
            if curve.measure not in experiment.joined:
                allowed = ", ".join(experiment.joined) or "none"
                raise ValueError(
                    f"figure.curves: {curve.measure} is not in joined; allowed: {allowed}"
                )
        elif curve.configuration not in file.configurations:
            allowed = ", ".join(file.configurations)
            raise ValueError(
                f"figure.curves: {curve.configuration} is no configuration; allowed: {allowed}"
            )
    if experiment.reference is not None:
        _check_reference(experiment.reference, figure)


def _check_reference(reference: Reference, figure: Figure) -> None:
    try:
        for curve in figure.curves:
            table = read_reference(reference.table, {**reference.where, **curve.where})
            for column in (reference.x, curve.mean, curve.sd):
                if column is not None:
                    check_column(table, column, reference.table)
    except ResultError as error:
        raise ValueError(f"reference: {error}") from None
