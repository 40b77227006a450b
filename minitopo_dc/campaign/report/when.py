"""When one side is better: models of the ratio, and a rule with its regret (`when` in the file)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.learning.explanation import SEED
from minitopo_dc.analysis.learning.factors import Matrix, as_level, matrix, read_factors
from minitopo_dc.analysis.learning.regression import Noise, Regressed, noise_floor, regress
from minitopo_dc.analysis.learning.rule_search import find_rule
from minitopo_dc.analysis.learning.threshold_rule import (
    Regret,
    ThresholdRule,
    losses,
    lost,
    regret,
)
from minitopo_dc.campaign.file.explain import When
from minitopo_dc.campaign.file.fields import Experiment
from minitopo_dc.campaign.report.answer import POINT
from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.joined import join, joined_table
from minitopo_dc.settings import SettingsError
from minitopo_dc.shipped import shipped

FEWEST = 40
"""The fewest points of a rule: each half must hold parts of several points."""
ALL = "all points"


@dataclass(frozen=True)
class Model:
    """A model of the points with one value of the factor that keeps models apart."""

    of: str
    """The value; `ALL` where there is one model."""
    found: Regressed
    noise: Noise


@dataclass(frozen=True)
class Tested:
    """What obeying a rule costs at some points."""

    points: int
    silent: int
    """The points at which the rule abstains."""
    ways: tuple[Regret, ...]
    """The regret of the rule, a coin where it abstains; of either side always."""
    where_it_speaks: tuple[Regret, ...]
    """The same at the points where it does not abstain."""
    ahead: tuple[Regret, ...]
    """The regret of either side always minus the rule's: above 0, the rule is better."""


@dataclass(frozen=True)
class WhenAnswer:
    """The answer to one question, by one source."""

    source: str
    experiment: str
    title: str
    asked: When
    left_out: int
    """The points without a finite ratio above 0, of which models know nothing."""
    models: tuple[Model, ...]
    rule: ThresholdRule | None
    """The fixed rule, or that of the points; None: too few points."""
    digest: str
    """The SHA-256 of the fixed rule's file; empty: the rule was made from these points."""
    seen: Tested | None
    """The test on the experiment's own points, from which the rule may have been made."""
    unseen: Tested | None
    """The test on the points of `tested_on`; None: they were not run."""


def answer_when(
    sources: Sequence[Source],
    name: str,
    experiment: Experiment,
    tables: Mapping[str, pd.DataFrame],
) -> Iterator[WhenAnswer]:
    """Answer each question by each source, in the file's order.

    Args:
        sources: the campaign directories; those that have runs of the experiment answer.
        name: the experiment's name.
        experiment: the experiment with its questions.
        tables: `joined_table` by a source's label.

    Raises:
        SettingsError: a rule's file is missing or wrong, or an expression uses an unknown name.
        ResultError: a file of a run is broken.
    """
    for asked in experiment.when:
        for source in sources:
            table = tables[source.label]
            if not table.empty:
                yield _answer(source, name, experiment, asked, table)


def read_rule(name: str) -> tuple[ThresholdRule, str]:
    """Return a rule with the SHA-256 of its file: one of `reference/`, or a path.

    Raises:
        SettingsError: the file is missing, or holds no rule.
    """
    there = shipped("reference") / name
    path = there if there.is_file() else Path(name)
    rule = ThresholdRule.load(path)
    return rule, hashlib.sha256(path.read_bytes()).hexdigest()


def _answer(
    source: Source, name: str, experiment: Experiment, asked: When, table: pd.DataFrame
) -> WhenAnswer:
    known = table[table[asked.measure].notna()]
    rule, digest = read_rule(asked.rule) if asked.rule else (_rule(source, asked, known), "")
    _check(rule, asked)
    return WhenAnswer(
        source=source.label,
        experiment=name,
        title=experiment.title,
        asked=asked,
        left_out=len(table) - len(_finite(table, asked.measure)),
        models=tuple(_models(source, experiment, asked, table)),
        rule=rule,
        digest=digest,
        seen=_tested(rule, known, asked),
        unseen=_tested(rule, _unseen(source, asked), asked),
    )


def _check(rule: ThresholdRule | None, asked: When) -> None:
    if rule is not None and rule.measure != asked.measure:
        raise SettingsError(
            f"when.rule: {asked.rule} is of {rule.measure}; allowed: a rule of {asked.measure}"
        )


def _rule(source: Source, asked: When, known: pd.DataFrame) -> ThresholdRule | None:
    if len(known) < FEWEST:
        return None
    paths = [*asked.factors, *filter(None, [asked.apart])]
    factors = read_factors(known, paths, source.plan.file.words)
    return find_rule(known, asked.measure, factors, (asked.first, asked.second), SEED)


def _models(
    source: Source, experiment: Experiment, asked: When, table: pd.DataFrame
) -> Iterator[Model]:
    finite = _finite(table, asked.measure)
    again = _repetitions(source, asked)
    groups = {ALL: finite}
    if asked.apart:
        named = finite[asked.apart].map(as_level)
        groups = {level: finite[named == level] for level in sorted(named.unique())}
    paths = asked.factors or sorted(experiment.factors() - {POINT, asked.apart})
    for of, points in groups.items():
        factors = read_factors(points, [each for each in paths if each != asked.apart],
                               source.plan.file.words)  # fmt: skip
        ratios = np.log(points[asked.measure].to_numpy(dtype=float))
        found = regress(matrix(points, factors), ratios, factors, SEED)
        if found is not None:
            yield Model(of, found, noise_floor(_of_group(again, asked, of)))


def _finite(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    values = table[measure].to_numpy(dtype=float)
    found: pd.DataFrame = table.loc[np.isfinite(values) & (values > 0)]
    return found


Repetitions = Sequence[pd.DataFrame]


def _repetitions(source: Source, asked: When) -> tuple[pd.DataFrame, Repetitions]:
    """Return the points of the experiment that tells the noise, and their repetitions."""
    experiment = source.plan.file.experiments.get(asked.noise)
    if experiment is None or not len(source.cells_of(asked.noise)):
        return pd.DataFrame(), ()
    found = join(source, asked.noise, experiment)
    return found.table, found.repetitions


def _of_group(again: tuple[pd.DataFrame, Repetitions], asked: When, of: str) -> Matrix:
    """Return the logarithms of the ratios: a row per repetition, a column per point."""
    table, repetitions = again
    if not repetitions:
        return np.empty((0, 0))
    rows = np.stack([each[asked.measure].to_numpy(dtype=float) for each in repetitions])
    if asked.apart:
        rows = rows[:, (table[asked.apart].map(as_level) == of).to_numpy()]
    with np.errstate(divide="ignore"):
        logarithms = np.log(rows)
    return np.where(np.isfinite(logarithms), logarithms, np.nan)


def _unseen(source: Source, asked: When) -> pd.DataFrame | None:
    experiment = source.plan.file.experiments.get(asked.tested_on)
    if experiment is None or not len(source.cells_of(asked.tested_on)):
        return None
    table = joined_table(source, asked.tested_on, experiment)
    return table.loc[table[asked.measure].notna()]


def _tested(rule: ThresholdRule | None, points: pd.DataFrame | None, asked: When) -> Tested | None:
    if rule is None or points is None or points.empty:
        return None
    ratios = points[asked.measure].to_numpy(dtype=float)
    choices = rule.choices(points)
    by_rule, by_side = lost(choices, ratios), losses(ratios)[:2]
    names = ("the rule", f"always {rule.first}", f"always {rule.second}")
    both = list(zip(names, (by_rule, *by_side), strict=True))
    speaks = choices != "either"
    return Tested(
        points=len(points),
        silent=int((~speaks).sum()),
        ways=tuple(regret(way, each) for way, each in both),
        where_it_speaks=tuple(regret(way, each[speaks]) for way, each in both),
        ahead=tuple(regret(way, each - by_rule) for way, each in both[1:]),
    )
