"""A report's first table: each claim and each question in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minitopo_dc.analysis.statistics import Proportion
from minitopo_dc.campaign.file.expressions import names_in, outermost_call
from minitopo_dc.campaign.file.fields import Claim
from minitopo_dc.campaign.report.answer import Answer
from minitopo_dc.campaign.report.claims import UNIVERSAL, Estimate, Verdict
from minitopo_dc.campaign.report.words import NONE, counted, interval, percent, share, significant

HALF = 0.5


@dataclass(frozen=True)
class Question:
    """What was asked, and what the runs say."""

    text: str
    who: str
    """Who says so, of a claim of others."""
    source: str
    effect: str
    """The number with its unit."""
    ends: str
    """Of its 95 % interval, or how the number was judged without one."""
    verdict: str
    needs: str
    """What the verdict is by."""
    n: str
    """How many points, and runs of each."""
    why: str
    """What the verdict lacks, or which runs are left out."""

    @property
    def look(self) -> str:
        """The verdict's class in the page."""
        return {"holds": "holds", "does not hold": "fails"}.get(self.verdict, "open")


def questions(
    verdicts: Sequence[tuple[str, Verdict]], answers: Sequence[Answer]
) -> Iterator[Question]:
    """Yield the claims of an experiment, and its questions that no claim asks, too.

    Args:
        verdicts: source, what becomes of a claim.
        answers: the experiment's.
    """
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
    return "in few" if yes.high < HALF else "undecided"


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
