"""The verdict of a comparison of goodput, in sentences (`pairs` says which rows they are about).

Rules:

* Only rows of one stack are compared. The caller says which transports are of one stack.
* Runs of one seed meet the same losses and jitter: they are a pair. The ratio of two rows is the
  geometric mean over pairs, with Student's 95 % interval of the logarithms.
* One pair has no interval, and its sentence says so.
* The reason is the number by which the slower run of the first pair differs most from the faster
  one (`minitopo_dc.results.measures.signs`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.numbers import for_json
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.measures.pairs import MULTIPATH, Pair, pairs
from minitopo_dc.results.measures.sentences import Ratio, difference_sentence, reason_sentence
from minitopo_dc.results.measures.signs import REASONS, signs, strongest_sign
from minitopo_dc.statistics import mean_interval


@dataclass(frozen=True)
class Finding:
    """Two rows of one stack, compared with each other."""

    stack: str
    first: str
    second: str
    """The names of the rows: `DC (least-delay)`, `MP-QUIC`, `one leg alone`."""
    first_mbps: float
    second_mbps: float
    """Their mean goodputs over pairs."""
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
    several: bool = False
    """Whether transports of other stacks are compared as well."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        return for_json({**asdict(self), "sentence": self.sentence})

    @property
    def sentence(self) -> str:
        """Return what was found and how sure it is, and in a second sentence why."""
        names = self.first, self.second
        what = difference_sentence(
            names, (self.first_mbps, self.second_mbps), "Mbit/s", self._ratio
        )
        before = f"{'Warning: ' if self.warning else ''}{f'{self.stack}: ' if self.several else ''}"
        if not self.why or not (self._ratio.is_clear or self.pairs == 1):
            return before + what
        slower = self.first if self.ratio < 1 else self.second
        why = reason_sentence(slower, self.sign, self.sign_slower, self.sign_faster)
        return f"{before}{what} {why}"

    @property
    def _ratio(self) -> Ratio:
        return Ratio(self.ratio, self.low, self.high, self.pairs, self.seeds)

    @property
    def is_slower(self) -> bool:
        """Return whether the first row is slower, clearly so where there is an interval."""
        return self._ratio.is_seen and self.ratio < 1 and not self.high >= 1


def findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[Finding]:
    """Compare rows of runs (`load_results`) that have a goodput, by the pairs of `pairs`.

    Those of Dual Connectivity with multipath come first.

    Args:
        results: runs of one comparison.
        stacks: the stack of each transport; other transports are left out.
    """
    ok = results[(results["status"] == "ok") & results["goodput_mbps"].notna()]
    seeds = results["seed"].nunique()
    made = [
        finding
        for stack, runs in by_stack(ok, stacks)
        for pair in pairs(runs, _mean_goodput)
        for finding in _compared(stack, pair, seeds)
    ]
    several = len({stacks[name] for name in results["transport"] if stacks.get(name)}) > 1
    first = sorted(made, key=lambda finding: finding.second not in MULTIPATH)
    return [replace(finding, several=several) for finding in first]


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
        first_mbps=float(runs["goodput_mbps_x"].mean()),
        second_mbps=float(runs["goodput_mbps_y"].mean()),
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
