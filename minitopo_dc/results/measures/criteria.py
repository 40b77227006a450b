"""By what two ways are set against each other: the measures of each workload, the main one first.

A measure counts as a score, of which more is better. Where ratios count it is the logarithm, so
that means of scores are geometric ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from minitopo_dc.numbers import short, significant
from minitopo_dc.results.measures.named import measure
from minitopo_dc.results.tables.columns import is_better_low, main_measure, name_and_unit


@dataclass(frozen=True)
class Criterion:
    """A measure of a run that is judged."""

    measure: str
    words: str
    unit: str
    is_ratio: bool = True
    """Whether ratios count, not differences."""
    sign: Literal[1, -1] = 1
    """1, or -1 where less of the measure is better."""
    better: Literal["faster", "higher", "lower"] = "faster"
    """What the better one is, of a ratio."""

    @property
    def unit_words(self) -> str:
        """Return the unit with what it is of, where that is not the goodput."""
        return f"{self.unit} ({self.words})" if self.words != "goodput" else self.unit

    def number(self, row: Mapping[Any, Any]) -> float:
        """Return the measure of a run in `unit`; NaN where it failed or has none.

        Args:
            row: of a table of runs, with the run's `directory` if it is to be read from files.

        Raises:
            ResultError: a file of the run is missing or broken.
        """
        if row["status"] != "ok":
            return math.nan
        number = measure(row, self.measure)
        return number * 100 if self.unit == "%" else number

    def score(self, number: float) -> float:
        """Return the score of a measure; NaN where it cannot count."""
        if not math.isfinite(number) or (self.is_ratio and number <= 0):
            return math.nan
        return self.sign * (math.log(number) if self.is_ratio else number)

    def scored(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return a table of runs with their `number` and their `score`; errors are of `number`."""
        numbers = [self.number(row) for row in runs.to_dict("records")]
        return runs.assign(number=numbers, score=[self.score(number) for number in numbers])

    def value(self, score: float) -> float:
        """Return the measure that has a score."""
        return math.exp(self.sign * score) if self.is_ratio else self.sign * score

    @property
    def difference_unit(self) -> str:
        """Return the unit of a difference."""
        return "%" if self.is_ratio else self.unit.replace("%", "percentage points")

    def in_unit(self, difference: float) -> float:
        """Return a difference of scores in `difference_unit`."""
        return 100 * math.expm1(difference) if self.is_ratio else difference

    def shown(self, low: float, high: float) -> str:
        """Return the ends of an interval of scores: `4.1 to 7.6 %`, `0.7 to 2.4 times`.

        Of what is lower they are parts of the higher one.
        """
        if not self.is_ratio:
            ends = (significant(end, 2) for end in (low, high))
            return f"{' to '.join(ends)} {self.difference_unit}".rstrip()
        if self.better == "lower":
            low, high = (-100 * math.expm1(-end) for end in (low, high))
        elif max(abs(low), abs(high)) >= TWICE:
            return f"{short(math.exp(low))} to {short(math.exp(high))} times"
        else:
            low, high = self.in_unit(low), self.in_unit(high)
        return f"{short(low)} to {short(high)} %"

    def by(self, difference: float) -> str:
        """Return by how much the better one is better: `12 % faster`, `11 times as fast`.

        Args:
            difference: of the scores, not below 0.
        """
        if not self.is_ratio:
            unit = f" {self.difference_unit}".rstrip()
            return f"{significant(difference, 2)}{unit} better"
        if self.better == "lower":
            return f"{short(-100 * math.expm1(-difference))} % lower"
        if difference >= TWICE:
            word = {"faster": "fast", "higher": "high"}[self.better]
            return f"{short(math.exp(difference))} times as {word}"
        return f"{short(self.in_unit(difference))} % {self.better}"


TWICE = math.log(1.995)
"""The difference of logarithms from which on a ratio is told as a factor: 2 in two digits."""
GOODPUT = Criterion("goodput_mbps", "goodput", "Mbit/s")
CRITERIA = {
    "download": (GOODPUT,),
    "request-response": (Criterion("answer_p95_ms", "95th percentile of delays", "ms", sign=-1),),
    "video": (
        Criterion("linear_qoe_mbps", "quality of experience", "Mbit/s", is_ratio=False),
        Criterion("stalls", "stalls", "", is_ratio=False, sign=-1),
        Criterion("stall_s", "time stalled", "s", is_ratio=False, sign=-1),
        Criterion("bitrate_mbps", "bitrate", "Mbit/s", is_ratio=False),
    ),
    "realtime": (
        Criterion("late_share", "late or lost frames", "%", is_ratio=False, sign=-1),
        Criterion("frame_delay_p95_ms", "95th percentile of frame delay", "ms", False, -1),
        Criterion("frame_delay_p99_ms", "99th percentile of frame delay", "ms", False, -1),
        Criterion("freezes", "freezes", "", is_ratio=False, sign=-1),
    ),
}
"""By workload."""


def criteria_of(results: pd.DataFrame) -> tuple[Criterion, ...]:
    """Return what is judged of a comparison's runs (`results_table`).

    It is the goodput where there is one, as of a user's own download, and else what the workload
    has; of any other workload, or of several, the main measure of the runs.
    """
    if results["goodput_mbps"].notna().any():
        return CRITERIA["download"]
    kinds = set(results[results["status"] == "ok"]["workload"])
    if len(kinds) == 1 and (known := CRITERIA.get(kinds.pop())):
        return known
    name = main_measure(results, results.attrs.get("labels", ()))
    words, unit = name_and_unit(name)
    if is_better_low(name):
        return (Criterion(name, words, unit, sign=-1, better="lower"),)
    return (Criterion(name, words, unit, better="higher"),)
