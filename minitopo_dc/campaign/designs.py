"""Space-filling designs, for campaigns in which many factors matter at once.

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
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from minitopo_dc.campaign import wsp as by_wsp
from minitopo_dc.errors import InputError
from minitopo_dc.files import opened
from minitopo_dc.settings.base import quoted

Factor = tuple[float, float] | tuple[float, float, str] | list[Any]
Point = dict[str, Any]
Shares = NDArray[np.float64]
"""A row for each point, of the share (0 to 1) of each factor's range."""
T = TypeVar("T")
MAX_BYTES = 100_000_000
"""The most bytes of a file of points: far above 10,000 points of a thousand factors."""
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
    return _points(_sobol(points, len(factors), seed), factors)


def latin_hypercube(points: int, factors: Mapping[str, Factor], *, seed: int = 1) -> list[Point]:
    """Return a Latin hypercube; errors are those of `sobol`."""
    return _points(_latin_hypercube(points, len(factors), seed), factors)


def wsp(
    points: int, factors: Mapping[str, Factor], *, seed: int = 1, candidates: int | None = None
) -> list[Point]:
    """Return points of which none is near another (`campaign.wsp`).

    Args:
        points: their number.
        factors: their ranges.
        seed: of the candidates.
        candidates: random points of which the design is chosen; None: 40 per point.

    Raises:
        InputError: as `sobol`, or fewer candidates than points.
    """
    try:
        shares = by_wsp.wsp(points, len(factors), seed=seed, candidates=candidates)
    except ValueError as error:
        raise InputError(f"wsp: {error}") from None
    return _points(shares, factors)


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
    path, chosen = Path(file), dict(where or {})
    try:
        with opened(path, MAX_BYTES) as content:
            table = pd.read_csv(content, dtype=str, skipinitialspace=True)
        for name in (*(column for column, *_ in columns.values()), *chosen):
            if name not in table:
                raise ValueError(f"no column {name}; has {', '.join(map(str, table))}")
        rows = table[(table[list(chosen)] == pd.Series(chosen)).all(axis=1)]
        if rows.empty:
            raise ValueError(f"no rows with {chosen}" if chosen else "no rows")
        values = {name: _numbers(rows, *column) for name, column in columns.items()}
    except (OSError, ValueError) as error:
        raise InputError(f"{quoted(path)}: {getattr(error, 'strerror', None) or error}") from None
    made = (dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True))
    return [{"point": number, **point} for number, point in enumerate(made, start=1)]


def _numbers(rows: pd.DataFrame, name: str, low: float, high: float) -> list[float]:
    numbers = pd.to_numeric(rows[name], errors="coerce")
    wrong = rows.index[~numbers.between(low, high)]
    if len(wrong):
        raise ValueError(
            f"line {wrong[0] + 2}, column {name}: {quoted(rows.loc[wrong[0], name])}; allowed: "
            f"numbers from {low:g} to {high:g}"
        )
    return [float(number) for number in numbers]


def spread(points: Sequence[T], kept: int) -> list[T]:
    """Return so many of the points, evenly chosen: for a quick version."""
    count = len(points)
    return [points[index * count // kept] for index in range(kept)] if kept < count else [*points]


def shares(method: str, points: int, dimensions: int, seed: int) -> Shares:
    """Return points in the unit cube by `sobol` or `latin-hypercube`."""
    made = _latin_hypercube if method == "latin-hypercube" else _sobol
    return made(points, dimensions, seed)


def _sobol(points: int, dimensions: int, seed: int) -> Shares:
    from scipy.stats import qmc  # noqa: PLC0415 (a second that others need not wait)

    _check_size(points, dimensions)
    sequence = qmc.Sobol(dimensions, rng=np.random.default_rng(seed))
    # A power of 2 is drawn, at which a Sobol sequence is balanced; its beginning is taken.
    return np.asarray(sequence.random_base2(math.ceil(math.log2(points)))[:points], dtype=float)


def _latin_hypercube(points: int, dimensions: int, seed: int) -> Shares:
    from scipy.stats import qmc  # noqa: PLC0415

    _check_size(points, dimensions)
    sampler = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed))
    return np.asarray(sampler.random(points), dtype=float)


def _check_size(points: int, dimensions: int) -> None:
    if points < 1 or dimensions < 1:
        raise InputError(
            f"design: {points} points, {dimensions} factors; allowed: 1 or more of each"
        )


def _points(rows: Shares, factors: Mapping[str, Factor]) -> list[Point]:
    for name, factor in factors.items():
        _check_factor(name, factor)
    return [
        {
            "point": number,
            **{
                name: value_at(float(share), factor)
                for share, (name, factor) in zip(row, factors.items(), strict=True)
            },
        }
        for number, row in enumerate(rows, start=1)
    ]


def _check_factor(name: str, factor: Factor) -> None:
    if isinstance(factor, list):
        if not factor:
            raise InputError(f"factor {name}: no levels; allowed: one or more")
        return
    low, high, *scale = factor
    if not low < high or scale not in ([], ["linear"], ["log"]) or (scale == ["log"] and low <= 0):
        raise InputError(
            f"factor {name}: {factor}; allowed: (low, high) with low below high, (low, high, "
            '"log") with low above 0, or a list of levels'
        )


def value_at(share: float, factor: Factor) -> Any:
    """Return a factor's value at a share, 0 to 1, of its range."""
    if isinstance(factor, list):
        return factor[min(int(share * len(factor)), len(factor) - 1)]
    low, high, *scale = factor
    exact = low * (high / low) ** share if scale == ["log"] else low + (high - low) * share
    return float(f"{exact:.{DIGITS}g}")
