"""The verdict of a comparison of videos or calls: what viewers and callers feel, in sentences.

Rules:

* The rows are those of `pairs`; the best is the one with the best mean of the first number below.
* A pair has one sentence with all its numbers. Each is the mean difference over runs of one seed,
  the first row less the second, with Student's 95 % interval; the intervals are not widened for
  their number.
* The reason is that of `verdict.limiting_factor`, of the row that is clearly worse by the first
  number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.results.measures.pairs import Pair, pairs
from minitopo_dc.results.measures.sentences import reason_sentence, seeds_text
from minitopo_dc.results.measures.verdict import by_stack, limiting_factor
from minitopo_dc.numbers import for_json, significant
from minitopo_dc.statistics import mean_interval


class PerceivedMeasure(NamedTuple):
    """A number of a run that somebody feels."""

    name: str
    """Its name among the run's details."""
    words: str
    unit: str
    higher_is_better: bool = False


PERCEIVED_MEASURES: Mapping[str, tuple[PerceivedMeasure, ...]] = {
    "video": (
        PerceivedMeasure(
            "linear_qoe_mbps", "quality of experience", "Mbit/s", higher_is_better=True
        ),
        PerceivedMeasure("stalls", "stalls", ""),
        PerceivedMeasure("stall_s", "time stalled", "s"),
        PerceivedMeasure("bitrate_mbps", "bitrate", "Mbit/s", higher_is_better=True),
    ),
    "realtime": (
        PerceivedMeasure("late_share", "late frames", "percentage points"),
        PerceivedMeasure("frame_delay_p95_ms", "95th percentile of frame delay", "ms"),
        PerceivedMeasure("frame_delay_p99_ms", "99th percentile of frame delay", "ms"),
        PerceivedMeasure("freezes", "freezes", ""),
    ),
}
"""What is compared of a workload; rows are ranked by the first."""


@dataclass(frozen=True)
class Difference:
    """The difference of two rows in one number: the first row less the second."""

    measure: str
    words: str
    unit: str
    mean: float
    low: float
    high: float
    """The upper end of the 95 % interval; NaN of one pair."""
    better: str
    """The row that is clearly better; empty: neither is."""

    def phrase(self, first: str) -> str:
        """Return the difference in words, and whether the first row is better or worse by it."""
        unit = f" {self.unit}" if self.unit else ""
        words = f"{self.words} {_signed(self.mean)}{unit}"
        if math.isnan(self.low):
            return words
        found = "no clear difference"
        if self.better:
            found = "better" if self.better == first else "worse"
        return f"{words} ({_signed(self.low)} to {_signed(self.high)}: {found})"


@dataclass(frozen=True)
class MediaFinding:
    """Two rows of one stack, compared by what viewers or callers feel."""

    stack: str
    first: str
    second: str
    pairs: int
    """The number of seeds of which both rows have a run."""
    seeds: int
    """The number of seeds that were asked for."""
    differences: tuple[Difference, ...]
    why: str = ""
    """The reason why one is clearly worse; empty: neither is, or no counter tells."""
    sign: str = ""
    """The sign that is the reason (docs/results.md)."""
    sign_slower: float = math.nan
    sign_faster: float = math.nan
    """Its values in the worse and in the better run of the first pair; NaN: not recorded."""
    warning: bool = False
    """Whether it warns that Dual Connectivity is worse than one leg alone."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        found = {**asdict(self), "sentence": self.sentence}
        found["differences"] = [for_json(each) for each in found["differences"]]
        return for_json(found)

    @property
    def sentence(self) -> str:
        """Return what was found, in one sentence."""
        seeds = seeds_text(self.pairs, self.seeds)
        how = f"with 95 % intervals, {seeds}" if self.pairs > 1 else f"{seeds}, so no interval"
        numbers = ", ".join(each.phrase(self.first) for each in self.differences)
        words = f"{self.stack}: {self.first} less {self.second} ({how}): {numbers}"
        return f"{'Warning: ' if self.warning else ''}{words}{self._because}"

    @property
    def _because(self) -> str:
        better = self.differences[0].better
        if not self.why or not better:
            return "."
        worse = self.second if better == self.first else self.first
        return f". {reason_sentence(worse, self.sign, self.sign_slower, self.sign_faster)}"


def media_findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[MediaFinding]:
    """Compare rows of runs (`load_results`) that are all of a video, or all of a call.

    Args:
        results: runs of one comparison; those of other workloads have no finding.
        stacks: the stack of each transport; other transports are left out.
    """
    kinds = set(results["workload"])
    felt = PERCEIVED_MEASURES.get(kinds.pop(), ()) if len(kinds) == 1 else ()
    if not felt:
        return []
    ok = results[results["status"] == "ok"]
    values = {each.name: [_value(run, each) for run in ok["details"]] for each in felt}
    seeds = results["seed"].nunique()
    known = ok.assign(**values).dropna(subset=[felt[0].name])
    return [
        finding
        for stack, runs in by_stack(known, stacks)
        for pair in pairs(runs, lambda row: _goodness(row, felt[0]))
        for finding in _compared(stack, pair, felt, seeds)
    ]


def _value(details: Mapping[str, Any], felt: PerceivedMeasure) -> float:
    """Return a run's number in the unit of the sentence; NaN where it has none."""
    value = details.get(felt.name)
    if not isinstance(value, int | float):
        return math.nan
    return float(value) * (100 if felt.unit == "percentage points" else 1)


def _goodness(runs: pd.DataFrame, felt: PerceivedMeasure) -> float:
    mean = float(runs[felt.name].mean())
    return mean if felt.higher_is_better else -mean


def _compared(
    stack: str, pair: Pair, felt: tuple[PerceivedMeasure, ...], seeds: int
) -> Iterator[MediaFinding]:
    """Compare two rows by their runs of one seed; yield nothing without a common seed.

    With `warning`, yield a finding only if the first row is clearly worse by the first number.
    """
    columns = ["seed", "directory", *(each.name for each in felt)]
    runs = pair.first[1][columns].merge(pair.second[1][columns], on="seed")
    if runs.empty:
        return
    names = pair.first[0], pair.second[0]
    found = tuple(_difference(runs, each, names) for each in felt)
    better = found[0].better
    if pair.warning and better != names[1]:
        return
    ends = [Path(runs[name].iloc[0]) for name in ("directory_x", "directory_y")]
    worse_first = ends if better == names[1] else ends[::-1]
    why = limiting_factor(*worse_first) if better else {}
    yield MediaFinding(stack, *names, len(runs), seeds, found, warning=pair.warning, **why)


def _difference(runs: pd.DataFrame, felt: PerceivedMeasure, names: tuple[str, str]) -> Difference:
    values = (runs[f"{felt.name}_x"] - runs[f"{felt.name}_y"]).dropna().tolist()
    interval = mean_interval(values)
    mean = sum(values) / len(values) if values else math.nan
    better = ""
    if interval.low > 0 or interval.high < 0:
        better = names[0] if (mean > 0) == felt.higher_is_better else names[1]
    return Difference(felt.name, felt.words, felt.unit, mean, interval.low, interval.high, better)


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{significant(value)}"
