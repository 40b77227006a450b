"""What would flip a verdict: each factor alone, up and down, bisected for where another one begins.

* At a point the first `VARIANTS` of both sides run with `SEEDS` seeds; the point's outcome is that
  of the best means of both, taken as they are. There is no interval: a border is where it is by
  these.
* First comes the end of the factor's range. Where it has the same outcome, the factor flips nothing
  that way, as far as an end tells: an outcome that is another one only in between is not found.
* Else the border is bisected on a log scale, until the ends of the bracket are within `CLOSE`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.factors import Factor, factors_of
from minitopo_dc.advice.runs import Progress, Runs, Wanted
from minitopo_dc.advice.sides import Row, Sides, sides_of
from minitopo_dc.files import parse_json, read_text, write_whole
from minitopo_dc.numbers import significant
from minitopo_dc.runs.results import MAX_BYTES
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from minitopo_dc.statistics import Outcome

VARIANTS, SEEDS = 2, 3
CLOSE = 1.15
"""The greater end of a bracket over the smaller one: finer than three seeds tell."""
MAX_STEPS = 8
"""Of a bisection: a range of 1 to 600 is within `CLOSE` after 6."""
POINTS = 6
"""Of a factor in one direction, as they are counted beforehand: its end, and a bisection."""
KEPT = "flips.json"
"""What was found, beside how it was judged: outcomes that were judged in another way, or by a
version that did not say how, are looked for again."""
WORDS = {"better": "Dual Connectivity wins", "tie": "a tie", "worse": "multipath wins"}


@dataclass(frozen=True)
class Flip:
    """What a factor does to the outcome in one direction."""

    factor: str
    unit: str
    now: float
    upwards: bool
    near: float
    """The value farthest that way with the same outcome as now."""
    far: float
    """The nearest with another one; the end of the range where there is none."""
    outcome: Outcome
    """There: `open` where the factor flips nothing."""

    def to_json(self) -> dict[str, Any]:
        """Return it for programs, with its sentence."""
        return {**asdict(self), "sentence": flip_sentence(self)}


def flip_sentence(flip: Flip) -> str:
    """Say it: `Multipath wins from a delay of leg 2 (one way) above 85 ms (80 to 90; now 40).`."""
    now, near, far = (significant(each, 2) for each in (flip.now, flip.near, flip.far))
    if flip.outcome == "open":
        way = "up" if flip.upwards else "down"
        return f"The verdict stays with the {flip.factor} {way} to {far} {flip.unit} (now {now})."
    border = math.sqrt(flip.near * flip.far) if flip.near > 0 else flip.far
    side = "above" if flip.upwards else "below"
    ends = f"{near} to {far}" if flip.upwards else f"{far} to {near}"
    words = WORDS[flip.outcome]
    return (
        f"{words[0].upper()}{words[1:]} from a {flip.factor} {side} {significant(border, 2)} "
        f"{flip.unit} ({ends}; now {now})."
    )


@dataclass(frozen=True)
class Searched:
    """A verdict whose borders are looked for."""

    base: Scenario
    sides: Sides
    transports: tuple[str, ...]
    """Those that `sides` are of, maybe with others'."""
    criterion: Criterion
    outcome: Outcome
    """The verdict's; `open`: that of a point (see above) stands in."""
    kept: Path
    """A directory for what was found, so that an interrupted search goes on."""


def runs_of_flips(base: Scenario, sides: Sides) -> int:
    """Return about how many runs the search takes, at most."""
    directions = sum(len(_ends(factor)) for factor in factors_of(base))
    return directions * POINTS * len(_rows(sides)) * SEEDS


def _rows(sides: Sides) -> tuple[Row, ...]:
    return (*sides.dual[:VARIANTS], *sides.multipath[:VARIANTS])


def _ends(factor: Factor) -> list[float]:
    """Return the ends of a factor's range that its value is not at or beyond, upwards first."""
    up = [factor.high] if factor.value < factor.high else []
    return up + ([factor.low] if factor.value > factor.low else [])


def find_flips(searched: Searched, runs: Runs, progress: Progress) -> Iterator[Flip]:
    """Yield what each factor does, upwards and downwards.

    Args:
        searched: the verdict.
        runs: makes runs, however long they take.
        progress: hears what is under way.
    """
    points = _Points(searched, runs, progress)
    here = searched.outcome
    if here == "open":
        here = points.outcome("as it is", 0.0, searched.base)
    for factor in factors_of(searched.base):
        for end in _ends(factor):
            with suppress(SettingsError):  # a value that the scenario does not take
                yield _flip(points, factor, end, here, upwards=end > factor.value)


class _Points:
    """The outcomes at values of factors, each found once."""

    def __init__(self, searched: Searched, runs: Runs, progress: Progress) -> None:
        self._searched, self._runs, self._progress = searched, runs, progress
        self._path = searched.kept / KEPT
        self._judged = _judged_by(searched.criterion)
        self._known: dict[str, Any] = _read(self._path, self._judged)

    def of(self, factor: Factor, value: float) -> Outcome:
        """Return the outcome where a factor has a value."""
        scenario = factor.scenario(self._searched.base, value)
        return self.outcome(factor.words, value, scenario)

    def outcome(self, words: str, value: float, scenario: Scenario) -> Outcome:
        """Return the outcome of a scenario, which has a name and a value."""
        name = f"{self._searched.sides.stack}, {words}, {value:g}"
        if name not in self._known:
            self._known[name] = self._found(name, scenario)
            kept = {"judged_by": self._judged, "outcomes": self._known}
            write_whole(self._path, json.dumps(kept, indent=1))
        outcome: Outcome = self._known[name]
        return outcome

    def _found(self, name: str, scenario: Scenario) -> Outcome:
        stack = self._searched.sides.stack
        found = sides_of(scenario, self._searched.transports)
        sides = next(each for each in found if each.stack == stack)
        wanted = [
            Wanted.of(row, scenario, each) for each in range(1, SEEDS + 1) for row in _rows(sides)
        ]
        values: dict[str, list[float]] = {}
        self._progress(name)
        with TemporaryDirectory() as directory:
            for done in self._runs.make(wanted, Path(directory), math.inf):
                value = self._searched.criterion.value(done.result)
                values.setdefault(done.wanted.row.name, []).append(value)
        dual, multipath = (
            self._best(side[:VARIANTS], values) for side in (sides.dual, sides.multipath)
        )
        if dual is None or multipath is None:
            return "open" if dual is multipath else "worse" if dual is None else "better"
        return self._searched.criterion.outcome_of(
            self._searched.criterion.difference(dual, multipath)
        )

    def _best(self, rows: Sequence[Row], values: Mapping[str, Sequence[float]]) -> float | None:
        criterion = self._searched.criterion
        means = {row.name: criterion.mean(values.get(row.name, ())) for row in rows}
        best = criterion.best(means)
        return None if best is None else means[best]


def _judged_by(criterion: Criterion) -> dict[str, Any]:
    """Return what the outcome of a point depends on, beside its runs."""
    mean = "geometric" if criterion.kind == "ratio" else "arithmetic"
    return {"measure": criterion.name, "mean": mean, "margin": criterion.margin}


def _read(path: Path, judged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcomes that were found before, and judged so; none where none can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = parse_json(read_text(path, MAX_BYTES, within=path.parent))
        if found["judged_by"] == judged:
            return dict(found["outcomes"])
    return {}


def _flip(points: _Points, factor: Factor, end: float, here: Outcome, *, upwards: bool) -> Flip:
    near, far = factor.value, end
    outcome = points.of(factor, far)
    if outcome in (here, "open"):
        return _made(factor, near, far, "open", upwards=upwards)
    for _ in range(MAX_STEPS):
        small, large = sorted((near, far))
        if large <= CLOSE * small:
            break
        middle = _between(factor, small, large)
        if middle is None:
            break
        found = points.of(factor, middle)
        if found == here:
            near = middle
        else:
            far, outcome = middle, found
    return _made(factor, near, far, outcome, upwards=upwards)


def _between(factor: Factor, small: float, large: float) -> float | None:
    """Return a value between two, on a log scale; None: there is none.

    A loss of 0 has no logarithm: the least of the range stands in.
    """
    middle = math.sqrt(max(small, factor.low) * large)
    middle = float(round(middle)) if factor.whole else float(f"{middle:.3g}")
    return middle if small < middle < large else None


def _made(factor: Factor, near: float, far: float, outcome: Outcome, *, upwards: bool) -> Flip:
    return Flip(factor.words, factor.unit, factor.value, upwards, near, far, outcome)
