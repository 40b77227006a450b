"""Statements of our own about points: an effect, its 95 % interval, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd
from ratios import Ratios

from minitopo_dc.statistics import Proportion, mean_interval


class Claim(NamedTuple):
    """A statement that an effect is at most, or at least, a limit."""

    claim: str
    limit: str
    verdict: str
    effect: float
    low: float
    high: float
    points: int


def mean(claim: str, values: Ratios, *, most: float | None = None, least: float = 0) -> Claim:
    """Return a claim about the mean over points, with Student's interval."""
    known = values.dropna().tolist()
    ends = mean_interval(known)
    effect = sum(known) / len(known) if known else math.nan
    return Claim(claim, *_judged(ends.low, ends.high, most, least), effect, ends.low, ends.high,
                 len(known))  # fmt: skip


def share(
    claim: str, yes: pd.Series[bool], *, most: float | None = None, least: float = 0
) -> Claim:
    """Return a claim about the share of points at which something is so (Wilson's interval)."""
    part = Proportion(int(yes.sum()), len(yes))
    return Claim(claim, *_judged(part.low, part.high, most, least), part.share, part.low,
                 part.high, len(yes))  # fmt: skip


def _judged(low: float, high: float, most: float | None, least: float) -> tuple[str, str]:
    """Return the limit, and the verdict: undecided where it is within the interval, or unknown."""
    holds, fails = (low >= least, high < least) if most is None else (high <= most, low > most)
    verdict = "holds" if holds else "does not hold" if fails else "undecided"
    return (f"at least {least:g}" if most is None else f"at most {most:g}"), verdict


def table(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return the claims of a section."""
    return pd.DataFrame(claims, columns=Claim._fields)
