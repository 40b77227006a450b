"""The verdict of a comparison, in sentences (`row_pairs` says which rows they are about).

Rules:

* Only rows of one stack are compared. The caller says which transports are of one stack.
* Runs of one seed meet the same losses and jitter: they are a pair. The ratio of two goodputs is
  the geometric mean over pairs, with Student's 95 % interval of the logarithms.
* Of videos and calls it is what viewers and callers feel, in one sentence: each number is the mean
  difference over pairs, the first row less the second, with Student's 95 % interval. The intervals
  are not widened for their number.
* One pair has no interval, and its sentence says so.
* The reason is the sign by which the worse run of the first pair differs most from the better one
  (`limiting_factors`); of a video or a call there is one if its first number is clearly worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.numbers import for_json, significant
from minitopo_dc.results.measures.limiting_factors import Reason, reason, short
from minitopo_dc.results.measures.row_pairs import (
    PERCEIVED_MEASURES,
    PerceivedMeasure,
    RowPair,
    row_pairs,
)
from minitopo_dc.statistics import (
    PairedRatio,
    lost_pairs,
    mean_interval,
    other_way,
    paired_ratio,
)


class Ratio(NamedTuple):
    """The ratio of a measure of two ways over pairs of runs, first to second."""

    mean: float
    low: float
    high: float
    """The ends of its 95 % interval; NaN of one pair."""
    pairs: int
    seeds: int
    """The number of pairs that were asked for: with more than `pairs` some are lost."""
    lost: str = ""
    """Why, in words: `1 failed, 2 disturbed`."""
    other_low: float = math.nan
    """The ends of the interval if each lost pair had gone the other way (`PairedRatio`)."""
    other_high: float = math.nan

    @classmethod
    def of(cls, paired: PairedRatio) -> Ratio:
        """Return the ratio that pairs of runs have."""
        (_, other), interval = paired.other, paired.interval
        seeds = paired.pairs + sum(paired.lost.values())
        lost, ends = _lost_text(paired.lost), (interval.low, interval.high)
        return cls(paired.mean, *ends, paired.pairs, seeds, lost, other.low, other.high)

    @property
    def is_seen(self) -> bool:
        """Return whether it differs from 1 in three digits."""
        return f"{self.mean:.3g}" != "1"

    @property
    def is_clear(self) -> bool:
        """Return whether the two differ; one pair never tells."""
        return self.is_seen and (self.low > 1 or self.high < 1)

    def inverse(self) -> Ratio:
        """Return the ratio of the second to the first."""
        other = 1 / self.other_high, 1 / self.other_low
        ends = 1 / self.mean, 1 / self.high, 1 / self.low
        return Ratio(*ends, self.pairs, self.seeds, self.lost, *other)


def difference_sentence(
    names: tuple[str, str],
    means: tuple[float, float],
    unit: str,
    ratio: Ratio,
    better: str = "faster",
    *,
    low_is_better: bool = False,
) -> str:
    """Return which of two ways is better, by how much, and how sure that is.

    Args:
        names: of the two ways.
        means: of each, in `unit`.
        unit: of the measure.
        ratio: first to second.
        better: what the better one is: `faster`, `lower`.
        low_is_better: whether the lower one is the better.
    """
    shown = ", ".join(
        f"{name} {significant(mean)}" for name, mean in zip(names, means, strict=True)
    )
    if (ratio.mean < 1) != low_is_better and not ratio.low <= 0:
        names, ratio = names[::-1], ratio.inverse()
    far = f"{names[0]} is {short(abs(100 * (ratio.mean - 1)))} % {better}"
    seeds = _seeds_text(ratio.pairs, ratio.seeds)
    if not ratio.pairs:
        words = "no ratio, as no seed has a number above 0 of both"
    elif math.isnan(ratio.low):
        words = f"{far if ratio.is_seen else 'no difference'} ({seeds}, so no interval)"
    elif math.isclose(ratio.low, ratio.high, rel_tol=1e-9):
        words = f"{far if ratio.is_seen else 'no difference'} (the same with {seeds})"
    elif ratio.is_clear:
        words = f"{far} ({_range(ratio)} %, {seeds})"
    else:
        words = f"no clear difference ({_range(ratio)} %, {seeds})"
    if ratio.lost and ratio.pairs:
        low, high = (short(100 * (end - 1)) for end in (ratio.other_low, ratio.other_high))
        words += f"; {ratio.lost}: if it went the other way there, {low} to {high} %"
    return f"{f'{shown} {unit}'.rstrip()}: {words}."


def _lost_text(lost: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {why}" for why, number in lost.items())


def _range(ratio: Ratio) -> str:
    ends = [100 * (end - 1) for end in (ratio.low, ratio.high)]
    if ends[0] * ends[1] > 0:
        ends = sorted(map(abs, ends))
    return " to ".join(map(short, ends))


def _seeds_text(pairs: int, seeds: int) -> str:
    """Return of how many of all seeds both rows have a run: `3 seeds`, `2 of 3 seeds`."""
    if pairs < seeds:
        return f"{pairs} of {seeds} seeds"
    return "1 seed" if pairs == 1 else f"{pairs} seeds"


@dataclass(frozen=True)
class Finding:
    """Two rows of one stack, compared with each other by their goodputs."""

    stack: str
    first: str
    second: str
    """The names of the rows: `DC (least-delay)`, `MP-QUIC`, `leg 2`."""
    first_mbps: float
    second_mbps: float
    """Their mean goodputs over pairs."""
    ratio: Ratio
    """The ratio of their goodputs, first to second: the geometric mean over pairs."""
    reason: Reason
    """The reason why the slower one was slower."""
    warning: bool = False
    """Whether it warns that Dual Connectivity is slower than one leg alone."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        fields = asdict(self)
        ratio, _ = fields.pop("ratio"), fields.pop("reason")
        numbers = {**ratio._asdict(), **self.reason.to_json()}
        numbers["ratio"] = numbers.pop("mean")
        return for_json({**fields, **numbers, "sentence": self.sentence})

    @property
    def sentence(self) -> str:
        """Return what was found and how sure it is, and in a second sentence why."""
        names, means = (self.first, self.second), (self.first_mbps, self.second_mbps)
        what = difference_sentence(names, means, "Mbit/s", self.ratio)
        before = "Warning: " if self.warning else ""
        slower = names[0] if self.ratio.mean < 1 else names[1]
        why = self.reason.sentence(slower)
        tells = self.ratio.is_clear or self.ratio.pairs == 1
        return f"{before}{what}{f' {why}' if why and tells else ''}"

    @property
    def is_slower(self) -> bool:
        """Return whether the first row is slower, clearly so where there is an interval."""
        return self.ratio.is_seen and self.ratio.mean < 1 and not self.ratio.high >= 1


def findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[Finding | MediaFinding]:
    """Compare rows of runs (`results_table`), by the pairs of `row_pairs`.

    Those of Dual Connectivity with multipath come first, and of goodput before videos and calls.

    Args:
        results: runs of one comparison.
        stacks: the stack of each transport; other transports are left out.
    """
    ok = results[results["status"] == "ok"]
    with_goodput = ok[ok["goodput_mbps"].notna()]
    pairs = list(row_pairs(with_goodput, stacks, lambda row: float(row["goodput_mbps"].mean())))
    pairs.sort(key=lambda pair: pair.runs["mode_y"].iloc[0] != "multipath")
    made = [finding for pair in pairs if (finding := _goodput_finding(pair, results)) is not None]
    return [*made, *_of_media(results, ok, stacks)]


def _goodput_finding(pair: RowPair, results: pd.DataFrame) -> Finding | None:
    """Compare two rows; None: it would be a warning, and the first row is not clearly slower."""
    mbps = pair.runs["goodput_mbps_x"], pair.runs["goodput_mbps_y"]
    rows = pair.first, pair.second
    ratio = Ratio.of(paired_ratio(results, "way", *rows, measure="goodput_mbps", pairs=["seed"]))
    finding = Finding(
        stack=pair.stack,
        first=pair.first,
        second=pair.second,
        first_mbps=float(mbps[0].mean()),
        second_mbps=float(mbps[1].mean()),
        ratio=ratio,
        reason=reason(*pair.directories(first_is_worse=ratio.mean < 1)),
        warning=pair.warning,
    )
    return finding if finding.is_slower or not pair.warning else None


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
    other_low: float = math.nan
    """The ends of the interval if each lost pair had gone the other way (`other_way`)."""
    other_high: float = math.nan

    def phrase(self, first: str) -> str:
        """Return the difference in words, and whether the first row is better or worse by it."""
        unit = f" {self.unit}" if self.unit else ""
        words = f"{self.words} {_signed(self.mean)}{unit}"
        if math.isnan(self.low):
            return words
        outcome = "no clear difference"
        if self.better:
            outcome = "better" if self.better == first else "worse"
        return f"{words} ({_signed(self.low)} to {_signed(self.high)}: {outcome})"


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
    reason: Reason
    """The reason why one is clearly worse."""
    warning: bool = False
    """Whether it warns that Dual Connectivity is worse than one leg alone."""
    lost: str = ""
    """The seeds that are not used, and why: `1 failed`."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        fields = asdict(self)
        del fields["reason"]
        fields["differences"] = [for_json(difference) for difference in fields["differences"]]
        return for_json({**fields, **self.reason.to_json(), "sentence": self.sentence})

    @property
    def sentence(self) -> str:
        """Return what was found in one sentence, and in a second one why."""
        seeds = _seeds_text(self.pairs, self.seeds)
        how = f"with 95 % intervals, {seeds}" if self.pairs > 1 else f"{seeds}, so no interval"
        numbers = ", ".join(difference.phrase(self.first) for difference in self.differences)
        words = f"{self.first} less {self.second} ({how}): {numbers}"
        if self.lost:
            ends = self.differences[0].other_low, self.differences[0].other_high
            turned = f"if it went the other way there, {' to '.join(map(_signed, ends))}"
            words += f"; {self.lost}: {turned} of the first number"
        words += "."
        why = self.reason.sentence(
            self.second if self.differences[0].better == self.first else self.first
        )
        return f"{'Warning: ' if self.warning else ''}{words}{f' {why}' if why else ''}"


def _of_media(
    results: pd.DataFrame, ok: pd.DataFrame, stacks: Mapping[str, str]
) -> Iterator[MediaFinding]:
    """Compare rows of runs that are all of a video, or all of a call; others have no finding."""
    kinds = set(ok["workload"])
    felt = PERCEIVED_MEASURES.get(kinds.pop(), ()) if len(kinds) == 1 else ()
    if not felt:
        return
    values = {measure.name: list(map(measure.value, ok["details"])) for measure in felt}
    known = ok.assign(**values).dropna(subset=[felt[0].name])
    for pair in row_pairs(known, stacks, felt[0].goodness):
        mine = results[results["way"].isin([pair.first, pair.second])]
        good, used = mine.index.to_series().isin(known.index), pd.Index(pair.runs["seed"])
        lost = lost_pairs(mine, good, used, ["seed"])
        differences = tuple(_difference(pair, measure, sum(lost.values())) for measure in felt)
        better = differences[0].better
        if pair.warning and better != pair.second:
            continue
        runs = pair.directories(first_is_worse=better == pair.second)
        seeds = len(pair.runs) + sum(lost.values())
        yield MediaFinding(
            *(pair.stack, pair.first, pair.second, len(pair.runs), seeds, differences),
            reason=reason(*runs) if better else Reason(),
            warning=pair.warning,
            lost=_lost_text(lost),
        )


def _difference(pair: RowPair, felt: PerceivedMeasure, lost: int) -> Difference:
    values = (pair.runs[f"{felt.name}_x"] - pair.runs[f"{felt.name}_y"]).dropna().tolist()
    mean, interval = sum(values) / len(values) if values else math.nan, mean_interval(values)
    other, better = mean_interval(other_way(values, lost)), ""
    if interval.low > 0 or interval.high < 0:
        better = pair.first if (mean > 0) == felt.higher_is_better else pair.second
    ends = (interval.low, interval.high, better, other.low, other.high)
    return Difference(felt.name, felt.words, felt.unit, mean, *ends)


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{significant(value)}"
