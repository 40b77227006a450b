"""When one side is better, as sentences, as rows of tables, as JSON, and as a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from minitopo_dc.analysis.figures.chart import Axis, Chart, Panel, Series, is_wide, plain
from minitopo_dc.analysis.learning.factors import Factor, columns_of, in_words
from minitopo_dc.analysis.learning.local_effects import local_effects
from minitopo_dc.analysis.learning.threshold_rule import Regret, ThresholdRule
from minitopo_dc.campaign.report.answer_words import finite
from minitopo_dc.campaign.report.when import Model, Tested, WhenAnswer
from minitopo_dc.campaign.report.words import (
    NONE,
    counted,
    interval,
    percent,
    significant,
)
from minitopo_dc.files import replacing

MAX_PANELS = 6
"""The most factors whose effects are drawn, the most important ones."""
EFFECTS_CAPTION = (
    "Accumulated local effects of the models: by how much the ratio is multiplied where the factor "
    "has this value, against its mean over the points. A curve for each model."
)


def rule_lines(answer: WhenAnswer, words: Mapping[str, str]) -> list[str]:
    """Return the rule, a line for each term; one line that says why there is none."""
    rule = answer.rule
    if rule is None:
        return ["No rule: there are too few points."]
    names = {each.factor: words.get(each.factor) or in_words(each.factor) for each in rule.terms}
    lines = [f"{each.words(names)}: {rule.side(each.choice)}" for each in rule.terms]
    return [*lines, f"{'otherwise' if lines else 'everywhere'}: {rule.side(rule.otherwise)}"]


def made(answer: WhenAnswer) -> str:
    """Return what the rule was made from, or the file in which it was fixed."""
    if answer.rule is None:
        return ""
    points = counted(answer.rule.points, "point")
    if not answer.digest:
        return f"Made from {points} of this experiment."
    return f"Fixed before the test in {answer.asked.rule} (SHA-256 {answer.digest}), from {points}."


def verdict(tested: Tested) -> str:
    """Return whether the rule is better than each constant, a sentence for either side."""
    return " ".join(_against(each) for each in tested.ahead)


def _against(each: Regret) -> str:
    sure = "loses less" if each.low > 0 else "loses more" if each.high < 0 else "is not better"
    ends = f"{percent(each.mean)}, {_ends(each.low, each.high)}"
    return f"The rule {sure} than {each.way} ({ends} of the goodput)."


def noise_of(model: Model) -> tuple[str, str]:
    """Return the error and the R² that repetitions leave to any model; `NONE`: not known."""
    if not model.noise.points:
        return NONE, NONE
    return significant(model.noise.error), significant(model.noise.most_r2(model.found.variance))


def regret_words(each: Regret) -> str:
    """Return the mean regret with its interval."""
    return f"{percent(each.mean)} ({_ends(each.low, each.high)})" if each.points else NONE


def importances(answer: WhenAnswer) -> list[tuple[Factor, list[str]]]:
    """Return each factor with its importance in each model, the most important first."""
    found = {
        each.factor.path: each.factor for model in answer.models for each in model.found.importances
    }
    means = {path: _means(answer, path) for path in found}
    ordered = sorted(found, key=lambda path: -float(np.nanmean(means[path])))
    return [(found[path], [significant(each) for each in means[path]]) for path in ordered]


def effects_chart(answer: WhenAnswer) -> Chart | None:
    """Return the local effects of the most important numeric factors; None without any."""
    factors = [each for each, _ in importances(answer) if each.numeric][:MAX_PANELS]
    panels = [panel for each in factors if (panel := _panel(answer, each)) is not None]
    if not panels:
        return None
    source = "".join(letter if letter.isalnum() else "-" for letter in answer.source)
    name = f"when-{answer.experiment}-{answer.asked.measure}-{source}"
    title = f"{answer.asked.first} over {answer.asked.second}"
    return Chart(name, title, tuple(panels), EFFECTS_CAPTION, columns=3)


def to_text(answer: WhenAnswer, words: Mapping[str, str]) -> Iterator[str]:
    """Yield lines of Markdown that the terminal shows, too."""
    yield f'When "{answer.asked.first}" or "{answer.asked.second}":'
    yield ""
    for model in answer.models:
        error, most = noise_of(model)
        found = model.found
        ends = interval(found.r2_interval.low, found.r2_interval.high)
        yield (
            f"- {model.of}: R² {significant(found.r2)} ({ends}; noise leaves {most}), "
            f"mean error {significant(found.error)} (a constant {significant(found.constant)}, "
            f"noise {error}), {counted(found.points, 'point')}"
        )
    yield f"- rule: {'; '.join(rule_lines(answer, words))}. {made(answer)}"
    for which, tested in tests(answer):
        ways = "; ".join(f"{each.way} {regret_words(each)}" for each in tested.ways)
        yield f"- regret at {counted(tested.points, f'{which} point')}: {ways}"
        yield f"  {verdict(tested)} It abstains at {tested.silent}."


def tests(answer: WhenAnswer) -> Iterator[tuple[str, Tested]]:
    """Yield each test of the rule, with what its points are called."""
    for which, tested in (("known", answer.seen), ("unseen", answer.unseen)):
        if tested is not None:
            yield which, tested


def to_json(answer: WhenAnswer) -> dict[str, Any]:
    """Return all numbers of an answer for programs; what is not finite is null."""
    return finite(
        {
            "source": answer.source,
            "experiment": answer.experiment,
            "asked": answer.asked.model_dump(mode="json"),
            "left_out": answer.left_out,
            "models": [_model(each) for each in answer.models],
            "rule": answer.rule and answer.rule.model_dump(mode="json"),
            "sha256": answer.digest,
            "seen": answer.seen and asdict(answer.seen),
            "unseen": answer.unseen and asdict(answer.unseen),
        }
    )


def save_rules(found: Sequence[WhenAnswer], directory: Path) -> None:
    """Write each rule that was made from points: a file that `when.rule` of a campaign can name.

    Raises:
        OSError: a file cannot be written.
    """
    for answer in found:
        if answer.rule is not None and not answer.digest:
            path = directory / f"rule-{answer.experiment}-{answer.asked.measure}.json"
            with replacing(path) as partial:
                partial.write_text(rule_text(answer.rule), encoding="utf-8")


def rule_text(rule: ThresholdRule) -> str:
    """Return the text of a rule's file."""
    return json.dumps(rule.model_dump(mode="json"), indent=1) + "\n"


def _means(answer: WhenAnswer, path: str) -> list[float]:
    return [
        next((each.mean for each in model.found.importances if each.factor.path == path), math.nan)
        for model in answer.models
    ]


def _panel(answer: WhenAnswer, factor: Factor) -> Panel | None:
    curves = []
    for number, model in enumerate(answer.models):
        columns = columns_of(model.found.factors)
        its = [place for place, each in enumerate(columns) if each.factor.path == factor.path]
        found = local_effects(model.found.predict, model.found.values, its[0]) if its else None
        if found is not None:
            curves.append(Series(model.of, found.at, np.exp(found.effect), plain(number)))
    if not curves:
        return None
    wide = all(is_wide(each.x) for each in curves)
    return Panel("", Axis(factor.words, wide), Axis("effect on the ratio"), tuple(curves),
                 level_y=1)  # fmt: skip


def _model(model: Model) -> dict[str, Any]:
    found, noise = model.found, model.noise
    return {
        "of": model.of,
        "points": found.points,
        "r2": found.r2,
        "r2_low": found.r2_interval.low,
        "r2_high": found.r2_interval.high,
        "error": found.error,
        "error_of_constant": found.constant,
        "noise": {
            "points": noise.points,
            "error": noise.error,
            "most_r2": noise.most_r2(found.variance),
        },
        "importances": [
            {"factor": each.factor.path, "mean": each.mean, "sd": each.sd, "clear": each.is_clear}
            for each in found.importances
        ],
    }


def _ends(low: float, high: float) -> str:
    return f"{interval(100 * low, 100 * high)} %"
