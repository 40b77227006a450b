"""The 95 % intervals of all tables, claims and verdicts.

A share has Wilson's interval, which is never of width zero; a mean of few values has Student's; any
other number over points has the percentiles of a bootstrap that draws points and, within each,
repetitions. Values of the same seed are paired by the caller: a difference or a ratio is made
before its interval is.

Two things that differ by less than a margin are a tie, and a tie is no win of either: an outcome is
that the first is better, a tie, that the second is better, or that the evidence is not enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from minitopo_dc.numbers import with_spread

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
Z = 1.959964
"""Quantile of the normal distribution that goes with `CONFIDENCE`, on both sides."""


@dataclass(frozen=True)
class Proportion:
    """A number of points out of some, with Wilson's 95 % interval (JASA 22, 1927)."""

    count: float
    """The number; not whole where it is a mean over repetitions of a cross-validation."""
    points: int

    @property
    def share(self) -> float:
        """Return the share from 0 to 1; NaN without points."""
        return self.count / self.points if self.points else math.nan

    @property
    def low(self) -> float:
        """Return the lower end of the interval; 0 without points."""
        return self._end(-1)

    @property
    def high(self) -> float:
        """Return the upper end of the interval; 1 without points."""
        return self._end(1)

    def _end(self, side: int) -> float:
        if not self.points:
            return (1 + side) / 2
        share, square = self.share, Z**2 / self.points
        reach = Z * math.sqrt(share * (1 - share) / self.points + square / self.points / 4)
        return min(1.0, max(0.0, (share + square / 2 + side * reach) / (1 + square)))


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, and how it was made."""

    low: float
    high: float
    method: str


@dataclass(frozen=True)
class ExpectedCount:
    """The expected number of independent or clustered events, and its range in 95 % of cases."""

    mean: float
    deviation: float
    low: int
    high: int

    @property
    def words(self) -> str:
        """Return the number and its range as tables write them."""
        spread = with_spread(self.mean, self.deviation)
        return f"{spread} (95 % range {self.low:,} to {self.high:,})"


MANY = 500.0
"""The number of expected events above which the normal distribution is used."""


def expected_count(mean: float, variance: float) -> ExpectedCount:
    """Return the range of a count with these moments that leaves 2.5 % out on either side.

    The distribution is the one of Panjer's class (ASTIN Bulletin 12, 1981) with these moments:
    binomial where the variance is below the mean, Poisson's where they agree, negative binomial
    where events come in bursts; above `MANY` it is the normal one.
    """
    deviation = math.sqrt(variance)
    outside = (1 - CONFIDENCE) / 2
    if mean > MANY or not variance:
        low, high = (max(0, round(mean + side * Z * deviation)) for side in (-1, 1))
        return ExpectedCount(mean, deviation, low, high)
    cumulated = _cumulated(mean, variance, math.ceil(mean + 20 * deviation))
    low, high = (int((cumulated < share).sum()) for share in (outside, 1 - outside))
    return ExpectedCount(mean, deviation, low, high)


def _cumulated(mean: float, variance: float, most: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of at most 0, 1, 2, ... events."""
    from scipy.special import betainc, pdtr  # noqa: PLC0415

    counts, more = np.arange(most + 1), variance / mean - 1
    if abs(more) < 1e-9:
        return np.asarray(pdtr(counts, mean))
    if more > 0:
        return np.asarray(betainc(mean / more, counts + 1, 1 / (1 + more)))
    left = mean / -more - counts  # of the binomial distribution's draws
    return np.where(left > 0, betainc(left, counts + 1, 1 + more), 1.0)


Columns = npt.NDArray[np.float64]
"""Values by column, repetition and point; NaN where a repetition has none."""
RESAMPLES = 999
SEED = 1
"""The seed of the resampling: the same runs give the same interval."""


def mean_interval(
    values: Sequence[float], about: float | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """Return Student's interval of a mean (Biometrika 6, 1908); NaN of fewer than two values.

    Args:
        values: independent values, such as differences of pairs with the same seed.
        about: the middle of the interval, where that is not the mean.
        confidence: its level; `look_confidence` of one of several looks at growing samples.
    """
    number = len(values)
    if number < 2 or not all(map(math.isfinite, values)):
        return Interval(math.nan, math.nan, "none")
    from scipy.special import stdtrit  # noqa: PLC0415 (0.1 s that most commands need not wait)

    middle = float(np.mean(values)) if about is None else about
    quantile = float(stdtrit(number - 1, (1 + confidence) / 2))
    reach = quantile * float(np.std(values, ddof=1)) / math.sqrt(number)
    return Interval(middle - reach, middle + reach, "Student's t over repetitions")


def look_confidence(look: int) -> float:
    """Return the level of the interval at a look (1, 2, ...) at a sample that grows.

    Who may stop after each of several intervals of 95 % errs more often than once in 20. The chance
    of an error is spent over the looks, the half of what is left at each: all intervals together
    hold the true value in at least 95 % of cases (Boole's inequality), whatever the looks' number.
    """
    return 1 - (1 - CONFIDENCE) * 0.5**look


Outcome = Literal["better", "tie", "worse", "open"]
"""Of the first of two things; `open`: the evidence is not enough for one of the three."""


def outcome(interval: Interval, margin: float) -> Outcome:
    """Say what the interval of a difference shows, where up to `margin` either way is a tie."""
    if interval.low > margin:
        return "better"
    if interval.high < -margin:
        return "worse"
    return "tie" if -margin <= interval.low and interval.high <= margin else "open"


@dataclass(frozen=True)
class Outcomes:
    """At how many points the first of two things is better, as good within a margin, or worse."""

    better: Proportion
    tie: Proportion
    worse: Proportion
    ratios: tuple[float, float, float]
    """Lower quartile, median and upper quartile over the points, above 1 where the first is better;
    NaN without points."""


def signs(ratios: npt.NDArray[np.float64], margin: float) -> npt.NDArray[np.float64]:
    """Return 1 where the first is better by a ratio, 0 for a tie, -1 where the second is.

    Args:
        ratios: above 1 where the first is better, infinite or 0; NaN where there is none.
        margin: of the ratio: a tie is from 1 / (1 + `margin`) to 1 + `margin`.
    """
    better, worse = ratios > 1 + margin, ratios < 1 / (1 + margin)
    return np.where(np.isnan(ratios), np.nan, better.astype(float) - worse)


def outcomes(ratios: npt.NDArray[np.float64], margin: float) -> Outcomes:
    """Count the outcomes of points by their ratios; points without a value do not count.

    Args:
        ratios: those of `signs`.
        margin: that of `signs`.
    """
    known = ratios[~np.isnan(ratios)]
    sides = signs(known, margin)
    better, tie, worse = (Proportion(int((sides == side).sum()), len(known)) for side in (1, 0, -1))
    some = known if len(known) else [math.nan]
    low, middle, high = np.quantile(some, (0.25, 0.5, 0.75), method="inverted_cdf").tolist()
    return Outcomes(better, tie, worse, (low, middle, high))


def bootstrap_interval(columns: Columns, number: Callable[..., float]) -> Interval:
    """Return percentiles of a number over points and repetitions drawn anew (Efron 1979).

    Points are drawn with replacement, then the repetitions of each (the same ones for all columns,
    whose values are paired); a point's value is the median of those drawn.

    Args:
        columns: shape (columns, repetitions, points); each point has a value at least.
        number: the number that is computed from arrays over points.
    """
    random = np.random.default_rng(SEED)
    repetitions = columns.shape[1]
    values = [number(*_drawn(columns, random)) for _ in range(RESAMPLES)]
    outside = (1 - CONFIDENCE) / 2
    # A percentile is one of the values: none lies between a number and an infinite one.
    low, high = np.quantile(values, (outside, 1 - outside), method="inverted_cdf")
    drawn = "points and repetitions" if repetitions > 1 else "points"
    return Interval(float(low), float(high), f"bootstrap over {drawn}")


def _drawn(columns: Columns, random: np.random.Generator) -> Columns:
    """Return a value for each of as many points, drawn with replacement, by column."""
    _, repetitions, points = columns.shape
    picked = columns[:, :, random.integers(0, points, points)]
    if repetitions == 1:
        return picked[:, 0, :]
    rows = random.integers(0, repetitions, (repetitions, points))
    values = np.take_along_axis(picked, rows[np.newaxis], axis=1)
    if not np.isnan(values).any():  # the same numbers as below, in less time
        return np.median(values, axis=1)
    # Where only repetitions without a value were drawn, those that have one are used.
    empty = np.isnan(values).all(axis=1, keepdims=True)
    return np.nanmedian(np.where(empty, picked, values), axis=1)


def means(runs: pd.DataFrame, by: Sequence[str], measure: str) -> pd.DataFrame:
    """Return a row for each combination of labels: `mean`, `low` and `high` of it, and `n`.

    The interval is Student's of 95 % over the runs; NaN of a single one. Runs without a finite
    value do not count, nor do runs with a `status` other than `ok`.

    Args:
        runs: a row a run.
        by: the columns that tell the groups apart.
        measure: the column whose mean it is.
    """
    values = runs[measure].astype(float)
    known = runs[np.isfinite(values) & ok(runs)].assign(_value=values)
    groups = known.groupby(list(by), sort=False, observed=True, dropna=False)["_value"]
    ends = [mean_interval(group.tolist()) for _, group in groups]
    table = groups.agg(mean="mean", n="count").reset_index()
    return table.assign(low=[end.low for end in ends], high=[end.high for end in ends])


def ok(runs: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows of a table count in means: all, or those whose `status` is `ok`."""
    import pandas as pd  # noqa: PLC0415 (0.3 s that most commands need not wait)

    return runs["status"] == "ok" if "status" in runs else pd.Series(True, index=runs.index)


def mean_ratio(ratios: Sequence[float]) -> tuple[float, Interval]:
    """Return the geometric mean of ratios above 0, and Student's interval of their logarithms."""
    logarithms = list(map(math.log, ratios))
    interval = mean_interval(logarithms)
    ends = math.exp(interval.low), math.exp(interval.high)
    return math.exp(float(np.mean(logarithms or math.nan))), Interval(*ends, interval.method)


class Paired(NamedTuple):
    """A mean over pairs of runs, and what became of all pairs that were asked for."""

    mean: float
    """Of the differences, or of the ratios the geometric one; NaN without a pair."""
    interval: Interval
    pairs: int
    lost: Mapping[str, int]
    """The pairs that are not used, by what their run has in place of a number: `failed`,
    `disturbed`, `no number`, `missing`."""
    other: tuple[float, Interval]
    """Mean and interval if each lost pair had gone the other way, by as much as the mean."""


def paired_difference(
    runs: pd.DataFrame,
    by: str,
    first: Any,
    second: Any,
    *,
    measure: str,
    pairs: Sequence[str],
    confidence: float = CONFIDENCE,
) -> Paired:
    """Return the mean difference of one way's measure from another's, its interval, and the pairs.

    Runs of both that agree in the columns `pairs` are a pair: `["delay_ms", "seed"]`. The interval
    is Student's over the pairs. A pair is lost if one of its runs is not there, is not ok, or has
    no finite measure.
    """
    of_both = runs[runs[by].isin([first, second])]
    good = ok(of_both) & np.isfinite(of_both[measure].astype(float))
    groups = of_both[good].groupby([*pairs, by], observed=True)
    wide = groups[measure].mean().unstack(by).reindex(columns=[first, second]).dropna()
    differences = (wide[first] - wide[second]).astype(float).tolist()
    lost = _lost(of_both, good, wide.index, pairs)
    turned = [-float(np.mean(differences))] * sum(lost.values()) if differences else []
    (mean, interval), other = (
        (float(np.mean(values or math.nan)), mean_interval(values, confidence=confidence))
        for values in (differences, [*differences, *turned])
    )
    return Paired(mean, interval, len(differences), lost, other)


def paired_ratio(
    runs: pd.DataFrame, by: str, first: Any, second: Any, *, measure: str, pairs: Sequence[str]
) -> Paired:
    """Return the mean ratio of one way's measure to another's, its interval, and the pairs.

    Arguments are those of `paired_difference`. The mean is the geometric one, and the interval
    Student's over the logarithms of the pairs' ratios. A measure that is not above 0 is none.
    """
    values = runs[measure].astype(float)
    scores = runs.assign(_score=np.log(values.where(values > 0)))
    made = paired_difference(scores, by, first, second, measure="_score", pairs=pairs)
    (mean, interval), other = (
        (math.exp(mean), Interval(math.exp(ends.low), math.exp(ends.high), ends.method))
        for mean, ends in ((made.mean, made.interval), made.other)
    )
    return made._replace(mean=mean, interval=interval, other=other)


def _lost(
    runs: pd.DataFrame, good: pd.Series[bool], used: pd.Index, pairs: Sequence[str]
) -> dict[str, int]:
    """Return how many pairs of runs are not `used`, which are `good` of both, by the reason."""
    unused = runs.groupby(list(pairs), observed=True).size().index.difference(used)
    status = runs.get("status", "ok")
    bad = runs.assign(_why=status).replace({"_why": {"ok": "no number"}})[~good]
    why = bad.groupby(list(pairs), observed=True)["_why"].first()
    counts = why.reindex(unused).fillna("missing").value_counts()
    return {str(reason): int(number) for reason, number in counts.items()}


def beside_published(cells: pd.DataFrame) -> pd.DataFrame:
    """Return our means beside published ones, with `error_percent` and `p_value`.

    `p_value` is that of Welch's test (Biometrika 34, 1947): the chance that two equal means differ
    by as much. A single run of ours is taken to have their deviation. NaN: they give none.

    Args:
        cells: `ours`, `ours_sd`, `runs`; and the same of theirs: `theirs`, `theirs_sd`,
            `their_runs`.
    """
    from scipy.special import stdtr  # noqa: PLC0415

    runs, theirs = cells["runs"], cells["their_runs"]
    sd = cells["theirs_sd"].where(cells["theirs_sd"] > 0)
    first, second = cells["ours_sd"].where(runs > 1, sd) ** 2 / runs, sd**2 / theirs
    parts = first.where(runs > 1, 0) ** 2 / (runs - 1).clip(lower=1) + second**2 / (theirs - 1)
    freedom = (first.where(runs > 1, 0) + second) ** 2 / parts
    error = cells["ours"] - cells["theirs"]
    p_value = 2 * stdtr(freedom, -error.abs() / np.sqrt(first + second))
    return cells.assign(error_percent=100 * error / cells["theirs"], p_value=p_value)


NEAR_PERCENT = 5.0
"""An error up to here is none to speak of: the clocks differ by as much (docs/advise.md)."""


def agreement(cells: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return how near published numbers are (`beside_published`), a row for each group.

    `mean_error_percent` is of absolute errors, `bias_percent` of signed ones. Of the cells that
    could be `tested`, `two_means` are those whose means differ at 5 %; one in twenty would be so by
    chance. `reproduced` are near (`NEAR_PERCENT`), and no two means.
    """
    error, p_value = cells["error_percent"], cells["p_value"]
    near, differs = error.abs() <= NEAR_PERCENT, p_value < 1 - CONFIDENCE
    flags = {"near": near, "tested": p_value.notna(), "two_means": differs}
    flags |= {"reproduced": near & flags["tested"] & ~differs}
    groups = cells.assign(size=error.abs(), **flags).groupby(list(by), sort=False)
    return groups.agg(
        cells=("ours", "size"),
        mean_error_percent=("size", "mean"),
        bias_percent=("error_percent", "mean"),
        **{name: (name, "sum") for name in flags},
    ).reset_index()
