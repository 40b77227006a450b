"""The verdict of a comparison of goodput, in sentences (`pairs` says which rows they are about).

Rules:

* Only rows of one stack are compared. The caller says which transports are of one stack.
* Runs of one seed meet the same losses and jitter: they are a pair. The ratio of two rows is the
  geometric mean over pairs, with Student's 95 % interval of the logarithms.
* One pair has no interval, and its sentence says so.
* The reason is the strongest sign by which the slower run of the first pair differs from the faster
  one (`minitopo_dc.analysis.measures.signs`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.measures.pairs import Pair, pairs
from minitopo_dc.analysis.measures.signs import REASONS, signs, strongest_sign
from minitopo_dc.statistics import mean_interval


def sign_values(sign: str, worse: float, better_row: str, better: float) -> str:
    """Return a sign with its values and where it is explained, to stand in parentheses.

    Args:
        sign: its name in docs/results.md.
        worse: its value in the run that it holds back.
        better_row: the name of the other run's row.
        better: its value in the other run; NaN: it has none.
    """
    other = "" if math.isnan(better) else f", {better_row} {better:.2g}"
    return f"sign `{sign}`: {worse:.2g}{other}; docs/results.md"


@dataclass(frozen=True)
class Finding:
    """Two rows of one stack, compared with each other."""

    stack: str
    first: str
    second: str
    """The names of the rows: `DC (least-delay)`, `multipath`, `one leg alone`."""
    ratio: float
    """The ratio of their goodputs, first to second: the geometric mean over pairs."""
    low: float
    high: float
    """The upper end of the 95 % interval; NaN of one pair."""
    pairs: int
    """The number of seeds of which both rows have a run."""
    seeds: int
    """The number of seeds that were asked for: with more than `pairs`, runs are not ok."""
    why: str
    """The reason why the slower one was slower; empty: no counter tells."""
    sign: str = ""
    """The sign that is the reason (docs/results.md)."""
    sign_slower: float = math.nan
    sign_faster: float = math.nan
    """Its values in the slower and in the faster run of the first pair; NaN: not recorded."""
    warning: bool = False
    """Whether it warns that Dual Connectivity is slower than one leg alone."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        values = {**asdict(self), "sentence": self.sentence}
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in values.items()
        }

    @property
    def sentence(self) -> str:
        """Return what was found, in one sentence."""
        against = f"{self.ratio:.3g} times the goodput of {self.second}"
        if self.pairs == 1:
            interval = f"{seeds_text(1, self.seeds)}, so no interval"
        elif math.isclose(self.low, self.high, rel_tol=1e-9):
            seeds = seeds_text(self.pairs, self.seeds)
            interval = f"{seeds} with the same ratio, so no interval"
        else:
            interval = f"95 % interval {self.low:.3g} to {self.high:.3g}, "
            interval += seeds_text(self.pairs, self.seeds)
        words = f"{self.stack}: {self.first} has {against} ({interval}): {self._conclusion}"
        return f"{'Warning: ' if self.warning else ''}{words}{self._reason_clause}."

    @property
    def _reason_clause(self) -> str:
        if not self.why:
            return ""
        slower, faster = (self.first, self.second)[:: 1 if self.ratio < 1 else -1]
        values = sign_values(self.sign, self.sign_slower, faster, self.sign_faster)
        was = "is slower" if self._is_clear else "was slower with the first seed"
        return f"; {slower} {was} because {self.why} ({values})"

    @property
    def _conclusion(self) -> str:
        if self.pairs == 1:
            return "more seeds would tell whether they differ"
        if not self._is_clear:
            return "no clear difference"
        return f"{self.first if self.ratio > 1 else self.second} is faster"

    @property
    def is_slower(self) -> bool:
        """Return whether the first row is slower, clearly so where there is an interval."""
        return self._is_seen and self.ratio < 1 and not self.high >= 1

    @property
    def _is_clear(self) -> bool:
        """Return whether they differ; one pair never tells."""
        return self._is_seen and (self.low > 1 or self.high < 1)

    @property
    def _is_seen(self) -> bool:
        """Return whether the ratio differs from 1 as it is printed, in three digits."""
        return f"{self.ratio:.3g}" != "1"


def seeds_text(pairs: int, seeds: int) -> str:
    """Return of how many of all seeds both rows have a run: `3 seeds`, `2 of 3 seeds`."""
    if pairs < seeds:
        return f"{pairs} of {seeds} seeds"
    return "one seed" if pairs == 1 else f"{pairs} seeds"


def findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[Finding]:
    """Compare rows of runs (`load_results`) that have a goodput, by the pairs of `pairs`.

    Args:
        results: runs of one comparison.
        stacks: the stack of each transport; other transports are left out.
    """
    ok = results[(results["status"] == "ok") & results["goodput_mbps"].notna()]
    seeds = results["seed"].nunique()
    return [
        finding
        for stack, runs in by_stack(ok, stacks)
        for pair in pairs(runs, _mean_goodput)
        for finding in _compared(stack, pair, seeds)
    ]


def by_stack(runs: pd.DataFrame, stacks: Mapping[str, str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each stack with its runs; those of transports without a stack are left out."""
    of = runs["transport"].map(lambda name: stacks.get(name, ""))
    yield from ((str(stack), part) for stack, part in runs.groupby(of, sort=False) if stack)


def _mean_goodput(runs: pd.DataFrame) -> float:
    return float(runs["goodput_mbps"].mean())


def _compared(stack: str, pair: Pair, seeds: int) -> Iterator[Finding]:
    """Compare two rows by their runs of one seed; yield nothing without a common seed.

    With `warning`, yield a finding only if the first row is clearly slower.
    """
    columns = ["seed", "goodput_mbps", "directory"]
    runs = pair.first[1][columns].merge(pair.second[1][columns], on="seed")
    if runs.empty:
        return
    logs = [
        math.log(mine / theirs)
        for mine, theirs in zip(runs["goodput_mbps_x"], runs["goodput_mbps_y"], strict=True)
    ]
    middle, interval = sum(logs) / len(logs), mean_interval(logs)
    directories = [Path(runs[name].iloc[0]) for name in ("directory_x", "directory_y")]
    slower, faster = directories if middle < 0 else reversed(directories)
    finding = Finding(
        stack=stack,
        first=pair.first[0],
        second=pair.second[0],
        ratio=math.exp(middle),
        low=math.exp(interval.low),
        high=math.exp(interval.high),
        pairs=len(logs),
        seeds=seeds,
        warning=pair.warning,
        **limiting_factor(slower, faster),
    )
    if not pair.warning or finding.is_slower:
        yield finding


def limiting_factor(slower: Path, faster: Path) -> dict[str, Any]:
    """Return what held a run back, as fields of a finding; empty where its files do not tell."""
    try:
        worse, better = signs(slower), signs(faster)
    except (ResultError, OSError, ValueError):
        return {"why": ""}
    if not (sign := strongest_sign(worse, better)):
        return {"why": ""}
    return {
        "why": REASONS[sign][1],
        "sign": sign,
        "sign_slower": getattr(worse, sign),
        "sign_faster": getattr(better, sign),
    }
