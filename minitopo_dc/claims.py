"""Claims: published statements, or our own, about points, judged by a table of runs.

    seen = points(runs, ["network"], "way", "goodput_mbps", lambda mbps: {
        "gain": mbps["MP-QUIC"] / mbps["QUIC"] - 1})
    table([Claim("MP-QUIC gains", "table 2", least=0.1).number(np.median, seen, "gain")])

A point is what labels tell apart. Its measures are medians over seeds, of runs that are ok; a point
that lacks a run's measure has no value of what needs it. A claim is about a number over points:

* `number`: with a 95 % interval, over points and seeds by bootstrap, over the seeds of a single
  point Student's. It holds where the interval is within the limits, does not hold where it is
  outside, and is undecided else.
* `share`: of points at which something is so, with Wilson's interval; judged likewise.
* `every`: one point refutes it, and it holds where none does.

One point with one run is not enough evidence for any of them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.numbers import significant
from minitopo_dc.statistics import Interval, Proportion, bootstrap_interval, mean_interval, ok

Known = Mapping[Any, Any]
"""A measure by way, as a column over points; NaN of a way without runs."""
UNIVERSAL = "each point"
VERDICTS = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided": "are undecided",
    "not enough evidence": "lack evidence",
    "not run": "were not run",
}
"""The verdicts, and what claims do that have them."""
NONE = Interval(math.nan, math.nan, "none")


@dataclass(frozen=True)
class Points:
    """Numbers of points, their medians and those of each seed."""

    whole: pd.DataFrame
    """A row a point, of its medians over seeds."""
    by_seed: tuple[pd.DataFrame, ...]
    """The same of each seed alone."""
    run: int
    """The number of points that have a run, whatever became of it."""

    def known(self, *names: str) -> pd.DataFrame:
        """Return the points that have all of these numbers."""
        return self.whole[list(names)].dropna()


def points(
    runs: pd.DataFrame,
    by: Sequence[str],
    way: str | Sequence[str],
    measure: str | Sequence[str],
    numbers: Callable[[Known], Mapping[str, Any]],
) -> Points:
    """Return numbers of points, each of which has several ways.

    Args:
        runs: those of an experiment.
        by: labels that tell its points apart.
        way: the label, or labels, by which measures are joined: `"way"`, `["way", "queue"]`.
        measure: what is measured, one column or several.
        numbers: of the measures by way, `mbps["DC"]` (of several labels `mbps["DC", 50]`, of
            several measures `known["goodput_mbps", "DC"]`), to columns by name.
    """
    ways = [way] if isinstance(way, str) else list(way)
    values = measure if isinstance(measure, str) else list(measure)
    wide = runs[ok(runs)].pivot_table(index=[*by, "seed"], columns=ways, values=values)
    medians = wide.groupby(level=list(range(len(by))), sort=False).median()
    seeds = [part.droplevel("seed") for _, part in wide.groupby(level="seed")]
    with_runs = len(runs.groupby(list(by), dropna=False))
    return Points(_made(medians, numbers), tuple(_made(part, numbers) for part in seeds), with_runs)


def _made(wide: pd.DataFrame, numbers: Callable[[Known], Mapping[str, Any]]) -> pd.DataFrame:
    none = pd.Series(math.nan, wide.index)
    known = defaultdict(lambda: none, {name: wide[name] for name in wide})
    return pd.DataFrame(dict(numbers(known)), index=wide.index, dtype=float)


@dataclass(frozen=True)
class Claim:
    """A statement that a number is within limits, and, once it is judged, what runs say of it."""

    text: str
    source: str = ""
    """Where it was published, and the number there."""
    least: float = -math.inf
    most: float = math.inf
    value: float = math.nan
    """The number; NaN: no point has what it needs."""
    interval: Interval = NONE
    points: int = 0
    runs: int = 1
    """The most seeds of a point."""
    points_run: int = 0
    """The number of points that have a run; those beyond `points` lack one that is ok."""

    @property
    def verdict(self) -> str:
        """Return the verdict, one of `VERDICTS`."""
        if not self.points:
            return "not run"
        if self.points < 2 and self.runs < 2:
            return "not enough evidence"
        low, high = self.interval.low, self.interval.high
        if self.least <= low and high <= self.most:
            return "holds"
        return "does not hold" if high < self.least or low > self.most else "undecided"

    @property
    def limit(self) -> str:
        """Return the limits in words."""
        low, high = significant(self.least), significant(self.most)
        if self.most == math.inf:
            return f"at least {low}"
        return f"at most {high}" if self.least == -math.inf else f"{low} to {high}"

    @property
    def of_points(self) -> int | str:
        """Return the number of points, and where some are lost of how many: `17 of 18`."""
        lost = 0 < self.points < self.points_run
        return f"{self.points} of {self.points_run}" if lost else self.points

    @property
    def effect(self) -> str:
        """Return the number with its interval."""
        if not self.points:
            return ""
        middle, known = significant(self.value), math.isfinite(self.interval.low)
        if self.interval.method == UNIVERSAL or not known:
            return middle
        if self.runs > 1 and math.isclose(self.interval.low, self.interval.high, rel_tol=1e-9):
            return f"{middle} (no scatter)"
        return f"{middle} ({significant(self.interval.low)} to {significant(self.interval.high)})"

    def number(self, function: Callable[..., Any], of: Points, *names: str) -> Claim:
        """Judge a number that a function makes of columns over points.

        Args:
            function: of as many arrays over points as there are names, to a number.
            of: the points; those that lack one of the numbers do not count.
            names: the columns.
        """
        known = of.known(*names)
        if known.empty:
            return self
        parts = [part.reindex(index=known.index, columns=known.columns) for part in of.by_seed]
        by_seed = np.stack([part.to_numpy(dtype=float).T for part in parts], axis=1)
        whole = known.to_numpy(dtype=float).T[:, np.newaxis, :]
        # By column, seed and point; a point without any of a column has its median.
        columns = np.where(np.isnan(by_seed).all(axis=1, keepdims=True), whole, by_seed)
        middle = float(function(*columns_of(known)))
        if len(known) > 1:
            interval = bootstrap_interval(columns, function)
        else:
            alone = (float(function(*columns[:, seed, :])) for seed in range(columns.shape[1]))
            interval = mean_interval([one for one in alone if math.isfinite(one)], about=middle)
        return replace(self._judged(middle, interval, known, of), runs=columns.shape[1])

    def share(self, condition: Callable[..., Any], of: Points, *names: str) -> Claim:
        """Judge the share of points at which a condition on columns holds."""
        known = of.known(*names)
        part = Proportion(int(np.sum(condition(*columns_of(known)))), len(known))
        interval = Interval(part.low, part.high, "Wilson over points")
        return self._judged(part.share, interval, known, of)

    def every(self, of: Points, name: str) -> Claim:
        """Judge whether a column is within its limit at every point; its value is the worst one."""
        known = of.known(name)
        worst = float(known[name].max() if self.least == -math.inf else known[name].min())
        return self._judged(worst, Interval(worst, worst, UNIVERSAL), known, of)

    def _judged(self, value: float, interval: Interval, known: pd.DataFrame, of: Points) -> Claim:
        found = replace(self, value=value, interval=interval)
        return replace(found, points=len(known), points_run=of.run) if len(known) else self


def statements(file: Path) -> dict[str, Claim]:
    """Read the claims of a CSV file with the columns `key`, `claim`, `source`, `least`, `most`.

    They are by their keys; an empty limit is none.
    """
    table = pd.read_csv(file, index_col="key").rename(columns={"claim": "text"})
    empty = {"source": "", "least": -math.inf, "most": math.inf}
    rows: Any = table.fillna(empty).to_dict("index")
    return {str(key): Claim(**row) for key, row in rows.items()}


def table(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return a row a claim: the statement, where it is from, the number, and the verdict."""
    rows = [
        (claim.text, claim.source, claim.limit, claim.effect, claim.of_points, claim.verdict)
        for claim in claims
    ]
    return pd.DataFrame(rows, columns=["claim", "source", "limit", "runs say", "points", "verdict"])


def columns_of(table: pd.DataFrame) -> list[npt.NDArray[np.float64]]:
    """Return the columns of a table as arrays."""
    return [table[name].to_numpy(dtype=float) for name in table]


def summary(tables: Iterable[pd.DataFrame]) -> str:
    """Return a sentence on the verdicts in tables of claims."""
    counts = Counter(verdict for table in tables for verdict in table["verdict"])
    parts = [f"{counts[name]} {words}" for name, words in VERDICTS.items() if counts[name]]
    return f"Of {sum(counts.values())} claims {', '.join(parts)}."
