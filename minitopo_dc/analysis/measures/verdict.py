"""What a comparison says: Dual Connectivity against multipath and against one leg, in sentences.

Rules:

* Only rows of one stack are set against each other. Which transports are of one, whoever asks says.
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
from minitopo_dc.analysis.measures.signs import reason, signs
from minitopo_dc.analysis.statistics import mean_interval

WORDS = {"dc": "DC", "multipath": "multipath", "sc": "one leg alone"}
Rows = dict[str, pd.DataFrame]
"""Runs that are ok by the name of their row."""


@dataclass(frozen=True)
class Finding:
    """Two rows of one stack against each other."""

    stack: str
    first: str
    second: str
    """Names of the rows: `DC (least-delay)`, `multipath`, `one leg alone`."""
    ratio: float
    """Of their goodputs, first to second: the geometric mean over pairs."""
    low: float
    high: float
    """Of the 95 % interval; NaN of one pair."""
    pairs: int
    """How many seeds both rows have a run of."""
    why: str
    """What held the slower one back; empty: no counter tells."""
    warning: bool = False
    """Dual Connectivity is slower than one leg alone."""

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for an interval that there is not."""
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
            interval = "one seed, so no interval"
        else:
            interval = f"95 % interval {self.low:.3g} to {self.high:.3g}, {self.pairs} seeds"
        words = f"{self.stack}: {self.first} has {against} ({interval}): {self._who}"
        because = f"; the slower one: {self.why}" if self.why else ""
        return f"{'Warning: ' if self.warning else ''}{words}{because}."

    @property
    def _who(self) -> str:
        if self.pairs == 1:
            return "more seeds would tell whether they differ"
        if self.low > 1:
            return f"{self.first} is faster"
        if self.high < 1:
            return f"{self.second} is faster"
        return "no clear difference"


def findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[Finding]:
    """Compare rows of runs (`load_results`) that have a goodput.

    Of each stack the fastest row of Dual Connectivity is set against the fastest multipath, and
    each row of Dual Connectivity that is slower than one leg alone against that.

    Args:
        results: runs of one comparison.
        stacks: of each transport its stack; another transport is left out.
    """
    ok = results[(results["status"] == "ok") & results["goodput_mbps"].notna()]
    of = ok["transport"].map(lambda name: stacks.get(name, ""))
    return [
        finding
        for stack, runs in ok.groupby(of, sort=False)
        if stack
        for finding in _of_stack(str(stack), runs)
    ]


def _of_stack(stack: str, runs: pd.DataFrame) -> Iterator[Finding]:
    dual, several, alone = (_rows(runs[runs["mode"] == mode], mode) for mode in WORDS)
    if dual and several:
        yield from _compared(stack, _fastest(dual), _fastest(several))
    for row in dual.items() if alone else ():
        yield from _compared(stack, row, _fastest(alone), warning=True)


def _rows(runs: pd.DataFrame, mode: str) -> Rows:
    return {
        f"{WORDS[mode]} ({variant})" if variant else WORDS[mode]: runs[runs["variant"] == variant]
        for variant in runs["variant"].unique()
    }


def _fastest(rows: Rows) -> tuple[str, pd.DataFrame]:
    return max(rows.items(), key=lambda row: float(row[1]["goodput_mbps"].mean()))


def _compared(
    stack: str,
    first: tuple[str, pd.DataFrame],
    second: tuple[str, pd.DataFrame],
    *,
    warning: bool = False,
) -> Iterator[Finding]:
    """Compare two rows by their pairs; nothing without a seed in common, or to be warned of."""
    columns = ["seed", "goodput_mbps", "directory"]
    pairs = first[1][columns].merge(second[1][columns], on="seed")
    if pairs.empty:
        return
    logs = [
        math.log(mine / theirs)
        for mine, theirs in zip(pairs["goodput_mbps_x"], pairs["goodput_mbps_y"], strict=True)
    ]
    middle, interval = sum(logs) / len(logs), mean_interval(logs)
    if warning and (middle >= 0 or interval.high >= 0):
        return
    directories = [Path(pairs[name].iloc[0]) for name in ("directory_x", "directory_y")]
    slower, faster = directories if middle < 0 else reversed(directories)
    yield Finding(
        stack=stack,
        first=first[0],
        second=second[0],
        ratio=math.exp(middle),
        low=math.exp(interval.low),
        high=math.exp(interval.high),
        pairs=len(logs),
        why=_why(slower, faster),
        warning=warning,
    )


def _why(slower: Path, faster: Path) -> str:
    """Say what held a run back; nothing where its files do not tell."""
    try:
        return reason(signs(slower), signs(faster))
    except (ResultError, OSError, ValueError):
        return ""
