"""What one stack comes to: which side is better, how sure that is and why; and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from minitopo_dc.advice.candidates import Row
from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.numbers import for_json, significant
from minitopo_dc.statistics import Interval, Outcome

Stopped = Literal["decided", "border", "time", "most seeds", "runs failed"]
"""Why no more seeds were run."""
NO_MORE = "more --time does not help; choose as for a tie, or set --margin"
ADVICE: Final[dict[str, str]] = {
    "border": f"; the difference is about as large as that, so {NO_MORE}",
    "time": "; for more seeds repeat the command with this --output directory and a longer --time",
    "most seeds": f"; no more seeds are run, so {NO_MORE}",
}
"""What to do where the evidence is not enough, by why no more seeds were run."""
OUTCOMES: Final[dict[Outcome, tuple[str, str, str]]] = {
    "better": ("dual connectivity", "", "beyond"),
    "worse": ("multipath", "", "beyond"),
    "tie": ("tie", "a tie; ", "within"),
    "open": ("open", "not enough evidence; ", "not on one side of"),
}
"""Of Dual Connectivity: for programs, in the sentence, and where the interval is to the margin."""


@dataclass(frozen=True)
class Difference:
    """By how much one row is better than another, over the seeds of which both have a run."""

    first: float
    second: float
    """Their mean scores (`Criterion.score`)."""
    interval: Interval
    """Of the difference of the scores."""
    confidence: float
    """Its level, which is higher the more often seeds were added (`sequence`)."""
    pairs: int
    outcome: Outcome
    """Of the first."""
    lost: int
    """Seeds that have a run of both, of which one failed."""
    other: Interval
    """Of the difference if each lost seed had gone the other way (`other_way`)."""

    def of_the_better(self, interval: Interval) -> tuple[float, float]:
        """Return the ends of `interval` or `other`, as seen from the better one."""
        low, high = interval.low, interval.high
        return (low, high) if self.first >= self.second else (-high, -low)

    def to_json(self, judged: Criterion) -> dict[str, Any]:
        """Return it for programs; above 0 the first one is better, whatever is judged."""
        scores = {"difference": self.first - self.second}
        for kind, interval in (("", self.interval), ("other_", self.other)):
            scores |= {f"{kind}low": interval.low, f"{kind}high": interval.high}
        return {
            "first": judged.value(self.first),
            "second": judged.value(self.second),
            **{key: getattr(self, key) for key in ("pairs", "lost", "confidence", "outcome")},
            **for_json({key: judged.in_unit(score) for key, score in scores.items()}),
        }


@dataclass(frozen=True)
class Advice:
    """Dual Connectivity against multipath, with the transports of one stack."""

    stack: str
    criterion: Criterion
    dual: Row | None
    """The row that can be deployed; None: none of its runs was ok."""
    multipath: Row | None
    stopped: Stopped
    difference: Difference | None = None
    """Of these two; None: no seed has both."""
    why: str = ""
    """What held the worse one back, in a sentence; empty: a tie, or no counter tells."""
    beside: tuple[str, ...] = ()
    """Sentences on the rows beside these two, with a warning where a leg alone is better."""
    failed: tuple[str, ...] = ()
    """Of runs that failed, in a sentence each."""
    neighbours: Mapping[str, Any] | None = None
    """What the study found near the network; None: it has no such stack, workload or legs."""

    @property
    def outcome(self) -> Outcome:
        """Return what it comes to, of Dual Connectivity."""
        if self.difference is not None:
            return self.difference.outcome
        if self.stopped == "time" or (self.dual is None) == (self.multipath is None):
            return "open"
        return "worse" if self.dual is None else "better"

    @property
    def sentence(self) -> str:
        """Return which side is better, in one sentence."""
        stack = "" if self.stack == "picoquic" else f"{self.stack}: "
        return f"{stack}{self._what(self.difference)}."

    def sentences(self) -> Iterator[str]:
        """Yield what is better, how sure that is, why, and what is to be known beside it."""
        yield self.sentence
        if self.difference is not None:
            margin = f"{OUTCOMES[self.outcome][2]} the margin of {self.criterion.margin_shown}"
            advice = ADVICE.get(self.stopped, "") if self.outcome == "open" else ""
            yield f"{self._how_sure(self.difference)}, {margin}{advice}."
        yield from filter(None, (self.why, *self.beside, *self.failed))
        if self.neighbours is not None:
            yield str(self.neighbours["sentence"])

    def _what(self, difference: Difference | None) -> str:
        if self.dual is None or self.multipath is None or difference is None:
            if self.outcome == "open":
                why = "the time was up" if self.stopped == "time" else "no seed has a run of both"
                return f"Not enough evidence, as {why}"
            good, bad = ("DC", "multipath") if self.outcome == "better" else ("Multipath", "DC")
            return f"{good} is better, as runs of {bad} failed"
        judged = self.criterion
        scores = {self.dual.name: difference.first, self.multipath.name: difference.second}
        shown = [f"{name} {significant(judged.value(score))}" for name, score in scores.items()]
        better = max(scores, key=scores.__getitem__)
        by = judged.shown(abs(difference.first - difference.second))
        word = "faster" if judged.is_ratio else "better"
        outcome = f"{OUTCOMES[difference.outcome][1]}{better} is {by} {word}"
        return f"{', '.join(shown)} {judged.unit}{judged.words}: {outcome}"

    def _how_sure(self, difference: Difference) -> str:
        ends = difference.of_the_better(difference.interval)
        seeds, behind = f"{difference.pairs} seeds", ""
        if difference.lost:
            seeds = f"{difference.pairs} of {difference.pairs + difference.lost} seeds"
            turned = self.criterion.shown(*difference.of_the_better(difference.other))
            behind = f"; {turned} if the lost ones went the other way"
        if difference.pairs == 1:
            return f"One seed gives no confidence interval{behind}"
        if math.isclose(*ends, abs_tol=1e-12):
            return f"Seeds change nothing: all {difference.pairs} give this difference{behind}"
        return f"The 95 % confidence interval is {self.criterion.shown(*ends)} ({seeds}{behind})"

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for what there is not."""
        judged = self.criterion
        own = ("stack", "sentence", "stopped", "why", "failed", "neighbours")
        of_criterion = ("measure", "unit", "difference_unit", "margin")
        return {
            "outcome": OUTCOMES[self.outcome][0],
            "sentences": list(self.sentences()),
            "dual": self.dual and self.dual.name,
            "multipath": self.multipath and self.multipath.name,
            **{name: getattr(self, name) for name in own},
            **{name: getattr(judged, name) for name in of_criterion},
            "found": self.difference and self.difference.to_json(judged),
        }
