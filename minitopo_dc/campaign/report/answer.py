"""The answers of an experiment's points to each of its questions (`explain` in the file)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.learning.explanation import Explanation, explain, reached
from minitopo_dc.analysis.learning.factors import in_words
from minitopo_dc.analysis.measures.signs import Signs, reason, signs
from minitopo_dc.campaign.file.explain import Explain
from minitopo_dc.campaign.file.fields import CampaignFile, Experiment
from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.joined import join, joined_table, points_of
from minitopo_dc.scenario.field_paths import LABEL

POINT = f"{LABEL}point"
"""The column with the number of a design's point, which explains nothing."""
COLUMNS = ("configuration", "status", "directory")


@dataclass(frozen=True)
class Case:
    """A point, with what its runs counted."""

    place: int
    """The point's row in the table."""
    reaches_limit: bool
    value: float
    factors: Mapping[str, Any]
    """The values of the factors by their names in words."""
    runs: Mapping[str, Path]
    """The directory of each configuration's first run."""
    signs: Mapping[str, Signs]
    slowest: str
    """The configuration of these with the least goodput."""
    reason: str
    """Why that run is slower than the fastest, by the counters; empty: they do not tell."""
    chosen: str = ""
    """The rule by which its series are shown; empty: they are not."""


@dataclass(frozen=True)
class Scatter:
    """The scatter of repetitions of the same point."""

    points: int
    """The points with more than one repetition that has a value."""
    median: float
    """The median over these points of the range of values divided by their median; else NaN."""
    undecided: int
    """How many of these have repetitions on both sides of the limit."""


@dataclass(frozen=True)
class Answer:
    """The answer to one question, by one source."""

    source: str
    experiment: str
    title: str
    """The title of the experiment."""
    asked: Explain
    table: pd.DataFrame
    """The table of `joined_table`."""
    found: Explanation
    scatter: Scatter
    cases: tuple[Case, ...]
    """All points whose runs are ok, in the table's order."""

    @property
    def has_rule(self) -> bool:
        """Return whether a rule of the factors predicts points that it was not made from."""
        learnt = self.found.at.learnt
        found = any(rule.conditions for rule in self.found.rules)
        return found and learnt is not None and learnt.is_better

    @property
    def chosen(self) -> list[Case]:
        """Return the cases whose series are shown, the largest measure first."""
        return sorted((each for each in self.cases if each.chosen), key=lambda each: -each.value)

    def reasons(self, *, reaches_limit: bool) -> Counter[tuple[str, str]]:
        """Return for the points of one side how often which run is the slowest, and why."""
        return Counter(
            (each.slowest, each.reason)
            for each in self.cases
            if each.reaches_limit == reaches_limit
        )


def answers(
    sources: Sequence[Source],
    name: str,
    experiment: Experiment,
    tables: Mapping[str, pd.DataFrame],
) -> Iterator[Answer]:
    """Answer each question by each source, in the file's order.

    Args:
        sources: the campaign directories; those that have runs of the experiment answer.
        name: the experiment's name.
        experiment: the experiment with its questions.
        tables: `joined_table` by a source's label.

    Raises:
        SettingsError: an expression uses an unknown name.
        ResultError, OSError: a file of a run is broken.
    """
    for asked in experiment.explain:
        for source in sources:
            table = tables[source.label]
            if table.empty:
                continue
            file = source.plan.file
            yield Answer(
                source=source.label,
                experiment=name,
                title=experiment.title,
                asked=asked,
                table=table,
                found=explain(
                    table,
                    asked.measure,
                    asked.limit,
                    factors=asked.factors or _factors(experiment),
                    words=file.words,
                    unseen=_unseen(sources, source, asked.tested_on),
                    others=asked.limits,
                    less=asked.lower_is_better,
                ),
                scatter=_scatter(join(source, name, experiment).repetitions, asked),
                cases=tuple(_cases(source, name, experiment, asked, table)),
            )


def words_of(file: CampaignFile, path: str) -> str:
    """Return a factor's name in words, with its unit in brackets."""
    return file.words.get(path) or in_words(path)


def _factors(experiment: Experiment) -> list[str]:
    return sorted(experiment.factors() - {POINT, experiment.across})


def _unseen(sources: Sequence[Source], source: Source, name: str) -> pd.DataFrame | None:
    """Return the points that a tree is tested on: the source's own, or else another one's."""
    for each in (source, *sources) if name else ():
        experiment = each.plan.file.experiments.get(name)
        if experiment is not None and len(each.cells_of(name)):
            return joined_table(each, name, experiment)
    return None


def _scatter(repetitions: Sequence[pd.DataFrame], asked: Explain) -> Scatter:
    if not repetitions:
        return Scatter(0, float("nan"), 0)
    values = pd.concat([table[asked.measure] for table in repetitions], axis=1)
    values = values[values.notna().sum(axis=1) > 1]
    finite = values.replace([np.inf, -np.inf], np.nan)
    spread = (finite.max(axis=1) - finite.min(axis=1)) / finite.median(axis=1)
    less = asked.lower_is_better
    ends = [
        reached(side, asked.limit, less=less) for side in (values.min(axis=1), values.max(axis=1))
    ]
    undecided = (ends[0] != ends[1]).sum()
    return Scatter(len(values), float(spread.median()), int(undecided))


def _cases(
    source: Source, name: str, experiment: Experiment, asked: Explain, table: pd.DataFrame
) -> Iterator[Case]:
    """Yield all points whose runs are all ok; some of them are chosen to be shown."""
    if not asked.runs:
        return
    file = source.plan.file
    values = table[asked.measure]
    cases = []
    for place, cells in enumerate(points_of(source, name, experiment)):
        runs = _runs(cells, asked.runs)
        if math.isfinite(values[place]) and len(runs) == len(asked.runs):
            factors = cells["factors"].iloc[0].items()
            named = {words_of(file, path): each for path, each in factors}
            cases.append(_case(asked, place, float(values[place]), named, runs))
    chosen: dict[int, str] = {}
    for reaches_limit in (True, False):
        chosen |= _three(
            [each for each in cases if each.reaches_limit == reaches_limit], asked.limit
        )
    yield from (replace(each, chosen=chosen.get(each.place, "")) for each in cases)


def _runs(cells: pd.DataFrame, wanted: Sequence[str]) -> dict[str, Path]:
    """Return the directory of the first ok run of each configuration."""
    first: dict[str, Path] = {}
    for name, status, directory in zip(*(cells[each] for each in COLUMNS), strict=True):
        if status == "ok":
            first.setdefault(name, Path(directory))
    return {name: first[name] for name in wanted if name in first}


def _three(side: Sequence[Case], limit: float) -> dict[int, str]:
    """Return three points of one side: the farthest from the limit, the middle and the nearest."""
    ordered = [each.place for each in sorted(side, key=lambda each: -abs(each.value - limit))]
    if not ordered:
        return {}
    return {
        ordered[len(ordered) // 2]: "in the middle of its side",
        ordered[-1]: "nearest to the limit",
        ordered[0]: "farthest from the limit",
    }


def _case(
    asked: Explain, place: int, value: float, factors: Mapping[str, Any], runs: Mapping[str, Path]
) -> Case:
    found = {name: _signs(run) for name, run in runs.items()}
    ordered = sorted(found, key=lambda each: found[each].goodput_mbps)
    return Case(
        place=place,
        reaches_limit=bool(reached(pd.Series([value]), asked.limit, less=asked.lower_is_better)[0]),
        value=value,
        factors=factors,
        runs=runs,
        signs=found,
        slowest=ordered[0],
        reason=reason(found[ordered[0]], found[ordered[-1]]),
    )


@lru_cache(maxsize=10_000)
def _signs(run: Path) -> Signs:
    """Return the signs of a run, from a cache, as several questions compare with the same run."""
    with naming(run):
        return signs(run)
