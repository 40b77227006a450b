"""The answers of a report: their charts, and files for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minitopo_dc.analysis.figures.answer import answer_chart
from minitopo_dc.analysis.figures.chart import Chart
from minitopo_dc.analysis.figures.over_points import Map
from minitopo_dc.analysis.figures.why import why_chart
from minitopo_dc.analysis.learning.factors import Factor
from minitopo_dc.campaign.report.answer import Answer, Case
from minitopo_dc.campaign.report.answer_words import claim_json, rule_text, to_json
from minitopo_dc.campaign.report.claims import Verdict
from minitopo_dc.campaign.report.questions import Agreed, Compared, Question
from minitopo_dc.campaign.report.when import WhenAnswer
from minitopo_dc.campaign.report.when_words import to_json as when_json
from minitopo_dc.campaign.report.words import significant
from minitopo_dc.files import replacing
from minitopo_dc.statistics import Proportion

MAX_MAPS = 3
"""The most maps beside the shares in one picture."""


def case_name(answer: Answer, case: Case) -> str:
    """Return the name of the figure of a point, without its ending."""
    source = "".join(letter if letter.isalnum() else "-" for letter in answer.source)
    return f"why-{answer.experiment}-{answer.asked.measure}-{source}-{case.place + 1}"


def case_chart(answer: Answer, case: Case) -> Chart:
    """Return the series of a point's runs.

    Raises:
        ResultError, OSError: a file of a run is missing or broken.
    """
    label = answer.asked.label or answer.asked.text
    title = f"{label}: {significant(case.value)}, {case.chosen}"
    return why_chart(case_name(answer, case), case.runs, title)


def answers_chart(name: str, answers: Sequence[Answer], measure: str = "") -> Chart:
    """Return one chart of an experiment's answers by one source.

    Args:
        name: the name of the figure's files.
        answers: what is shown.
        measure: what all of them measure, in words; none: each by its column.
    """
    shares, x_label = _shares(answers)
    maps = [found for found in map(answer_map, _by_balance(answers)) if found is not None]
    named = [replace(each, measure=measure) for each in maps[:MAX_MAPS]]
    return answer_chart(name, shares, x_label, named)


def _shares(answers: Sequence[Answer]) -> tuple[dict[str, Proportion], str]:
    """Return the shares of the points by label, and the label of their axis.

    Where the answers have several limits, each has its own in its label.
    """
    limits = dict.fromkeys(map(_limit, answers))
    several = len(limits) > 1
    shares = {
        (each.asked.label or each.asked.text)
        + (f": {_limit(each)}" if several else ""): each.found.at.counted.yes
        for each in answers
    }
    at = "" if several else f" at {next(iter(limits))}"
    return shares, f"share of the points{at}"


def _limit(answer: Answer) -> str:
    side = "below" if answer.asked.lower_is_better else "above"
    return f"{answer.asked.limit:.3g} or {side}"


def answer_map(answer: Answer, x: Factor | None = None, y: Factor | None = None) -> Map | None:
    """Return a chart of a measure over two factors; None where fewer than two are numbers.

    It has a border only where a rule was found that asks for one of the two.

    Args:
        answer: the answer whose points are drawn.
        x: the horizontal factor; none: the most important one that is a number.
        y: the vertical factor; none: the next one.
    """
    ranked = [each.factor for each in answer.found.importances] or list(answer.found.factors)
    rest = iter(each for each in ranked if each.numeric and each not in (x, y))
    x, y = x or next(rest, None), y or next(rest, None)
    if x is None or y is None:
        return None
    asked = answer.asked
    names = [_axis(x), _axis(y), asked.measure]
    table = answer.table[[x.path, y.path, asked.measure]].set_axis(names, axis="columns")
    border = answer.has_rule and bool({x.words, y.words} & set(answer.found.at.decides))
    return Map(asked.label or asked.text, table, asked.limit, border)


def save_answers(
    answers: Sequence[Answer],
    claims: Mapping[str, Sequence[tuple[str, Verdict]]],
    directory: Path,
    told: str,
    compared: Mapping[str, Sequence[Compared]] = MappingProxyType({}),
    *,
    agreed: Mapping[str, Sequence[Agreed]] = MappingProxyType({}),
    when: Sequence[WhenAnswer] = (),
) -> None:
    """Write `answer.json`, and `answer.txt` where there is anything to tell.

    Args:
        answers: all answers of the report.
        claims: by experiment the verdicts on its claims, each with its source.
        directory: the report's directory.
        told: the text.
        compared: by experiment, two sides each.
        agreed: by experiment, sources with the same outcomes of two sides.
        when: models and rules.

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
        "outcomes": [
            each.to_json(experiment) for experiment, found in compared.items() for each in found
        ],
        "agreements": [
            each.to_json(experiment) for experiment, found in agreed.items() for each in found
        ],
        "when": [when_json(each) for each in when],
    }
    with replacing(directory / "answer.json") as partial:
        partial.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
    if told:
        with replacing(directory / "answer.txt") as partial:
            partial.write_text(told, encoding="utf-8")


def to_text(
    title: str, asked: Sequence[Question], answers: Sequence[Answer], when: Sequence[str] = ()
) -> str:
    """Return an experiment's questions and rules as Markdown, which the terminal shows, too.

    Args:
        title: the experiment's.
        asked: its questions.
        answers: the answers, of which those with rules are told.
        when: lines on when one side is better.
    """
    lines = [f"## {title}", ""]
    for each in asked:
        ends = f" ({each.ends})" if each.ends else ""
        lines.append(f"- {each.text}: **{each.verdict}**")
        lines.append(f"  {each.effect}{ends}, {each.n}, {each.source} clock; by: {each.needs}")
    for answer in answers:
        found = [rule_text(rule, answer.asked) for rule in answer.found.rules if rule.conditions]
        if answer.has_rule:
            lines += ["", f'Rule of "{answer.asked.text}":', "", *(f"- {each}" for each in found)]
    return "\n".join([*lines, *(["", *when] if when else []), ""])


def by_source(answers: Sequence[Answer]) -> Iterator[tuple[str, list[Answer]]]:
    """Yield the answers of each source, in their order."""
    for source in dict.fromkeys(each.source for each in answers):
        yield source, [each for each in answers if each.source == source]


def _by_balance(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers in order, first those whose two sides are the most equal in size.

    Their border is within the map.
    """
    return sorted(answers, key=lambda each: each.found.at.counted.majority)


def _axis(factor: Factor) -> str:
    return f"{factor.words} ({factor.unit})" if factor.unit else factor.words
