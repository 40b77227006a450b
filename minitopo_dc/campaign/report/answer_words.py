"""Answers as sentences that are made from their numbers, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from minitopo_dc.analysis.learning.explanation import Explanation, Limit
from minitopo_dc.analysis.learning.hold_out import FOLDS
from minitopo_dc.analysis.learning.tree import Rule
from minitopo_dc.campaign.file.explain import Explain
from minitopo_dc.campaign.report.answer import Answer, Case, Scatter
from minitopo_dc.campaign.report.claims import Verdict
from minitopo_dc.campaign.report.words import counted as number_of
from minitopo_dc.campaign.report.words import percent, share, significant
from minitopo_dc.statistics import Proportion

MAX_NAMED_FACTORS = 4
"""The most factors that are named."""
MAX_REASONS = 3
"""The most reasons of each side."""


def headline(answer: Answer) -> str:
    """Return a sentence that says at how many points the answer is yes, and where."""
    yes = answer.found.at.counted.yes
    text = f"{answer.asked.text} at {yes.count:g} of {number_of(yes.points, 'point')}"
    where = rule_where(answer)
    return f"{text}, {share(yes)}{f'; {where}' if where else ''}."


def rule_where(answer: Answer) -> str:
    """Return where the rarer verdict is, by the tree's rules; empty if the tree is of no use."""
    if not answer.has_rule:
        return ""
    rare = not answer.found.at.counted.usual
    chosen = [rule for rule in answer.found.rules if rule.leaf.verdict == rare and rule.conditions]
    if not chosen:
        return ""
    verdict = answer.asked.then if rare else answer.asked.otherwise
    return f"{verdict} where {'; or '.join(' and '.join(rule.conditions) for rule in chosen)}"


def sentences(answer: Answer) -> Iterator[str]:
    """Yield sentences on what else there is to know, the most important first."""
    said = [rule_accuracy(answer.found), rule_tested(answer), factors(answer.found)]
    said += [*reasons(answer), limits(answer.found), scatter(answer.scatter, answer.found)]
    yield from filter(None, [*said, left_out(answer.found)])


def rule_text(rule: Rule, asked: Explain) -> str:
    """Return one line of the tree as text."""
    verdict = asked.then if rule.leaf.verdict else asked.otherwise
    conditions = " and ".join(rule.conditions) or "everywhere"
    return f"{conditions}: {verdict} ({rule.leaf.right} of {number_of(rule.leaf.points, 'point')})"


def case_text(case: Case) -> str:
    """Return a point in one line: its value, how it was chosen, and its factors."""
    named = ", ".join(_factor(words, value) for words, value in case.factors.items())
    return f"{significant(case.value)} ({case.chosen}): {named}"


def case_reason(case: Case) -> str:
    """Return why the slowest of a point's runs is that, as far as the counters tell."""
    told = case.reason or "no counter tells why"
    return f"{case.slowest} is the slowest: {told}"


def rule_accuracy(found: Explanation) -> str:
    """Return how often the rule is right, beside the share of the commoner verdict."""
    learnt = found.at.learnt
    if learnt is None:
        return f"No rule: fewer than {FOLDS} points are on one side."
    if not any(rule.conditions for rule in found.rules):
        return "No rule: no factor parts the two sides better than the more frequent verdict does."
    text = (
        f"The rule is right at {share(learnt.accuracy)} of points that it was not made from "
        f"(cross-validation); the more frequent verdict is right at "
        f"{percent(found.at.counted.majority)}"
    )
    return f"{text}." if learnt.is_better else f"{text}: no clear difference."


def rule_tested(answer: Answer) -> str:
    """Return how often the rule is right on the points of another design."""
    unseen = answer.found.unseen
    if not answer.asked.tested_on:
        return ""
    if unseen is None or not unseen.right.points:
        return f"The rule was not tested on {answer.asked.tested_on}: its points were not run."
    without = f"; {unseen.without_value} more have no value" if unseen.without_value else ""
    return (
        f"On {number_of(unseen.right.points, 'point')} of another design it is right at "
        f"{share(unseen.right)}; the more frequent verdict, at {percent(unseen.majority.share)}"
        f"{without}."
    )


def factors(found: Explanation) -> str:
    """Return a sentence on which factors matter."""
    clear = [each for each in found.importances if each.is_clear][:MAX_NAMED_FACTORS]
    if not found.importances:
        return ""
    if not clear:
        return "No factor by itself clearly changes the verdict."
    listed = ", ".join(f"{each.factor.words} ({percent(each.mean)})" for each in clear)
    return f"Right verdicts lost without a factor: {listed}."


def reasons(answer: Answer) -> Iterator[str]:
    """Yield for each side which run is slower how often, and what its counters say."""
    for reaches_limit, word in ((False, answer.asked.otherwise), (True, answer.asked.then)):
        found = answer.reasons(reaches_limit=reaches_limit)
        listed = "; ".join(
            f"{slowest} slower at {points}: {reason or 'no counter tells why'}"
            for (slowest, reason), points in found.most_common(MAX_REASONS)
        )
        if listed:
            yield f"{word} ({number_of(found.total(), 'point')}): {listed}."


def limits(found: Explanation) -> str:
    """Return how much the answer depends on the limit."""
    by_limit = sorted((found.at, *found.others), key=lambda each: each.limit)
    listed = ", ".join(f"{each.limit:g}: {percent(each.counted.yes.share)}" for each in by_limit)
    return f"Share of points by limit: {listed}."


def scatter(scatter: Scatter, found: Explanation) -> str:
    """Return how many points are close to the limit, and how much repetitions differ."""
    close = f"{number_of(found.at.counted.close, 'point')} within 5 % of the limit"
    if not scatter.points:
        return f"{close}; each point was run once, so how much its runs differ is not known."
    return (
        f"{close}; runs of one point differ by {significant(100 * scatter.median)} % (median of "
        f"{number_of(scatter.points, 'point')}); "
        f"{scatter.undecided} have runs on both sides of the limit."
    )


def left_out(found: Explanation) -> str:
    """Return which points have no value, and which count with a run that failed."""
    counted = found.at.counted
    parts = []
    if counted.without_value:
        parts.append(f"{number_of(counted.without_value, 'point')} without a value: a run is "
                     "missing, unsupported or failed")  # fmt: skip
    if counted.endless:
        parts.append(
            f"{number_of(counted.endless, 'point')} with a run that failed or left a request "
            "unanswered, which counts as one without end"
        )
    return f"{'; '.join(parts)}." if parts else ""


def to_json(answer: Answer) -> dict[str, Any]:
    """Return all numbers of an answer for programs; what is not finite is null."""
    found = answer.found
    document: dict[str, Any] = {
        "source": answer.source,
        "experiment": answer.experiment,
        "asked": answer.asked.model_dump(mode="json"),
        "headline": headline(answer),
        "sentences": list(sentences(answer)),
        **_limit(found.at),
        "rules": [
            {
                "conditions": list(rule.conditions),
                "verdict": rule.leaf.verdict,
                "points": rule.leaf.points,
                "right": rule.leaf.right,
            }
            for rule in found.rules
        ],
        "importances": [
            {"factor": each.factor.path, "mean": each.mean, "sd": each.sd, "clear": each.is_clear}
            for each in found.importances
        ],
        "unseen": found.unseen
        and {
            "right": _proportion(found.unseen.right),
            "majority": _proportion(found.unseen.majority),
            "without_value": found.unseen.without_value,
        },
        "other_limits": [_limit(each) for each in found.others],
        "scatter": asdict(answer.scatter),
        "cases": [
            {
                "value": case.value,
                "is_so": case.reaches_limit,
                "chosen": case.chosen,
                "factors": dict(case.factors),
                "runs": {name: run.name for name, run in case.runs.items()},
                "signs": {name: asdict(each) for name, each in case.signs.items()},
                "slowest": case.slowest,
                "reason": case.reason,
            }
            for case in answer.chosen
        ],
        "reasons": {
            ("so" if reaches_limit else "not_so"): [
                {"slowest": slowest, "reason": reason, "points": points}
                for (slowest, reason), points in answer.reasons(
                    reaches_limit=reaches_limit
                ).most_common()
            ]
            for reaches_limit in (True, False)
        },
    }
    return finite(document)


def claim_json(source: str, experiment: str, verdict: Verdict) -> dict[str, Any]:
    """Return a claim and its verdict for programs."""
    return finite(
        {
            "source": source,
            "experiment": experiment,
            "claim": verdict.claim.model_dump(mode="json"),
            "estimate": verdict.estimate and asdict(verdict.estimate),
            "verdict": verdict.word,
            "why": verdict.why,
        }
    )


def finite(document: dict[str, Any]) -> dict[str, Any]:
    """Return a value with null for the numbers that JSON does not have."""
    return {key: _value(value) for key, value in document.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return finite(value)
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _factor(words: str, value: Any) -> str:
    name, _, unit = words.removesuffix(")").partition(" (")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{name} {value}"
    return f"{name} {significant(value)} {unit}".strip()


def _limit(limit: Limit) -> dict[str, Any]:
    counted, learnt = limit.counted, limit.learnt
    return {
        "limit": limit.limit,
        "so": _proportion(counted.yes),
        "without_value": counted.without_value,
        "endless": counted.endless,
        "close": counted.close,
        "majority": counted.majority,
        "accuracy": learnt and _proportion(learnt.accuracy),
        "better_than_majority": learnt and learnt.is_better,
        "decides": list(limit.decides),
    }


def _proportion(proportion: Proportion) -> dict[str, float]:
    return {
        "count": proportion.count,
        "points": proportion.points,
        "share": proportion.share,
        "low": proportion.low,
        "high": proportion.high,
    }
