"""The verdict of a stack: which side is better, how sure that is and why; seeds are added for it.

docs/advise.md says how. With a seed both sides meet the same losses and jitter: they are a pair.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd

from minitopo_dc.advice.candidates import Candidates
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.executors import Results, Scenarios, Workers
from minitopo_dc.campaign.plan import Case
from minitopo_dc.numbers import significant
from minitopo_dc.results.measures.limiting_factors import reason, unused_legs
from minitopo_dc.results.measures.named import Criterion
from minitopo_dc.results.measures.verdict import (
    FEWEST,
    Difference,
    beside_main,
    difference,
    of_roles,
    of_stacks,
    with_primary,
)
from minitopo_dc.runs.needs import primary_leg
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import Outcome, look_confidence
from minitopo_dc.ways import LABEL

Stopped = Literal["decided", "border", "time", "most seeds", "runs failed"]
"""Why no more seeds were run."""
NO_MORE = "more --time does not help; choose as for a tie, or set --margin"
ADVICE: Final[dict[str, str]] = {
    "border": f"; it is about as large as that, so {NO_MORE}",
    "time": "; a seed takes {seed_s} s here and the time is up: for more seeds repeat the command "
    "with this --output directory and a longer --time",
    "most seeds": f"; no more seeds are run, so {NO_MORE}",
}
"""What to do where the evidence is not enough, by why no more seeds were run."""
OUTCOMES: Final[dict[Outcome, tuple[str, str, str]]] = {
    "better": ("dual connectivity", "", "beyond"),
    "worse": ("multipath", "", "beyond"),
    "tie": ("tie", "A tie: ", "within"),
    "open": ("open", "Not enough evidence: ", "not on one side of"),
}
"""Of Dual Connectivity: for programs, before the sentence, and where the interval is to the margin.
"""


@dataclass(frozen=True)
class Advice:
    """Dual Connectivity against multipath, with the transports of one stack."""

    stack: str
    judged: Criterion
    dual: str | None
    """The way that can be deployed; None: none of its runs was ok."""
    multipath: str | None
    stopped: Stopped
    look: Difference | None = None
    """The last one at these two; None: no seed has both."""
    why: str = ""
    """What held the worse one back, in a sentence; empty: a tie, or no counter tells."""
    beside: tuple[str, ...] = ()
    """Sentences on the rows beside these two, with a warning where a leg alone is better."""
    failed: tuple[str, ...] = ()
    """Of runs that failed, in a sentence each."""
    seed_s: float = 0.0
    """What a seed of both took on this machine, in s of the wall clock."""
    depends: str = ""
    """Which changes of the network would give another outcome (`dependence`); empty: not known."""
    neighbours: Mapping[str, Any] | None = None
    """What the study found near the network; None: it has no such stack, workload or legs."""
    others: tuple[Advice, ...] = ()
    """With the transports of other stacks."""

    @property
    def outcome(self) -> Outcome:
        """Return what it comes to, of Dual Connectivity."""
        if self.look is not None:
            return self.look.outcome
        if self.stopped == "time" or (self.dual is None) == (self.multipath is None):
            return "open"
        return "worse" if self.dual is None else "better"

    @property
    def sentence(self) -> str:
        """Return which side is better, and how sure that is, in one sentence."""
        if self.look is not None:
            one, other = map(self.judged.value, self.look.scores)
            return OUTCOMES[self.outcome][1] + replace(self.look, means=(one, other)).sentence
        if self.outcome == "open":
            why = "the time was up" if self.stopped == "time" else "no seed has a run of both"
            return f"Not enough evidence, as {why}."
        good, bad = ("DC", "multipath") if self.outcome == "better" else ("Multipath", "DC")
        return f"{good} is better, as runs of {bad} failed."

    @property
    def of_stacks(self) -> str:
        """Return whether what is better depends on the stack; empty: there is one."""
        looks = {advice.stack: advice.look for advice in (self, *self.others)}
        return of_stacks({name: (look.outcome, look) for name, look in looks.items() if look})

    def sentences(self) -> Iterator[str]:
        """Yield what is better, how sure that is, why, and what is to be known beside it."""
        own = (advice._own_sentences() for advice in (self, *self.others))
        said = itertools.chain([self.of_stacks], *own)
        yield from dict.fromkeys(filter(None, said))

    def _own_sentences(self) -> Iterator[str]:
        yield self.sentence
        if self.look is not None:
            place = f"{OUTCOMES[self.outcome][2]} the margin of {self.judged.margin_shown}"
            advice = ADVICE.get(self.stopped, "") if self.outcome == "open" else ""
            advice = advice.format(seed_s=significant(self.seed_s, 2))
            yield f"The difference is {place}{advice}."
        yield from filter(None, (self.why, self.depends, *self.beside, *self.failed))
        if self.neighbours is not None:
            yield str(self.neighbours["sentence"])

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for what there is not."""
        judged = self.judged
        own = ("stack", "sentence", "dual", "multipath", "stopped", "why", "depends", "failed")
        return {
            "outcome": OUTCOMES[self.outcome][0],
            "sentences": list(self.sentences()),
            **{name: getattr(self, name) for name in (*own, "neighbours")},
            **{name: getattr(judged, name) for name in ("measure", "unit", "difference_unit")},
            "margin": self.judged.margin,
            "found": self.look and _found(self.look),
            "of_stacks": self.of_stacks,
            "others": [advice.to_json() for advice in self.others],
        }


def _found(look: Difference) -> dict[str, Any]:
    """Return a difference for programs; above 0 the first way is better, whatever is judged."""
    scores, lost = map(look.criterion.value, look.scores), sum(look.paired.lost.values())
    named = ("difference", "low", "high", "other_low", "other_high")
    numbers = {name: look.to_json()[name] for name in named}
    return {
        **dict(zip(("first", "second"), scores, strict=True)),
        **{"pairs": look.paired.pairs, "lost": lost},
        **{"confidence": look.confidence, "outcome": look.outcome, **numbers},
    }


SHOWN = 2
"""Seeds of the rows that are not judged: they show how far off these are."""
GROWTH = 1.5
"""Of the seeds from one analysis to the next."""
MAX_SEEDS = 200
"""To judge on: what they leave open is on the border between two outcomes."""
PRECISE = 0.25
"""Of the margin: an interval that is narrower and not on one side of a border is at the border."""
LEAST_S = 1e-3
"""The least time of a seed in s, where none was made: the directory had all."""
Progress = Callable[[str], object]
"""Hears in a few words what is under way."""


@dataclass
class Runs:
    """A comparison to which seeds are added, and the scores of its runs."""

    directory: Path
    ways: Mapping[str, Scenario]
    judged: Criterion
    workers: Workers
    until: float = math.inf
    """By `time.monotonic`, in s: when the workers give up."""
    progress: Progress = str
    cases: dict[tuple[int, str], Case] = field(default_factory=dict, init=False)
    """Those that were asked for, by their seed and way."""
    seed_s: float = field(default=0.0, init=False)
    """The wall time of a seed of all ways that were made last, in s; 0: none was."""
    table: pd.DataFrame = field(default_factory=pd.DataFrame, init=False)
    """Their runs that are done, each with its `directory` and its score."""

    def room(self) -> float:
        """Return how many seeds can be made before the time is up, by what the last ones took."""
        return (self.until - time.monotonic()) / max(self.seed_s, LEAST_S)

    def make(self, ways: Sequence[str], number: int) -> None:
        """Make the runs of so many seeds that are not there; one that fails stops none."""
        for place, way in itertools.product(range(number), ways):
            scenario = self.ways[way]
            seeded = scenario.model_copy(update={"seed": scenario.seed + place})
            self.cases.setdefault((place, way), (seeded, {LABEL: way}))
        campaign = Campaign(self.directory, self.cases.values(), title="Advice")
        names, begin, made = campaign.names, time.monotonic(), itertools.count()

        def told(scenarios: Scenarios, retries: Retries, working: Path) -> Results:
            for identity, result in self.workers(scenarios, retries, working):
                yield identity, result
                self.seed_s = (time.monotonic() - begin) / (next(made) + 1) * len(ways)
                self.progress(f"seed {result.seed}: {names[identity]} ({result.status})")

        table = campaign.run(executor=told, progress=False)
        table = table[table["status"] != "missing"]
        table = table.assign(directory=[self.directory / run for run in table["run"]])
        self.table = self.judged.scored(table)

    @property
    def scores(self) -> pd.DataFrame:
        """Return a column a way, a line a seed; NaN of a run that failed, or was not made."""
        return self.table.pivot(index="seed", columns=LABEL, values="score").sort_index()

    def pairs(self, ways: Sequence[str]) -> pd.DataFrame:
        """Return the scores of ways, over the seeds of which all have one."""
        return self.scores.reindex(columns=list(ways)).dropna()

    def means(self, ways: Sequence[str]) -> dict[str, float]:
        """Return the mean scores over the first seeds by way, of those that have all runs."""
        first = {scenario.seed for scenario in self.ways.values()}
        seeds = range(min(first), min(first) + SHOWN)
        shown = self.scores.reindex(seeds, columns=list(ways))
        return {str(name): mean for name, mean in shown.mean(skipna=False).dropna().items()}

    def failures(self, ways: Sequence[str]) -> Iterator[str]:
        """Say of each way how many of its runs failed, and the first reason."""
        for way in ways:
            own = self.table[self.table[LABEL] == way]
            failed = own[own["score"].isna()]
            if len(failed):
                why = failed["reason"].iloc[0] or "a request had no answer"
                many = f"{len(failed)} of {len(own)} runs failed and are left out"
                yield f"{way}: {many}: {' '.join(why.split())}"

    def look(self, ways: Sequence[str], confidence: float) -> Difference | None:
        """Return by how much the first way is better; None: no seed has both."""
        of_both = self.table[self.table[LABEL].isin(ways)]
        made = of_both[of_both.groupby("seed")[LABEL].transform("size") == len(ways)]
        found = difference(made, ways, self.judged, confidence)
        return found if found.paired.pairs else None


def decide(stack: Candidates, runs: Runs) -> Advice:
    """Return the verdict, as far as there is one at the end of the time.

    Raises:
        ResultError: a file of a run is broken.
    """
    judged = (stack.dual, stack.multipath)
    runs.make([*stack.ways], SHOWN)
    dual, multipath = (way if runs.pairs([way]).size else None for way in judged)
    advice = Advice(stack.stack, runs.judged, dual, multipath, "time")
    if dual is not None and multipath is not None:
        look, stopped = _sampled(runs, judged)
        why = _why(runs, judged, look)
        advice = replace(advice, stopped=stopped, look=look, seed_s=runs.seed_s, why=why)
    elif runs.room() <= 0:
        return advice
    else:
        advice = replace(advice, stopped="runs failed")
    beside = tuple(_beside(stack, runs))
    several = [name for name, way in stack.ways.items() if way.mode != "sc"]
    return replace(advice, beside=beside, failed=tuple(runs.failures(several)))


def _sampled(runs: Runs, ways: Sequence[str]) -> tuple[Difference | None, Stopped]:
    """Add seeds until they decide, or cannot; return the last look, and why they end."""
    look, number, analysis = None, FEWEST, 1
    while number <= MAX_SEEDS:
        runs.make(ways, number)
        look = runs.look(ways, look_confidence(analysis))
        if look is not None and look.outcome != "open":
            return look, "decided"
        if look is not None and look.paired.pairs >= FEWEST:
            interval = look.paired.interval
            if interval.high - interval.low < PRECISE * runs.judged.limit:
                return look, "border"
        if runs.room() < 1:
            return look, "time"
        number = math.ceil(min(number * GROWTH, number + runs.room()))
        analysis += 1
    return look, "most seeds"


def _beside(stack: Candidates, runs: Runs) -> Iterator[str]:
    """Yield what the ways beside the judged ones did, and a warning that a leg alone was better."""
    scenario, pair = stack.ways[stack.multipath], (stack.dual, stack.multipath)
    yield primary_leg(scenario.leg_numbers[0], scenario.primary_leg)
    if runs.room() > 0:
        names = {with_primary(way, leg) for way in pair for leg in scenario.leg_numbers}
        runs.make([name for name in runs.ways if name in names], SHOWN)
        yield from of_roles(runs.table, [pair], len(scenario.legs))
    yield from beside_main(runs.table, pair)
    yield from unused_legs(runs.table[runs.table[LABEL].isin(pair)])
    value, unit, seeds = runs.judged.value, runs.judged.unit, f"with the first {SHOWN} seeds"
    means = runs.means([*stack.ways])
    shown = {name: f"{significant(value(mean))} {unit}" for name, mean in means.items()}
    several = [name for name in means if stack.ways[name].mode == "dc"]
    if others := [f"{way} {shown[way]}" for way in several if way != stack.dual]:
        yield f"Beside them, {seeds}: {', '.join(others)}."
    both = [means[way] for way in pair if way in means]
    alone = [way for way in means if stack.ways[way].mode == "sc"]
    leg = max(alone, key=means.__getitem__, default="")
    if leg and len(both) == 2 and means[leg] - max(both) > runs.judged.limit:
        yield f"Warning: {leg} alone was better than both {seeds}: {shown[leg]}."


def _why(runs: Runs, ways: Sequence[str], look: Difference | None) -> str:
    """Say what held the worse one back, by the pair in the middle; empty: neither clearly is."""
    if look is None or look.outcome == "tie" or not look.better:
        return ""
    better, (worse,) = look.better, (way for way in ways if way != look.better)
    pairs = runs.pairs(ways)
    order = (pairs[worse] - pairs[better]).sort_values(kind="stable").index
    middle = int(order[len(order) // 2])
    places = runs.table.set_index([LABEL, "seed"])["directory"]
    return reason(*(Path(places[way, middle]) for way in (worse, better))).sentence(worse)
