"""What is found out about one stack, in sentences and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.flips import Flip, flip_sentence
from minitopo_dc.advice.sides import Row
from minitopo_dc.numbers import significant
from minitopo_dc.statistics import Interval, Outcome

WORDS = {"better": "Dual Connectivity is better", "tie": "a tie"}
Stopped = Literal["decided", "border", "time", "most seeds", "runs failed"]
PRECISE = 0.25
"""Of the margin: an interval that is narrower and not on one side of a border is at the border."""
NO_MORE_TIME = "more --time does not help; choose as for a tie, or set --margin."
STOPPED_REASONS: Mapping[Stopped, str] = {
    "decided": "The interval is on one side of the margin, so no more seeds were run.",
    "border": "This is at the border of a tie: the interval is narrower than a quarter of the "
    f"margin, so {NO_MORE_TIME}",
    "time": "For more seeds repeat the command with this --output directory and a longer --time.",
    "most seeds": f"These are the most seeds that a verdict is made on, so {NO_MORE_TIME}",
}
"""Why no more seeds were run."""


@dataclass(frozen=True)
class Difference:
    """By how much one row's number is more than another's, over seeds that both have."""

    first: float
    second: float
    """The means of both: geometric ones where a ratio is judged."""
    middle: float
    """As `Criterion.difference`."""
    interval: Interval
    pairs: int
    outcome: Outcome
    """Of the first."""


@dataclass(frozen=True)
class Verdict:
    """Dual Connectivity against multipath, with the transports of one stack."""

    stack: str
    criterion: Criterion
    dual: Row | None
    """The variant that did best in the first runs; None: none of them was ok."""
    multipath: Row | None
    found: Difference | None
    """Of these two, over seeds on which neither was chosen; None: no seed has both."""
    confidence: float
    """Level of its interval, which is made for the number of looks."""
    looks: int
    stopped: Stopped
    seconds: float
    why: str
    """Which one is worse, and what held it back; empty: a tie, or no counter tells."""
    alone: tuple[Row, Difference] | None = None
    """The best leg alone, against the better of both."""
    failed: tuple[str, ...] = ()
    """Of runs that failed, in a sentence each."""
    flips: tuple[Flip, ...] = ()
    real: Difference | None = None
    """The same two on packets."""

    @property
    def outcome(self) -> Outcome:
        """Return what it comes to, of Dual Connectivity."""
        if self.found is not None:
            return self.found.outcome
        if self.stopped == "time" or (self.dual is None) == (self.multipath is None):
            return "open"
        return "worse" if self.dual is None else "better"

    @property
    def sentence(self) -> str:
        """Return the verdict in one sentence."""
        if self.found is None or self.dual is None or self.multipath is None:
            words = f"{self._prefix}{self._without_numbers()}"
            return f"{words[0].upper()}{words[1:]}."
        return f"{self._prefix}{self._difference_text(self.found)}."

    def sentences(self) -> Iterator[str]:
        """Yield the verdict, and what is to be known beside it."""
        yield self.sentence
        if self.outcome == "open" and (reason := self.stopped_reason):
            yield reason
        if self.why:
            yield f"Why: {self.why}."
        yield from self._single_leg_sentences()
        yield from self.failed
        if self.real is not None:
            yield f"On packets: {self._difference_text(self.real)} (nominal interval)."
        yield from (flip_sentence(each) for each in self.flips)
        if self.found is not None:
            level = f"{100 * self.confidence:.4g} %"
            yield (
                f"Seeds: {self.found.pairs}, look {self.looks}: the interval has a level of "
                f"{level}, so that all looks together have 95 %; within "
                f"{self.criterion.margin_shown} is a tie."
            )

    @property
    def stopped_reason(self) -> str:
        """Return in a sentence why no more seeds were run; empty where there is no more to say."""
        return STOPPED_REASONS.get(self.stopped, "")

    @property
    def _prefix(self) -> str:
        return "" if self.stack == "picoquic" else f"{self.stack}: "

    def _difference_text(self, found: Difference) -> str:
        """Say a difference of the two: names, numbers, outcome, interval."""
        assert self.dual is not None
        assert self.multipath is not None
        numbers = (significant(self.criterion.scale * each) for each in (found.first, found.second))
        first, second = numbers
        what = self.criterion.unit
        if self.criterion.words != "goodput":
            what += f" ({self.criterion.words})"
        ends = [self.criterion.shown(each) for each in (found.interval.low, found.interval.high)]
        interval = f", {ends[0]} to {ends[1]}" if found.pairs > 1 else ", one seed"
        return (
            f"{self.dual.name} {first}, {self.multipath.name} {second} {what}: "
            f"{self._word(found)} ({self.criterion.shown(found.middle)} "
            f"{self.criterion.difference_unit}{interval.replace('+', '')})"
        )

    def _word(self, found: Difference) -> str:
        """Say the outcome; where one of the three is left out, also that."""
        assert self.multipath is not None
        worse = f"{self.multipath.name} is better"
        if found.outcome != "open":
            return WORDS.get(found.outcome, worse)
        ends = {
            self.criterion.outcome_of(each) for each in (found.interval.low, found.interval.high)
        }
        whether = {
            frozenset({"tie", "better"}): f"not enough evidence whether a tie or {WORDS['better']}",
            frozenset({"tie", "worse"}): f"not enough evidence whether a tie or {worse}",
        }
        return whether.get(frozenset(ends), "not enough evidence")

    def _without_numbers(self) -> str:
        if self.stopped == "time":
            return "not enough evidence, as the time was up before both had enough runs"
        if self.dual is None and self.multipath is None:
            return "neither Dual Connectivity nor multipath had a run that is ok"
        if self.dual is None or self.multipath is None:
            ok, none = ("multipath", "Dual Connectivity")[:: 1 if self.dual is None else -1]
            return f"{ok} is better, as {none} had no run that is ok"
        return "not enough evidence, as no seed has a run of both"

    def _single_leg_sentences(self) -> Iterator[str]:
        if self.alone is None:
            return
        row, found = self.alone
        name = f"{row.name[0].upper()}{row.name[1:]}"
        told = f"{significant(self.criterion.scale * found.first)} {self.criterion.unit}"
        by = f"{self.criterion.shown(found.middle)} {self.criterion.difference_unit}"
        if found.outcome == "better":
            yield f"Warning: {row.name} is better than both: {told} ({by})."
        elif found.outcome == "tie":
            yield f"{name} is as good as the better of both: {told} ({by})."

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for what there is not."""
        document = {
            "stack": self.stack,
            "outcome": {"better": "dual connectivity", "worse": "multipath"}.get(
                self.outcome, self.outcome
            ),
            "sentence": self.sentence,
            "sentences": list(self.sentences()),
            "measure": self.criterion.name,
            "unit": self.criterion.unit,
            "kind": self.criterion.kind,
            "margin": self.criterion.margin,
            "dual": self.dual and self.dual.name,
            "multipath": self.multipath and self.multipath.name,
            "found": self.found and self._json(self.found),
            "confidence": self.confidence,
            "looks": self.looks,
            "stopped": self.stopped,
            "stopped_reason": self.stopped_reason,
            "seconds": self.seconds,
            "why": self.why,
            "alone": self.alone and {"name": self.alone[0].name} | self._json(self.alone[1]),
            "failed": list(self.failed),
            "flips": [each.to_json() for each in self.flips],
            "real": self.real and self._json(self.real),
        }
        return {name: _finite(each) for name, each in document.items()}

    def _json(self, found: Difference) -> dict[str, Any]:
        ends = {name: getattr(found.interval, name) for name in ("low", "high")}
        differences = {"difference": found.middle} | ends
        return {
            **{name: getattr(found, name) for name in ("first", "second", "pairs", "outcome")},
            **{name: self.criterion.in_unit(each) for name, each in differences.items()},
            "difference_unit": self.criterion.difference_unit,
        }


def _finite(value: Any) -> Any:
    """Return the same without the numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
