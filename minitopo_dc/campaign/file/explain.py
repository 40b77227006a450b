"""What a campaign's file asks of an experiment's points: `outcomes`, `explain`, `when`.

docs/campaign-file.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from minitopo_dc.settings import Settings
from minitopo_dc.settings.ranges import within

Limits = Annotated[tuple[float, ...], Field(max_length=5)]


class Sides(Settings):
    """Which of two sides is better at how many points; a tie is no win of either."""

    measure: str
    """One of `joined`: a number of the first side over that of the second."""
    first: str
    second: str
    """What the sides are called."""
    margin: Annotated[float, *within(0, 1, above=True)] = 0.05
    """A tie is from 1 / (1 + margin) to 1 + margin; the default is that of `minitopo-dc advise`
    for goodput, which is what the clocks differ by (docs/advise.md)."""
    lower_is_better: bool = False

    @model_validator(mode="before")
    @classmethod
    def _old_name(cls, value: Any) -> Any:
        """Accept `less_is_better`, the name of the field in older files."""
        if isinstance(value, Mapping) and "lower_is_better" not in value:
            names = {"less_is_better": "lower_is_better"}
            return {names.get(name, name): each for name, each in value.items()}
        return value


class Explain(Settings):
    """The question where a measure reaches a limit, and which factors decide that."""

    measure: str
    """The measure of `joined` that is asked about."""
    at_least: float | None = None
    at_most: float | None = None
    """The upper limit in place of the lower one, where less is better."""
    text: str
    """A text for the case that the measure reaches the limit."""
    label: str = ""
    """The label in figures; none: the text."""
    then: str = "yes"
    """The verdict, in a word, for the case that the measure reaches the limit."""
    otherwise: str = "no"
    limits: Limits = ()
    """Other limits, whose results are shown beside it: how much depends on the limit."""
    factors: tuple[str, ...] = ()
    """The factors that may explain it, also columns of `joined`; none: all that vary."""
    tested_on: str = ""
    """An experiment of other points with the same measure; none: no such test."""
    runs: tuple[str, ...] = ()
    """Configurations whose time series show why, at single points."""

    @model_validator(mode="after")
    def _check_verdicts(self) -> Self:
        if self.then == self.otherwise:
            raise ValueError(f"then and otherwise are both {self.then}")
        return self

    @model_validator(mode="after")
    def _check_limit(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give at_least or at_most")
        return self

    @property
    def limit(self) -> float:
        """Return the limit that was given, the upper or the lower one."""
        limit = self.at_least if self.at_most is None else self.at_most
        assert limit is not None
        return limit

    @property
    def lower_is_better(self) -> bool:
        """Return whether the limit is the most that the measure may be."""
        return self.at_most is not None


class When(Settings):
    """The question when one side is better: models of the ratio, and a rule that a person obeys."""

    measure: str
    """One of `joined`: the goodput of the first side over that of the second."""
    first: str
    second: str
    """What the sides are called."""
    factors: tuple[str, ...] = ()
    """The factors of models and rules, also columns of `joined`; none: all that vary."""
    apart: str = ""
    """The factor of which each value has a model of its own; none: one model."""
    noise: str = ""
    """The experiment whose repetitions tell how much a point scatters; none: not known."""
    rule: str = ""
    """A file with a rule that was fixed before: its name in `reference/`, or its path; none: the
    rule that this experiment's points give."""
    tested_on: str = ""
    """An experiment of other points on which the rule is tested; none: no such test."""


def check_sides(compared: Iterable[Sides], joined: Iterable[str]) -> None:
    """Check that what `outcomes` names is there.

    Args:
        compared: an experiment's.
        joined: its measures of points.

    Raises:
        ValueError: the message begins with the key below the experiment.
    """
    for each in compared:
        _known("outcomes.measure", each.measure, joined)


def check_explained(
    explained: Iterable[Explain],
    *,
    joined: Iterable[str],
    factors: Iterable[str],
    configurations: Iterable[str],
    joined_of: Mapping[str, Iterable[str]],
) -> None:
    """Refuse questions with names that do not exist.

    Args:
        explained: the questions of an experiment.
        joined: its measures of points.
        factors: the factors that vary in it.
        configurations: the file's configurations.
        joined_of: measures of points of each of the file's experiments.

    Raises:
        ValueError: a name does not exist; the message begins with the key below the experiment.
    """
    for each in explained:
        _known("explain.measure", each.measure, joined)
        for factor in each.factors:
            _known("explain.factors", factor, [*factors, *joined])
        for name in each.runs:
            _known("explain.runs", name, configurations)
        if each.tested_on:
            _known("explain.tested_on", each.tested_on, joined_of)
            if each.measure not in joined_of[each.tested_on]:
                raise ValueError(
                    f"explain.tested_on: {each.tested_on} has no {each.measure} in joined"
                )


def check_when(
    asked: Iterable[When], own: Iterable[str], others: Mapping[str, Iterable[str]]
) -> None:
    """Refuse questions with names that do not exist.

    Args:
        asked: the questions of an experiment.
        own: its factors and measures of points.
        others: measures of points of each of the file's experiments.

    Raises:
        ValueError: a name does not exist; the message begins with the key below the experiment.
    """
    for each in asked:
        _known("when.measure", each.measure, own)
        for factor in each.factors:
            _known("when.factors", factor, own)
        for key, name, names in (
            ("apart", each.apart, own),
            ("noise", each.noise, others),
            ("tested_on", each.tested_on, others),
        ):
            if name:
                _known(f"when.{key}", name, names)
        for name in filter(None, [each.noise, each.tested_on]):
            if each.measure not in others[name]:
                raise ValueError(f"when.measure: {name} has no {each.measure} in joined")


def _known(key: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        allowed = ", ".join(sorted(names)) or "none"
        raise ValueError(f"{key}: {name} is unknown here; allowed: {allowed}")
