"""The answers of a report's first page: pictures, and files for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Drawing

from minitopo_dc.analysis.figures.answer import Map, draw_answer
from minitopo_dc.analysis.figures.why import draw_why
from minitopo_dc.analysis.learning.factors import Factor
from minitopo_dc.campaign.report.answer import Answer, Case
from minitopo_dc.campaign.report.answer_words import (
    case_reason,
    case_text,
    claim_json,
    headline,
    rule_text,
    sentences,
    to_json,
    to_markdown,
)
from minitopo_dc.campaign.report.claims import Verdict
from minitopo_dc.files import replacing

MOST_MAPS = 3
"""Beside the shares, in one picture."""


@dataclass(frozen=True)
class Shown:
    """An answer as the report's template needs it."""

    answer: Answer
    headline: str
    sentences: list[str]
    rules: list[str]
    cases: list[tuple[str, str, str]]
    """Text, why, figure's name in `figures/`."""


def shown(answer: Answer) -> Shown:
    """The words of an answer."""
    return Shown(
        answer,
        headline(answer),
        list(sentences(answer)),
        [rule_text(rule, answer.asked) for rule in answer.found.rules if rule.conditions],
        [(case_text(each), case_reason(each), case_name(answer, each)) for each in answer.chosen],
    )


def case_name(answer: Answer, case: Case) -> str:
    """Of the figure of a point, without its ending."""
    source = "".join(letter if letter.isalnum() else "-" for letter in answer.source)
    return f"why-{answer.experiment}-{answer.asked.measure}-{source}-{case.place + 1}"


def draw_case(answer: Answer, case: Case) -> Drawing:
    """The series of a point's runs side by side.

    Raises:
        ResultError, OSError: a file of a run is missing or broken.
    """
    label = answer.asked.label or answer.asked.text
    return draw_why(case.runs, f"{label}: {case.value:.2f}, {case.chosen}")


def draw_answers(answers: Sequence[Answer]) -> Drawing:
    """One picture of an experiment's answers by one source."""
    shares = {
        each.asked.label or each.asked.text: {
            at.limit: at.counted.yes for at in (each.found.at, *each.found.others)
        }
        for each in answers
    }
    maps = [found for found in map(answer_map, _most_telling(answers)) if found is not None]
    limits = {each.asked.limit for each in answers}
    limit = min(limits)
    if len(limits) > 1:  # a bar has one: those of the first question's
        shares = {label: at for label, at in shares.items() if limit in at}
    return draw_answer(shares, limit, maps[:MOST_MAPS], less=answers[0].asked.less_is_better)


def answer_map(answer: Answer, x: Factor | None = None, y: Factor | None = None) -> Map | None:
    """A measure over two factors; None where fewer than two are numbers.

    Args:
        answer: whose points.
        x: the factor to the right; none: the most important one that is a number.
        y: the factor upwards; none: the next one.
    """
    ranked = [each.factor for each in answer.found.importances] or list(answer.found.factors)
    rest = iter(each for each in ranked if each.numeric and each not in (x, y))
    x, y = x or next(rest, None), y or next(rest, None)
    if x is None or y is None:
        return None
    asked = answer.asked
    names = [_axis(x), _axis(y), asked.measure]
    table = answer.table[[x.path, y.path, asked.measure]].set_axis(names, axis="columns")
    return Map(asked.label or asked.text, table, asked.limit)


def save_answers(
    answers: Sequence[Answer], claims: Mapping[str, Sequence[tuple[str, Verdict]]], directory: Path
) -> None:
    """Write `answer.json` and, where there are answers, `answer.txt`.

    Args:
        answers: all of the report.
        claims: experiment: source, what becomes of a claim.
        directory: the report's.

    Raises:
        OSError: a file cannot be written.
    """
    document: dict[str, Any] = {
        "answers": [to_json(answer) for answer in answers],
        "claims": [
            claim_json(source, experiment, verdict)
            for experiment, found in claims.items()
            for source, verdict in found
        ],
    }
    with replacing(directory / "answer.json") as partial:
        partial.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
    if answers:
        with replacing(directory / "answer.txt") as partial:
            partial.write_text(to_markdown(answers), encoding="utf-8")


def by_source(answers: Sequence[Answer]) -> Iterator[tuple[str, list[Answer]]]:
    """The answers of each source, in their order."""
    for source in dict.fromkeys(each.source for each in answers):
        yield source, [each for each in answers if each.source == source]


def _most_telling(answers: Sequence[Answer]) -> list[Answer]:
    """Those whose two sides are the most alike in size: their border is within the map."""
    return sorted(answers, key=lambda each: each.found.at.counted.majority)


def _axis(factor: Factor) -> str:
    return f"{factor.words} ({factor.unit})" if factor.unit else factor.words
