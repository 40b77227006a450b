"""A share of points with what it leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass

CONFIDENCE = 0.95
Z = 1.959964
"""Quantile of the normal distribution that goes with `CONFIDENCE`, on both sides."""


@dataclass(frozen=True)
class Proportion:
    """How many of some points, with Wilson's 95 % interval (JASA 22, 1927)."""

    count: float
    """Not whole where it is a mean over repetitions of a cross-validation."""
    points: int

    @property
    def share(self) -> float:
        """From 0 to 1; NaN without points."""
        return self.count / self.points if self.points else math.nan

    @property
    def low(self) -> float:
        """Lower end of the interval; 0 without points."""
        return self._end(-1)

    @property
    def high(self) -> float:
        """Upper end of the interval; 1 without points."""
        return self._end(1)

    def _end(self, side: int) -> float:
        if not self.points:
            return 0.0 if side < 0 else 1.0
        share, square = self.share, Z**2 / self.points
        reach = Z * math.sqrt(share * (1 - share) / self.points + square / self.points / 4)
        found = (share + square / 2 + side * reach) / (1 + square)
        return min(1.0, max(0.0, found))
