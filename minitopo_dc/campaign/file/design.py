"""Cells of an experiment from a space-filling design over ranges of factors."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from minitopo_dc.campaign.file.wsp import Points, wsp
from minitopo_dc.files import read_text
from minitopo_dc.numbers import real
from minitopo_dc.settings import Settings
from minitopo_dc.settings.ranges import MOST_SEED, within

Version = Literal["full", "quick", "sample"]
"""All of a campaign; all of its kinds of cells but less of each; a few cells that show its range,
e.g. to compare clocks."""
MOST_BYTES = 100_000_000
"""Of a file of points: far above `MOST_POINTS` of a thousand factors."""
MOST_POINTS, MOST_CANDIDATES = 10_000, 1_000_000
"""Limits that keep the making of a design to minutes."""
DesignPoints = Annotated[int, *within(1, MOST_POINTS)]
Candidates = Annotated[int, *within(1, MOST_CANDIDATES)]
DesignSeed = Annotated[int, *within(0, MOST_SEED)]
DIGITS = 6
"""Significant digits of a value: as fine as any field needs, and the same on every platform."""


class Range(Settings):
    """The values of a factor: an interval, or levels."""

    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log"] = "linear"
    levels: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    """In place of an interval; each is as frequent as the others."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """`[low, high]` or `[low, high, log]`."""
        if isinstance(value, list | tuple) and len(value) in (2, 3):
            return dict(zip(("low", "high", "scale"), value, strict=False))
        return value

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.levels is not None:
            if (self.low, self.high) != (None, None):
                raise ValueError("give low and high, or levels")
            return self
        if self.low is None or self.high is None or not self.low < self.high:
            raise ValueError("give [low, high] with low below high, or {levels: [...]}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError("low must be above 0 on a log scale")
        return self

    def value(self, share: float) -> Any:
        """What lies at a share, 0 to 1, of the range."""
        if self.levels is not None:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        assert self.low is not None
        assert self.high is not None
        if self.scale == "log":
            exact = self.low * (self.high / self.low) ** share
        else:
            exact = self.low + (self.high - self.low) * share
        return float(f"{exact:.{DIGITS}g}")


class Design(Settings):
    """Which points, and what they mean (docs/campaigns.md)."""

    method: Literal["wsp", "sobol", "latin-hypercube"] = "wsp"
    points: DesignPoints | None = None
    seed: DesignSeed = 1
    candidates: Candidates | None = None
    """Of wsp; none: 40 per point."""
    points_file: Path | None = None
    """A CSV with points of elsewhere in place of a method: a column per factor, 0 to 1."""
    factors: Annotated[dict[str, Range], Field(min_length=1)]
    """Name, a field or a label: its range."""
    quick: DesignPoints | None = None
    """How many of the points `--quick` keeps: evenly over their order, of Sobol's the first ones,
    which fill the space (each 8th one lies in an eighth of it)."""
    sample: DesignPoints | None = None

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if (self.points is None) == (self.points_file is None):
            raise ValueError("give points (how many) or points_file")
        if self.candidates is not None and self.method != "wsp":
            raise ValueError(f"candidates: only of method wsp, not of {self.method}")
        return self

    def cells(self, version: Version, directory: Path) -> Iterator[dict[str, Any]]:
        """The factors' values at each point, with its number from 1 as `label.point`.

        Args:
            version: what to keep of them.
            directory: where a relative `points_file` is.

        Raises:
            ValueError: the file is no such table, or the method cannot make so many points.
        """
        points = self._unit_points(directory)
        kept = {"full": None, "quick": self.quick, "sample": self.sample}[version]
        for index in self._kept(len(points), kept):
            shares = zip(self.factors.items(), points[index], strict=True)
            values = {name: each.value(float(share)) for (name, each), share in shares}
            yield {"label.point": index + 1, **values}

    def _kept(self, count: int, kept: int | None) -> Sequence[int]:
        if self.points_file is None and self.method == "sobol":
            return range(count if kept is None else min(kept, count))
        return _spread(count, kept)

    def _unit_points(self, directory: Path) -> Points:
        if self.points_file is not None:
            return read_points(directory / self.points_file, list(self.factors))
        assert self.points is not None
        dimensions = len(self.factors)
        if self.method == "wsp":
            return wsp(self.points, dimensions, seed=self.seed, candidates=self.candidates)
        return _sample(self.method, self.points, dimensions, self.seed)


def read_points(path: Path, names: list[str]) -> Points:
    """Points of elsewhere.

    Args:
        path: a CSV with a header, or without one if it has as many columns as names.
        names: of the columns, in the order of the result's.

    Raises:
        ValueError: it has not these columns, or a value is not between 0 and 1.
    """
    try:
        rows = [row for row in csv.reader(read_text(path, MOST_BYTES).splitlines()) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"points_file: {path}: {error}") from None
    places = range(len(names))
    if rows and not _is_share(rows[0][0]):
        header = [name.strip() for name in rows.pop(0)]
        missing = [name for name in names if name not in header]
        if missing:
            raise ValueError(f"points_file: {path}: no column {missing[0]}; has {header}")
        places = [header.index(name) for name in names]  # type: ignore[assignment]
    if not rows:
        raise ValueError(f"points_file: {path}: no points")
    return np.array([_shares(path, number, row, places) for number, row in enumerate(rows, 1)])


def _shares(path: Path, number: int, row: list[str], places: Any) -> list[float]:
    if len(row) <= max(places) or not all(_is_share(row[place]) for place in places):
        raise ValueError(f"points_file: {path}: point {number}: allowed are numbers from 0 to 1")
    return [real(row[place]) for place in places]


def _is_share(text: str) -> bool:
    try:
        return 0 <= real(text) <= 1
    except ValueError:
        return False


def _sample(method: str, points: int, dimensions: int, seed: int) -> Points:
    from scipy.stats import qmc  # noqa: PLC0415 (a second that other commands need not wait)

    if method == "latin-hypercube":
        sampler = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed))
        return np.asarray(sampler.random(points), dtype=float)
    scrambled = qmc.Sobol(dimensions, rng=np.random.default_rng(seed))
    # A whole power of 2 is drawn, as a Sobol sequence is balanced there; its beginning is taken.
    return np.asarray(scrambled.random_base2(math.ceil(math.log2(points)))[:points], dtype=float)


def _spread(count: int, kept: int | None) -> list[int]:
    """Indices of `kept` of `count`, evenly over them."""
    if kept is None or kept >= count:
        return list(range(count))
    return [index * count // kept for index in range(kept)]


def factor_names(design: Design | None) -> Mapping[str, None]:
    """What varies over a design, in order."""
    return {} if design is None else dict.fromkeys(("label.point", *design.factors))
