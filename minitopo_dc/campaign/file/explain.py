"""What a campaign's file asks about an experiment's points: `explain` (docs/campaigns.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from minitopo_dc.settings import Settings

Limits = Annotated[tuple[float, ...], Field(max_length=5)]


class Explain(Settings):
    """Where does a measure reach a limit, and which factors decide it?"""

    measure: str
    """One of `joined`."""
    at_least: float | None = None
    at_most: float | None = None
    """In place of it, where less is better."""
    text: str
    """What is so where the measure reaches the limit."""
    label: str = ""
    """In figures; none: the text."""
    then: str = "yes"
    """The verdict where it is so, in a word."""
    otherwise: str = "no"
    limits: Limits = ()
    """Others, whose results are shown beside it: how much hangs on the limit."""
    factors: tuple[str, ...] = ()
    """Those that may explain it, also columns of `joined`; none: all that vary."""
    tested_on: str = ""
    """An experiment of other points with the same measure; none: no such test."""
    runs: tuple[str, ...] = ()
    """Configurations whose time series show why, at single points."""

    @model_validator(mode="after")
    def _verdicts_differ(self) -> Self:
        if self.then == self.otherwise:
            raise ValueError(f"then and otherwise are both {self.then}")
        return self

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give at_least or at_most")
        return self

    @property
    def limit(self) -> float:
        """The one that was given."""
        limit = self.at_least if self.at_most is None else self.at_most
        assert limit is not None
        return limit

    @property
    def less_is_better(self) -> bool:
        """Whether it is the most that the measure may be."""
        return self.at_most is not None


def check_explained(
    explained: Iterable[Explain],
    *,
    joined: Iterable[str],
    factors: Iterable[str],
    configurations: Iterable[str],
    joined_of: Mapping[str, Iterable[str]],
) -> None:
    """What the questions name exists.

    Args:
        explained: an experiment's.
        joined: its measures of points.
        factors: those that vary in it.
        configurations: the file's.
        joined_of: measures of points of each of the file's experiments.

    Raises:
        ValueError: the message begins with the key below the experiment.
    """
    for each in explained:
        _known("measure", each.measure, joined)
        for factor in each.factors:
            _known("factors", factor, [*factors, *joined])
        for name in each.runs:
            _known("runs", name, configurations)
        if each.tested_on:
            _known("tested_on", each.tested_on, joined_of)
            if each.measure not in joined_of[each.tested_on]:
                raise ValueError(
                    f"explain.tested_on: {each.tested_on} has no {each.measure} in joined"
                )


def _known(key: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        allowed = ", ".join(sorted(names)) or "none"
        raise ValueError(f"explain.{key}: {name} is unknown here; allowed: {allowed}")
