"""The first table of a report: each claim and each question in one line."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from minitopo_dc.analysis.learning.factors import as_level
from minitopo_dc.campaign.file.design import factor_names
from minitopo_dc.campaign.file.explain import Sides
from minitopo_dc.campaign.file.expressions import names_in, outermost_call
from minitopo_dc.campaign.file.fields import Claim, Experiment
from minitopo_dc.campaign.report.answer import Answer
from minitopo_dc.campaign.report.claims import UNIVERSAL, Estimate, Verdict
from minitopo_dc.campaign.report.words import NONE, counted, interval, percent, share, significant
from minitopo_dc.statistics import Outcomes, Proportion, outcomes, same_outcome

HALF = 0.5
OPEN = "undecided"
"""None of the outcomes is that of most points."""
MAX_NAMED = 12
"""The most points that a line names; `answer.json` has all of them."""
POINT = "label.point"
"""The factor that numbers the points of a design."""


@dataclass(frozen=True)
class Question:
    """A question, with what the runs say to it."""

    text: str
    who: str
    """Who makes the claim, if it is one of others."""
    source: str
    effect: str
    """The number with its unit."""
    ends: str
    """The ends of its 95 % interval, or how the number was judged without one."""
    verdict: str
    needs: str
    """The limit by which it is judged."""
    n: str
    """The number of points, and runs of each."""
    why: str
    """What the verdict lacks, or which runs are left out."""

    @property
    def look(self) -> str:
        """Return the CSS class of the verdict in the page."""
        return {"holds": "holds", "does not hold": "fails"}.get(self.verdict, "open")


@dataclass(frozen=True)
class Compared:
    """Two sides over the points of a source."""

    source: str
    asked: Sides
    found: Outcomes
    """Of the first side."""

    @classmethod
    def of(cls, source: str, asked: Sides, table: pd.DataFrame) -> Compared:
        """Count the outcomes of points (`joined_table`)."""
        return cls(source, asked, outcomes(_ratios(asked, table), asked.margin))

    def to_json(self, experiment: str) -> dict[str, Any]:
        """Return the outcomes as JSON for programs."""
        shares = ("better", "tie", "worse")
        return {
            "source": self.source,
            "experiment": experiment,
            "asked": self.asked.model_dump(mode="json"),
            **{name: asdict(getattr(self.found, name)) for name in shares},
            "ratios": [each if math.isfinite(each) else None for each in self.found.ratios],
        }


@dataclass(frozen=True)
class Differing:
    """A point with another outcome by two sources."""

    point: str
    """Its number in the design and its other factors that are not the design's; else all."""
    first: float
    other: float
    """Its ratio by the first source and by the other one."""


@dataclass(frozen=True)
class Agreed:
    """At how many points two sources have the same outcome of two sides."""

    source: str
    first: str
    """The source with which it is compared."""
    asked: Sides
    same: Proportion
    differing: tuple[Differing, ...]

    @classmethod
    def of(
        cls, asked: Sides, experiment: Experiment, tables: Mapping[str, pd.DataFrame]
    ) -> Iterator[Agreed]:
        """Yield the agreement of each source but the first, at the points that both have.

        Args:
            asked: the sides.
            experiment: theirs.
            tables: `joined_table` by source.
        """
        by_point = {
            source: _by_point(asked, experiment, table)
            for source, table in tables.items()
            if not table.empty
        }
        first = next(iter(by_point), "")
        for source, ratios in by_point.items():
            if source != first:
                both = pd.concat([by_point[first], ratios], axis=1, join="inner").dropna()
                same = same_outcome(both[0].to_numpy(), both[1].to_numpy(), asked.margin)
                known = factor_names(experiment.design)
                differing = tuple(
                    Differing(_point(str(row.Index), known), float(row[1]), float(row[2]))
                    for row in both[~same].itertuples()
                )
                found = Proportion(int(same.sum()), len(same))
                yield cls(source, first, asked, found, differing)

    @property
    def named(self) -> str:
        """Return which points differ, with both ratios; empty where none does."""
        told = [
            f"{each.point}: {significant(each.first)} and {significant(each.other)}"
            for each in self.differing[:MAX_NAMED]
        ]
        more = len(self.differing) - len(told)
        rest = f"; and {more} more in answer.json" if more else ""
        text = f"another outcome at {'; '.join(told)}{rest}"
        return f"{text} (ratios on the {self.first} and the {self.source} clock)" if told else ""

    def to_json(self, experiment: str) -> dict[str, Any]:
        """Return the agreement as JSON for programs; null stands for an infinite ratio."""
        share = {"share": self.same.share, "low": self.same.low, "high": self.same.high}
        return {
            "source": self.source,
            "first": self.first,
            "experiment": experiment,
            "asked": self.asked.model_dump(mode="json"),
            "same": asdict(self.same) | (share if self.same.points else {}),
            "differing": [
                {"point": each.point, "first": _finite(each.first), "other": _finite(each.other)}
                for each in self.differing
            ],
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _by_point(asked: Sides, experiment: Experiment, table: pd.DataFrame) -> pd.Series[float]:
    """Return the ratios by the values of all factors, as JSON."""
    names = sorted(experiment.factors() & set(table))
    rows = table[names].itertuples(index=False)
    keys = [json.dumps({name: as_level(each) for name, each in zip(names, row, strict=True)})
            for row in rows]  # fmt: skip
    return pd.Series(_ratios(asked, table), index=keys)


def _point(key: str, design: Container[str]) -> str:
    """Return how a point is named: `point 7`, `point 7, backhaul 5`, `rate 10, size 1`."""
    factors: dict[str, str] = json.loads(key)
    number = [f"point {factors[POINT]}"] if POINT in factors else []
    own = {name: value for name, value in factors.items() if not (number and name in design)}
    return ", ".join([*number, *(f"{name.removeprefix('label.')} {own[name]}" for name in own)])


def _ratios(asked: Sides, table: pd.DataFrame) -> NDArray[np.float64]:
    """Return the ratios of points, above 1 where the first side is better."""
    ratios = table[asked.measure].to_numpy(dtype=float)
    with np.errstate(divide="ignore"):
        return 1 / ratios if asked.lower_is_better else ratios


def questions(
    verdicts: Sequence[tuple[str, Verdict]],
    answers: Sequence[Answer],
    compared: Sequence[Compared] = (),
    agreed: Sequence[Agreed] = (),
) -> Iterator[Question]:
    """Yield the outcomes and claims of an experiment, and its questions that no claim asks.

    Args:
        verdicts: each with its source.
        answers: the experiment's answers.
        compared: pairs of sides with their outcomes.
        agreed: sources with the same outcomes of pairs of sides.
    """
    yield from map(_of_sides, compared)
    yield from map(_of_agreed, agreed)
    yield from (_of_claim(source, verdict) for source, verdict in verdicts)
    asked = {
        (source, name)
        for source, verdict in verdicts
        if _is_share(verdict.claim)
        for name in names_in(verdict.claim.value)
    }
    for answer in answers:
        if (answer.source, answer.asked.measure) not in asked:
            yield _of_answer(answer)


def _of_claim(source: str, verdict: Verdict) -> Question:
    claim, found = verdict.claim, verdict.estimate
    in_percent = _is_share(claim)
    effect = NONE if found is None else _number(found.value, in_percent)
    return Question(
        text=claim.text,
        who=claim.source,
        source=source,
        effect=effect,
        ends="" if found is None else _ends(found, in_percent),
        verdict=verdict.word,
        needs=_needs(claim, in_percent),
        n=NONE if found is None else _n(found),
        why=verdict.why,
    )


def _of_sides(compared: Compared) -> Question:
    """Return the three shares in one line, with the sizes of what they count."""
    asked, found = compared.asked, compared.found
    shares = {"better": found.better, "a tie": found.tie, "worse": found.worse}
    points = found.tie.points
    ends = ", ".join(interval(100 * each.low, 100 * each.high) for each in shares.values())
    low, middle, high = (significant(each) for each in found.ratios)
    margin = f"a tie is within {percent(asked.margin)}"
    return Question(
        text=f"{asked.first} against {asked.second}",
        who="",
        source=compared.source,
        effect=", ".join(f"{percent(each.share)} {name}" for name, each in shares.items())
        if points
        else NONE,
        ends=f"{ends} %" if points else "",
        verdict=next((f"{name} in most" for name, each in shares.items() if each.low > HALF), OPEN),
        needs=f"{margin}; median ratio {middle}, quartiles {low} to {high}" if points else margin,
        n=counted(points, "point"),
        why="",
    )


def _of_agreed(agreed: Agreed) -> Question:
    asked, same = agreed.asked, agreed.same
    return Question(
        text=f"{asked.first} against {asked.second}: the outcome of the {agreed.first} clock",
        who="",
        source=agreed.source,
        effect=percent(same.share) if same.points else NONE,
        ends=share(same).partition("(")[2].removesuffix(")") if same.points else "",
        verdict=_most(same),
        needs="; ".join(filter(None, [f"a tie is within {percent(asked.margin)}", agreed.named])),
        n=counted(same.points, "point"),
        why="",
    )


def _of_answer(answer: Answer) -> Question:
    yes = answer.found.at.counted.yes
    return Question(
        text=answer.asked.text,
        who="",
        source=answer.source,
        effect=percent(yes.share) if yes.points else NONE,
        ends=share(yes).partition("(")[2].removesuffix(")") if yes.points else "",
        verdict=_most(yes),
        needs="more or less than half of the points",
        n=counted(yes.points, "point"),
        why="",
    )


def _most(yes: Proportion) -> str:
    if yes.low > HALF:
        return "in most"
    return "in few" if yes.high < HALF else OPEN


def _is_share(claim: Claim) -> bool:
    return outermost_call(claim.value) == "share"


def _number(value: float, in_percent: bool) -> str:
    return percent(value) if in_percent else significant(value)


def _ends(found: Estimate, in_percent: bool) -> str:
    if found.method == UNIVERSAL:
        return UNIVERSAL
    scale = 100 if in_percent else 1
    ends = interval(scale * found.low, scale * found.high)
    return f"{ends}{' %' if in_percent else ''}" if ends else ""


def _needs(claim: Claim, in_percent: bool) -> str:
    limits = (("at least", claim.least), ("at most", claim.most))
    said = [f"{word} {_limit(limit, in_percent)}" for word, limit in limits if limit is not None]
    return " and ".join(said)


def _limit(limit: float, in_percent: bool) -> str:
    return f"{100 * limit:g} %" if in_percent else f"{limit:g}"


def _n(found: Estimate) -> str:
    points = counted(found.points, "point")
    return points if found.runs == 1 else f"{points}, {counted(found.runs, 'run')} each"
