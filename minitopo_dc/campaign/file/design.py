"""Cells of an experiment from a space-filling design over ranges of factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from minitopo_dc.campaign.designs import shares, spread, value_at
from minitopo_dc.campaign.file.points_file import Column, read_points
from minitopo_dc.campaign.wsp import Points, wsp
from minitopo_dc.settings import Settings
from minitopo_dc.settings.ranges import MAX_SEED, within

Version = Literal["full", "quick", "sample"]
"""The versions of a campaign: all of it; all kinds of its cells but less of each; a few cells that
show its range, e.g. to compare clocks."""
MAX_POINTS, MAX_CANDIDATES = 10_000, 1_000_000
"""Limits that keep the making of a design to minutes."""
DesignPoints = Annotated[int, *within(1, MAX_POINTS)]
Candidates = Annotated[int, *within(1, MAX_CANDIDATES)]
DesignSeed = Annotated[int, *within(0, MAX_SEED)]


class Range(Settings):
    """The range of a factor's values: an interval, or levels."""

    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log"] = "linear"
    levels: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    """The levels, in place of an interval; each is as frequent as the others."""
    column: str | None = None
    """The column of a file of points that has the factor's own values."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """Accept the short forms `[low, high]` and `[low, high, log]`."""
        if isinstance(value, list | tuple) and len(value) in (2, 3):
            return dict(zip(("low", "high", "scale"), value, strict=False))
        return value

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.levels is not None:
            if (self.low, self.high, self.column) != (None, None, None):
                raise ValueError("give low and high, or levels; a column has low and high")
            return self
        if self.low is None or self.high is None or not self.low < self.high:
            raise ValueError("give [low, high] with low below high, or {levels: [...]}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError("low must be above 0 on a log scale")
        return self

    def value(self, share: float) -> Any:
        """Return the value at a share, 0 to 1, of the range."""
        if self.levels is not None:
            return value_at(share, [*self.levels])
        assert self.low is not None
        assert self.high is not None
        return value_at(share, (self.low, self.high, self.scale))

    def of_file(self, name: str) -> Column:
        """Where its numbers stand in a file of points: values, or shares of the range."""
        if self.column is None:
            return Column(name, 0, 1)
        assert self.low is not None
        assert self.high is not None
        return Column(self.column, self.low, self.high)


class Design(Settings):
    """The points of a space-filling design, and the factors that they set.

    docs/campaign-file.md describes them.
    """

    method: Literal["wsp", "sobol", "latin-hypercube"] = "wsp"
    points: DesignPoints | None = None
    seed: DesignSeed = 1
    candidates: Candidates | None = None
    """The candidates of wsp; none: 40 per point."""
    points_file: Path | None = None
    """A CSV file with points, in place of a method."""
    where: dict[str, str] = Field(default_factory=dict)
    """The rows of the file that are points: those whose column is this text."""
    factors: Annotated[dict[str, Range], Field(min_length=1)]
    """The range of each factor, which is a field or a label."""
    quick: DesignPoints | None = None
    """How many of the points `--quick` keeps: evenly over their order, of Sobol's the first ones,
    which fill the space (each 8th one lies in an eighth of it)."""
    sample: DesignPoints | None = None

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if (self.points is None) == (self.points_file is None):
            raise ValueError("give points (how many) or points_file")
        columns = [name for name, each in self.factors.items() if each.column is not None]
        if self.points_file is None and (self.where or columns):
            raise ValueError(f"{columns[0] if columns else 'where'}: only of a points_file")
        if self.candidates is not None and self.method != "wsp":
            raise ValueError(f"candidates: only of method wsp, not of {self.method}")
        return self

    def cells(self, version: Version, directory: Path) -> Iterator[dict[str, Any]]:
        """Yield the factors' values at each point, with its number from 1 as `label.point`.

        Args:
            version: which of the points to keep.
            directory: where a relative `points_file` is.

        Raises:
            ValueError: the file is no such table, or the method cannot make so many points.
        """
        points = self._points(directory)
        kept = {"full": None, "quick": self.quick, "sample": self.sample}[version]
        for index in self._kept(len(points), kept):
            numbers = zip(self.factors.items(), map(float, points[index]), strict=True)
            values = {
                name: each.value(number) if each.column is None else number
                for (name, each), number in numbers
            }
            yield {"label.point": index + 1, **values}

    def _kept(self, count: int, kept: int | None) -> Sequence[int]:
        if self.points_file is None and self.method == "sobol":
            return range(count if kept is None else min(kept, count))
        return spread(range(count), count if kept is None else kept)

    def _points(self, directory: Path) -> Points:
        """Return a row for each point: shares of ranges, or of a factor with a column values."""
        if self.points_file is not None:
            columns = [each.of_file(name) for name, each in self.factors.items()]
            return read_points(directory / self.points_file, columns, self.where)
        assert self.points is not None
        dimensions = len(self.factors)
        if self.method == "wsp":
            return wsp(self.points, dimensions, seed=self.seed, candidates=self.candidates)
        return shares(self.method, self.points, dimensions, self.seed)


def factor_names(design: Design | None) -> Mapping[str, None]:
    """Return the names of what varies over a design, in order."""
    return {} if design is None else dict.fromkeys(("label.point", *design.factors))
