"""What one stack comes to: which side is better, how sure that is and why; and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.sides import Row
from minitopo_dc.numbers import for_json, significant
from minitopo_dc.statistics import Interval, Outcome

Stopped = Literal["decided", "border", "time", "most seeds", "runs failed"]
"""Why no more seeds were run."""
NO_MORE = "more --time does not help; choose as for a tie, or set --margin"
ADVICE: Mapping[Stopped, str] = {
    "border": f"; the difference is about as large as that, so {NO_MORE}",
    "time": "; for more seeds repeat the command with this --output directory and a longer --time",
    "most seeds": f"; no more seeds are run, so {NO_MORE}",
}
"""What to do where the evidence is not enough."""
WHERE = {"tie": "within", "open": "not on one side of", "better": "beyond", "worse": "beyond"}
WORDS = {"tie": "a tie; ", "open": "not enough evidence; ", "better": "", "worse": ""}
PROGRAMS = {"better": "dual connectivity", "worse": "multipath", "tie": "tie", "open": "open"}


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

    @property
    def of_the_better(self) -> tuple[float, float, float]:
        """Return the mean difference and its interval, as seen from the better one."""
        mean, low, high = self.first - self.second, self.interval.low, self.interval.high
        return (mean, low, high) if mean >= 0 else (-mean, -high, -low)


@dataclass(frozen=True)
class Verdict:
    """Dual Connectivity against multipath, with the transports of one stack."""

    stack: str
    criterion: Criterion
    dual: Row | None
    """The variant that did best in the first runs; None: none of them was ok."""
    multipath: Row | None
    stopped: Stopped
    difference: Difference | None = None
    """Of these two, over seeds on which neither was chosen; None: no seed has both."""
    why: str = ""
    """What held the worse one back, in a sentence; empty: a tie, or no counter tells."""
    alone: str = ""
    """A warning that a leg alone is better than both."""
    failed: tuple[str, ...] = ()
    """Of runs that failed, in a sentence each."""
    real: Difference | None = None
    """The same two on packets."""

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
            margin = f"{WHERE[self.outcome]} the margin of {self.criterion.margin_shown}"
            advice = ADVICE.get(self.stopped, "") if self.outcome == "open" else ""
            yield f"{self._how_sure(self.difference)}, {margin}{advice}."
        yield from filter(None, (self.why, self.alone, *self.failed))
        if self.real is not None:
            yield f"On packets: {self._what(self.real)}. {self._how_sure(self.real)}."

    def _what(self, difference: Difference | None) -> str:
        if self.dual is None or self.multipath is None or difference is None:
            why = "the time was up" if self.stopped == "time" else "no seed has a run of both"
            without = {
                "better": "DC is better, as runs of multipath failed",
                "worse": "Multipath is better, as runs of DC failed",
            }
            return without.get(self.outcome, f"Not enough evidence, as {why}")
        judged, by = self.criterion, difference.of_the_better[0]
        names = [self.dual.name, self.multipath.name]
        first, second = (
            significant(judged.value(x)) for x in (difference.first, difference.second)
        )
        better = names[difference.first < difference.second]
        return (
            f"{names[0]} {first}, {names[1]} {second} {judged.unit}{judged.words}: "
            f"{WORDS[difference.outcome]}{better} is {judged.shown(by)} "
            f"{'faster' if judged.is_ratio else 'better'}"
        )

    def _how_sure(self, difference: Difference) -> str:
        _, *ends = difference.of_the_better
        if difference.pairs == 1:
            return "One seed gives no confidence interval"
        if math.isclose(*ends, abs_tol=1e-12):
            return f"Seeds change nothing: all {difference.pairs} give this difference"
        shown = self.criterion.shown(*ends)
        return f"The 95 % confidence interval is {shown} ({difference.pairs} seeds)"

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for what there is not."""
        judged = self.criterion
        return {
            "outcome": PROGRAMS[self.outcome],
            "sentences": list(self.sentences()),
            "dual": self.dual and self.dual.name,
            "multipath": self.multipath and self.multipath.name,
            **{
                key: getattr(self, key) for key in ("stack", "sentence", "stopped", "why", "failed")
            },
            **{
                key: getattr(judged, key)
                for key in ("measure", "unit", "difference_unit", "margin")
            },
            "found": self.difference and self._json(self.difference),
            "real": self.real and self._json(self.real),
        }

    def _json(self, difference: Difference) -> dict[str, Any]:
        """Return a difference; above 0 the first one is better, whatever is judged."""
        mean, interval = difference.first - difference.second, difference.interval
        scores = {"difference": mean, "low": interval.low, "high": interval.high}
        return {
            "first": self.criterion.value(difference.first),
            "second": self.criterion.value(difference.second),
            **{key: getattr(difference, key) for key in ("pairs", "confidence", "outcome")},
            **for_json({key: self.criterion.in_unit(score) for key, score in scores.items()}),
        }
