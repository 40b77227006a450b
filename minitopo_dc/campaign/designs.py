"""Space-filling designs, for campaigns in which many factors matter at once.

A factor has a range, `(low, high)` or `(low, high, "log")`, or a list of levels, each of which is
as frequent as the others. A point is a mapping of each factor to its value, with its number, from 1
on, as `point`:

    for point in sobol(512, {"rate_mbps": (4, 100, "log"), "loss_percent": [0, 0.1, 1]}):
        ...
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minitopo_dc.campaign import wsp as by_wsp
from minitopo_dc.errors import InputError
from minitopo_dc.files import read_text
from minitopo_dc.numbers import real
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
    try:
        table = csv.DictReader(read_text(Path(file), MAX_BYTES).splitlines(), strict=True)
        rows = [(table.line_num, row) for row in table if _is_kept(row, where or {})]
        if not rows:
            raise ValueError(f"no rows{' with ' if where else ''}{quoted(where or '')}")
        return [
            {"point": number}
            | {name: _number(line, row, *column) for name, column in columns.items()}
            for number, (line, row) in enumerate(rows, start=1)
        ]
    except (OSError, ValueError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{quoted(file)}: {why}") from None


def _is_kept(row: Mapping[str, str], where: Mapping[str, str]) -> bool:
    return all(_text(1, row, name) == value for name, value in where.items())


def _number(line: int, row: Mapping[str, str], name: str, low: float, high: float) -> float:
    text = _text(line, row, name)
    try:
        number = real(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ValueError(
            f"line {line}, column {name}: {quoted(text) or 'nothing'}; allowed: numbers from "
            f"{low:g} to {high:g}"
        )
    return number


def _text(line: int, row: Mapping[str, str], name: str) -> str:
    if name not in row:
        raise ValueError(f"no column {name}; has {', '.join(map(str, row))}")
    if None in row or None in row.values():
        raise ValueError(f"line {line}: more or fewer values than line 1")
    return row[name].strip()


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
