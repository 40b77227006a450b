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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from minitopo_dc.errors import InputError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import naming, opened

Factor = tuple[float, float] | tuple[float, float, str] | list[Any]
Point = dict[str, Any]
Shares = NDArray[np.float64]
"""A row for each point, of the share (0 to 1) of each factor's range."""
MAX_BYTES = 100_000_000
"""The most bytes of a file of points: far above 10,000 points of a thousand factors."""
DIGITS = 6
"""Significant digits of a value: as fine as any field needs, and the same on every platform."""
CANDIDATES_PER_POINT = 40
"""10,000 candidates of eight dimensions leave 257 points at the least distance of the design in
"Multipath QUIC: Design and Evaluation", which has 253 (reference/mpquic_design_findings.csv)."""
_HALVINGS = 12
"""Halvings of the interval that holds WSP's distance, until it is below the scatter of how many
points it leaves."""
_STEP, _STEPS = 5e-4, 20
"""Relative steps of the search below the distance; each changes the number of points by a few."""


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


def wsp(points: int, factors: Mapping[str, Factor], *, seed: int = 1) -> list[Point]:
    """Return points of which none is near another; errors are those of `sobol`.

    Wootton, Sergent and Phan-Tan-Luu's selection, as described by Santiago, Claeys-Bruno and
    Sergent, "Construction of space-filling designs using WSP algorithm for high dimensional
    spaces", Chemometrics and Intelligent Laboratory Systems 113 (2012).
    """
    _check(points, factors)
    return _points(_wsp(points, len(factors), seed), factors)


@cache
def _wsp(points: int, dimensions: int, seed: int) -> Shares:
    """Return points of the unit cube in the order in which they are kept, of random candidates.

    How many points a distance leaves scatters: a distance is searched that leaves as many as are
    asked for, or a few more; then the later one of the two points nearest to each other is removed
    until the number is right.
    """
    cloud = np.random.default_rng(seed).random((CANDIDATES_PER_POINT * points, dimensions))
    least, most = 0.0, math.sqrt(dimensions)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        too_few = len(_apart(cloud, middle)) < points
        least, most = (least, middle) if too_few else (middle, most)
    choices = (_apart(cloud, least / (1 + step * _STEP)) for step in range(_STEPS))
    kept = cloud[min((rows for rows in choices if len(rows) >= points), key=len)]
    while len(kept) > points:
        squared = ((kept[:, None] - kept[None]) ** 2).sum(axis=2)
        squared[np.tril_indices(len(kept))] = np.inf
        kept = np.delete(kept, np.unravel_index(np.argmin(squared), squared.shape)[1], axis=0)
    return kept


def _apart(cloud: Shares, distance: float) -> list[int]:
    """Return the rows that are kept: the one nearest to the centre, then the one nearest to it, ...

    Those nearer to a kept one than the distance are dropped.
    """
    left = np.arange(len(cloud))
    squared = ((cloud - 0.5) ** 2).sum(axis=1)
    kept: list[int] = []
    while len(left):
        nearest = int(np.argmin(squared))
        kept.append(int(left[nearest]))
        squared = ((cloud[left] - cloud[kept[-1]]) ** 2).sum(axis=1)
        far = squared >= distance**2
        far[nearest] = False  # also at a distance of 0
        left, squared = left[far], squared[far]
    return kept


def points_of(
    file: str | Path,
    columns: Mapping[str, tuple[str, float, float]],
    *,
    where: Mapping[str, str] | None = None,
) -> list[Point]:
    """Return the points of a CSV file with a header.

    Args:
        file: its path.
        columns: for each factor the name of its column and the least and most value allowed there.
        where: only rows whose column is this text.

    Raises:
        InputError: the file has no such columns or rows, or a value is out of range; the message
            has file, line and column.
    """
    chosen = dict(where or {})
    with naming(Path(file)):
        with opened(Path(file), MAX_BYTES) as content:
            table = pd.read_csv(content, dtype=str, skipinitialspace=True)
        for name in (*(column for column, *_ in columns.values()), *chosen):
            if name not in table:
                raise ValueError(f"no column {name}; has {', '.join(map(str, table))}")
        rows = table[(table[list(chosen)] == pd.Series(chosen)).all(axis=1)]
        if rows.empty:
            raise ValueError(f"no rows with {chosen}" if chosen else "no rows")
        values = [_numbers(rows, *column) for column in columns.values()]
    return [
        {"point": number, **dict(zip(columns, row, strict=True))}
        for number, row in enumerate(zip(*values, strict=True), start=1)
    ]


def _numbers(rows: pd.DataFrame, name: str, low: float, high: float) -> list[float]:
    numbers = pd.to_numeric(rows[name], errors="coerce")
    wrong = rows.index[~numbers.between(low, high)]
    if len(wrong):
        raise ValueError(
            f"line {wrong[0] + 2}, column {name}: {quoted(rows.loc[wrong[0], name])}; allowed: "
            f"numbers from {low:g} to {high:g}"
        )
    return [float(number) for number in numbers]


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
