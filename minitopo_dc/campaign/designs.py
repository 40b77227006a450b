"""Designs: the points at which a campaign measures, many factors at once.

A factor has a range, `(low, high)` or `(low, high, "log")`, or a list of levels, each of which is
as frequent as the others. A point is a mapping of each factor to its value, with its number, from 1
on, as `point`:

    for point in sobol(512, {"rate_mbps": (4, 100, "log"), "loss_percent": [0, 0.1, 1]}):
        ...
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitopo_dc.errors import InputError

Factor = tuple[float, float] | tuple[float, float, str] | list[Any]
Point = dict[str, Any]
Shares = NDArray[np.float64]
"""A row for each point, of the share (0 to 1) of each factor's range."""
DIGITS = 6
"""Significant digits of a value: as fine as any field needs, and the same on every platform."""


def grid(**factors: Iterable[Any]) -> Iterator[Point]:
    """Yield each combination of the factors' values; the last factor varies fastest."""
    for values in itertools.product(*factors.values()):
        yield dict(zip(factors, values, strict=True))


def sobol(points: int, factors: Mapping[str, Factor], *, seed: int = 1) -> list[Point]:
    """Return a scrambled Sobol sequence; its first points are a design, too.

    Raises:
        InputError: no point or factor, or a factor has no such range.
    """
    from scipy.stats import qmc  # noqa: PLC0415 (a second that others need not wait)

    _check(points, factors)
    sequence = qmc.Sobol(len(factors), rng=np.random.default_rng(seed))
    # A power of 2 is drawn, at which a Sobol sequence is balanced; its beginning is taken.
    return _points(sequence.random_base2(math.ceil(math.log2(points)))[:points], factors)


def latin_hypercube(points: int, factors: Mapping[str, Factor], *, seed: int = 1) -> list[Point]:
    """Return a Latin hypercube; errors are those of `sobol`."""
    from scipy.stats import qmc  # noqa: PLC0415

    _check(points, factors)
    sampler = qmc.LatinHypercube(len(factors), rng=np.random.default_rng(seed))
    return _points(sampler.random(points), factors)


def spread(points: Sequence[Any], kept: int) -> list[Any]:
    """Return so many of the points, evenly chosen: for a quick version."""
    count = len(points)
    return [points[index * count // kept] for index in range(kept)] if kept < count else [*points]


def _check(points: int, factors: Mapping[str, Factor]) -> None:
    if points < 1 or not factors:
        count = f"{points} points, {len(factors)} factors"
        raise InputError(f"design: {count}; allowed: 1 or more of each")
    for name, factor in factors.items():
        if isinstance(factor, list):
            is_right = bool(factor)
        else:
            low, high, *scale = factor
            is_right = low < high and (scale in ([], ["linear"]) or (scale == ["log"] and low > 0))
        if not is_right:
            raise InputError(
                f"factor {name}: {factor}; allowed: (low, high) with low below high, (low, high, "
                '"log") with low above 0, or a list of one level or more'
            )


def _points(shares: Shares, factors: Mapping[str, Factor]) -> list[Point]:
    def value_at(share: float, factor: Factor) -> Any:
        if isinstance(factor, list):
            return factor[min(int(share * len(factor)), len(factor) - 1)]
        low, high, *scale = factor
        exact = low * (high / low) ** share if scale == ["log"] else low + (high - low) * share
        return float(f"{exact:.{DIGITS}g}")

    return [
        {"point": number} | dict(zip(factors, map(value_at, row, factors.values()), strict=True))
        for number, row in enumerate(shares.tolist(), start=1)
    ]
