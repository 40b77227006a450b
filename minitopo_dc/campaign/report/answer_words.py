"""An answer in words that are made from its numbers, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from minitopo_dc.analysis.learning.explanation import Explanation, Limit
from minitopo_dc.analysis.learning.hold_out import FOLDS
from minitopo_dc.analysis.learning.tree import Rule
from minitopo_dc.analysis.statistics import Proportion
from minitopo_dc.campaign.file.explain import Explain
from minitopo_dc.campaign.report.answer import Answer, Case, Scatter
from minitopo_dc.campaign.report.claims import Verdict

MOST_IMPORTANT = 4
"""Factors that are named."""
MOST_REASONS = 3
"""Of each side."""


def headline(answer: Answer) -> str:
    """At how many points it is so, and where, in one sentence."""
    counted = answer.found.at.counted
    text = f"{answer.asked.text} at {counted.yes.count:g} of {share(counted.yes, of=True)}"
    return f"{text}{_where(answer)}."


def sentences(answer: Answer) -> Iterator[str]:
    """What else is to be known of it, the most important first."""
    yield from filter(None, [_certainty(answer.found)])
    yield from filter(None, [_unseen(answer), _factors(answer.found), *_why(answer)])
    yield _limits(answer.found)
    yield _scatter(answer.scatter, answer.found)
    yield from filter(None, [_left_out(answer.found)])


def rule_text(rule: Rule, asked: Explain) -> str:
    """One line of the tree."""
    verdict = asked.then if rule.leaf.verdict else asked.otherwise
    conditions = " and ".join(rule.conditions) or "everywhere"
    return f"{conditions}: {verdict} ({rule.leaf.right} of {rule.leaf.points} points)"


def case_text(case: Case) -> str:
    """A point in one line: how it was chosen, its value and factors, and why."""
    factors = ", ".join(_factor(words, value) for words, value in case.factors.items())
    return f"{case.value:.2f} ({case.chosen}): {factors}"


def case_reason(case: Case) -> str:
    """Why the slowest of its runs is that, as far as the counters tell."""
    told = case.reason or "the counters do not tell why"
    return f"{case.slowest} is the slowest: {told}"


def share(proportion: Proportion, *, of: bool = False) -> str:
    """With its interval: `0.84 (0.78 to 0.89)`; `of`: with the number of points before it."""
    interval = f"{proportion.low:.2f} to {proportion.high:.2f}"
    if of:
        return f"{proportion.points} points ({interval})"
    return f"{proportion.share:.2f} ({interval})"


def to_markdown(answers: Sequence[Answer]) -> str:
    """All answers as Markdown; also what the terminal shows."""
    return "\n\n".join(filter(None, map(_markdown, answers))) + "\n" if answers else ""


def to_json(answer: Answer) -> dict[str, Any]:
    """All numbers of an answer, for programs; what is not finite is null."""
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
                "is_so": case.is_so,
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
            ("so" if is_so else "not_so"): [
                {"slowest": slowest, "reason": reason, "points": points}
                for (slowest, reason), points in answer.reasons(is_so=is_so).most_common()
            ]
            for is_so in (True, False)
        },
    }
    return _finite(document)


def claim_json(source: str, experiment: str, verdict: Verdict) -> dict[str, Any]:
    """What becomes of a claim, for programs."""
    return _finite(
        {
            "source": source,
            "experiment": experiment,
            "claim": verdict.claim.model_dump(mode="json"),
            "estimate": verdict.estimate and asdict(verdict.estimate),
            "verdict": verdict.word,
            "why": verdict.why,
        }
    )


def _finite(document: dict[str, Any]) -> dict[str, Any]:
    """Without the numbers that JSON does not have."""
    return {key: _value(value) for key, value in document.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _finite(value)
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _where(answer: Answer) -> str:
    """The rules of the rarer verdict, which says more; none if the tree is of no use."""
    found = answer.found
    if found.at.learnt is None or not found.at.learnt.is_better:
        return ""
    rare = not found.at.counted.usual
    chosen = [rule for rule in found.rules if rule.leaf.verdict == rare and rule.conditions]
    if not chosen:
        return ""
    places = "; or ".join(" and ".join(rule.conditions) for rule in chosen)
    if rare:
        return f", most of them where {places}"
    return f"; {answer.asked.otherwise} where {places}"


def _certainty(found: Explanation) -> str:
    learnt, counted = found.at.learnt, found.at.counted
    if learnt is None:
        return f"Fewer than {FOLDS} points are on one side: no rule is made of them."
    if not any(rule.conditions for rule in found.rules):
        return "No rule of the factors tells the two sides apart better than what is usual."
    text = (
        f"The tree is right at {share(learnt.accuracy)} of the points that it was not made from "
        f"(cross-validated); who always says what is more frequent, at {counted.majority:.2f}"
    )
    return f"{text}." if learnt.is_better else f"{text}: no clear difference."


def _unseen(answer: Answer) -> str:
    unseen = answer.found.unseen
    if not answer.asked.tested_on:
        return ""
    if unseen is None or not unseen.right.points:
        return f"It was not tested on the points of {answer.asked.tested_on}: they were not run."
    left_out = f"; {unseen.without_value} more have no value" if unseen.without_value else ""
    return (
        f"On {unseen.right.points} points of another design its verdict is right at "
        f"{unseen.right.count:g}: {share(unseen.right)}; what is usual, at "
        f"{unseen.majority.count:g}{left_out}."
    )


def _factors(found: Explanation) -> str:
    clear = [each for each in found.importances if each.is_clear][:MOST_IMPORTANT]
    if not found.importances:
        return ""
    if not clear:
        return "No factor by itself clearly changes the verdict."
    listed = ", ".join(f"{each.factor.words} ({each.mean:.2f} ± {each.sd:.2f})" for each in clear)
    return f"What decides, by how many right verdicts are lost without it: {listed}."


def _why(answer: Answer) -> Iterator[str]:
    """Of each side, what the counters say of its points."""
    for is_so, word in ((False, answer.asked.otherwise), (True, answer.asked.then)):
        counted = answer.reasons(is_so=is_so)
        listed = ", ".join(
            f"{slowest} is slower at {points} as {reason}"
            if reason
            else f"{slowest} is slower at {points} for no reason that is counted"
            for (slowest, reason), points in counted.most_common(MOST_REASONS)
        )
        if listed:
            yield f"Of the {counted.total()} points of {word}, by their counters: {listed}."


def _limits(found: Explanation) -> str:
    """How much hangs on the limit."""
    by_limit = sorted((found.at, *found.others), key=lambda each: each.limit)
    listed = ", ".join(f"{each.limit:g}: {share(each.counted.yes)}" for each in by_limit)
    return f"Share of points by limit: {listed}."


def _scatter(scatter: Scatter, found: Explanation) -> str:
    close = f"{found.at.counted.close} points are within 5 % of the limit"
    if not scatter.points:
        return f"{close}; with one run of each point its scatter is not known."
    return (
        f"{close}; repetitions of a point differ by {100 * scatter.median:.1f} % (median of "
        f"{scatter.points} points), at {scatter.undecided} they are not all on one side."
    )


def _left_out(found: Explanation) -> str:
    counted = found.at.counted
    parts = []
    if counted.without_value:
        parts.append(f"{counted.without_value} points have no value: a run is missing, "
                     "unsupported or failed")  # fmt: skip
    if counted.endless:
        parts.append(
            f"{counted.endless} points count with a run that failed or left a "
            "request unanswered, as one without end"
        )
    return f"{'; '.join(parts)}." if parts else ""


def _markdown(answer: Answer) -> str:
    lines = [f"**{headline(answer)}** {' '.join(sentences(answer))} ({answer.source})"]
    if any(rule.conditions for rule in answer.found.rules):
        lines += ["", *(f"- {rule_text(rule, answer.asked)}" for rule in answer.found.rules)]
    return "\n".join(lines)


def _factor(words: str, value: Any) -> str:
    name, _, unit = words.removesuffix(")").partition(" (")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{name} {value}"
    return f"{name} {value:.3g}{'' if unit in ('', '%') else ' '}{unit}"


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
