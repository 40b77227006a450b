"""The outcomes of the study's networks near a network, by numbers without a unit (docs/study.md).

The study judged networks of two legs with downloads, so other networks have no neighbours here.
Only those with the same congestion control count: the study has a model for each of them too.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from minitopo_dc.advice.position import Position, round_trip_ms
from minitopo_dc.advice.verdict import Verdict
from minitopo_dc.scenario import Scenario
from minitopo_dc.shipped import shipped
from minitopo_dc.statistics import Outcomes, Proportion, outcomes, signs

NETWORKS = "study_networks.csv"
"""In `reference/`: a line for each network of the study, from the report of its campaign."""
EXPERIMENTS = {"picoquic": ("download", "MP-QUIC"), "Linux": ("tcp", "MPTCP")}
"""The experiment of the campaign `study` that has the transports of a stack, and its multipath."""
NEIGHBOURS = 20
"""The number of networks that count: with fewer, the shares' intervals would be wider."""
FEW_LOSSES = 0.001
"""Lost packets per window up to which networks count as equal, as a logarithm needs a least value:
a download of a thousand windows loses one packet."""
EDGE = 0.25
"""In standard deviations: how far beyond all networks a place may be and still have neighbours."""
COLUMNS: Mapping[str, str] = {
    "share": "faster leg's share",
    "delay_ratio": "ratio of round trips",
    "windows": "size over rate times round trip",
    "queueing": "queue over round trip",
    "lost_per_window": "losses per window",
}
"""The columns of the file that make a place, and their names in a sentence."""
OUTCOMES = np.array([1.0, 0.0, -1.0])
"""Dual Connectivity is better, a tie, multipath is better: as of `signs`."""
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Networks:
    """The networks of an experiment."""

    controls: tuple[str, ...]
    places: Numbers
    """A row of `place` for each."""
    ratios: Numbers
    """Goodput of Dual Connectivity over that of multipath."""

    def with_control(self, control: str) -> Networks:
        """Return those with a congestion control; all of them where none has it."""
        chosen = np.array([each == control for each in self.controls])
        return self.only(chosen) if chosen.any() else self

    def only(self, chosen: npt.NDArray[np.bool_]) -> Networks:
        """Return those that are chosen."""
        controls = tuple(each for each, kept in zip(self.controls, chosen, strict=True) if kept)
        return Networks(controls, self.places[chosen], self.ratios[chosen])

    def but(self, index: int) -> Networks:
        """Return all of them but one."""
        return self.only(np.arange(len(self.ratios)) != index)

    def nearest(self, place: Numbers, number: int = NEIGHBOURS) -> Numbers:
        """Return the ratios of the nearest networks, by the distance in standard deviations."""
        apart = (self.places - place) / self.places.std(axis=0)
        order = np.argsort((apart**2).sum(axis=1), kind="stable")
        return self.ratios[order[:number]]

    def foretold(self, margin: float) -> Proportion:
        """Return for how many networks the most frequent outcome of the nearest others is right."""
        told = [
            shares(self.but(index).nearest(place), margin).argmax()
            for index, place in enumerate(self.places)
        ]
        right = OUTCOMES[told] == signs(self.ratios, margin)
        return Proportion(int(right.sum()), len(right))

    def outside(self, place: Numbers) -> tuple[str, ...]:
        """Return the columns in which a place lies outside the range of the networks."""
        edge = EDGE * self.places.std(axis=0)
        low, high = self.places.min(axis=0) - edge, self.places.max(axis=0) + edge
        beyond = (place < low) | (place > high)
        return tuple(name for name, far in zip(COLUMNS, beyond, strict=True) if far)


def shares(ratios: Numbers, margin: float) -> Numbers:
    """Return the shares of the three outcomes."""
    found: Numbers = (signs(ratios, margin)[:, np.newaxis] == OUTCOMES).mean(axis=0)
    return found


@dataclass(frozen=True)
class Neighbours:
    """What the networks near to one came to, and what all of them came to."""

    stack: str
    control: str
    """The congestion control that all of them have; empty: they have different ones."""
    near: Outcomes
    """Of Dual Connectivity."""
    all: Outcomes
    foretold: Proportion
    """For how many of all the most frequent outcome of such neighbours is right."""
    outside: tuple[str, ...]
    """Columns in which the position lies outside the range of all."""

    @property
    def sentence(self) -> str:
        """Return the shares in words, with what they are worth."""
        found, multipath = self.near, EXPERIMENTS[self.stack][1]
        known = (self.all.better, self.all.tie, self.all.worse)
        control = f" with {self.control}" if self.control else ""
        better, tie, worse = (f"{100 * each.share:.0f}" for each in known)
        said = [
            f"Of the {found.tie.points} networks of the study{control} nearest to this position, "
            f"Dual Connectivity is better in {_share(found.better)}, a tie in {_share(found.tie)}, "
            f"{multipath} better in {_share(found.worse)}; of all {self.foretold.points}: "
            f"{better}, {tie} and {worse} %."
        ]
        said += [f"The position is outside their range ({_words(self.outside)}): none is near."
                 ] if self.outside else [self._worth]  # fmt: skip
        return " ".join(said)

    @property
    def majority(self) -> float:
        """Return the share of the most frequent outcome of all."""
        return max(each.share for each in (self.all.better, self.all.tie, self.all.worse))

    @property
    def _worth(self) -> str:
        """Say how often such neighbours foretell an outcome, and whether that is of use."""
        right = self.foretold
        ends = f"{100 * right.low:.0f} to {100 * right.high:.0f}"
        text = (
            f"The most frequent outcome near a network foretells {100 * right.share:.0f} % "
            f"({ends}) of them, that of all {100 * self.majority:.0f} %"
        )
        useless = right.low <= self.majority
        return f"{text}: no clear difference." if useless else f"{text}."

    def to_json(self) -> dict[str, Any]:
        """Return the counts and shares for programs."""
        return {
            "stack": self.stack,
            "experiment": EXPERIMENTS[self.stack][0],
            "congestion_control": self.control or None,
            "near": _outcomes(self.near),
            "all": _outcomes(self.all),
            "foretold": _proportion(self.foretold),
            "majority": self.majority,
            "outside": list(self.outside),
        }


def _words(columns: Sequence[str]) -> str:
    return ", ".join(COLUMNS[each] for each in columns)


def _share(found: Proportion) -> str:
    """Return a count and its share: `9 (45 %, 26 to 66)`."""
    low, high = 100 * found.low, 100 * found.high
    return f"{found.count:g} ({100 * found.share:.0f} %, {low:.0f} to {high:.0f})"


def _outcomes(found: Outcomes) -> dict[str, Any]:
    shares = {"dual_connectivity": found.better, "tie": found.tie, "multipath": found.worse}
    return {name: _proportion(each) for name, each in shares.items()}


def _proportion(found: Proportion) -> dict[str, float]:
    return asdict(found) | {"share": found.share, "low": found.low, "high": found.high}


def place(
    share: float, delay_ratio: float, windows: float, queueing: float, lost_per_window: float
) -> Numbers:
    """Return coordinates in which distances count: logarithms, but for the share.

    Args:
        share: of the rate, that of the leg with the larger one.
        delay_ratio: the other leg's round trip over that leg's.
        windows: as of `Position`, and so the other ones.
        queueing: of both legs.
        lost_per_window: on both legs.
    """
    positive = (delay_ratio, windows, queueing, max(lost_per_window, FEW_LOSSES))
    return np.array([share, *map(math.log, positive)])


@cache
def read_networks(experiment: str) -> Networks:
    """Read the networks of an experiment of the study from the file of the package."""
    path = shipped("reference") / NETWORKS
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["experiment"] == experiment]
    return Networks(
        tuple(row["control"] for row in rows),
        np.array([place(*(float(row[name]) for name in COLUMNS)) for row in rows]),
        np.array([float(row["ratio"]) for row in rows]),
    )


def neighbours_of(base: Scenario, position: Position, verdict: Verdict) -> Neighbours | None:
    """Return what the study found near a network; None where it has no such networks.

    Args:
        base: the legs and the workload.
        position: its own (`position_of`).
        verdict: of the stack; its margin is that of the outcomes.
    """
    here = _place_of(base, position)
    if here is None or verdict.stack not in EXPERIMENTS:
        return None
    every = read_networks(EXPERIMENTS[verdict.stack][0])
    control = base.congestion_control if base.congestion_control in every.controls else ""
    known, margin = every.with_control(control), verdict.criterion.margin
    return Neighbours(
        stack=verdict.stack,
        control=control,
        near=outcomes(known.nearest(here), margin),
        all=outcomes(known.ratios, margin),
        foretold=known.foretold(margin),
        outside=known.outside(here),
    )


def _place_of(base: Scenario, position: Position) -> Numbers | None:
    """Return where a network of two legs lies; None where it lacks a number."""
    trips = [round_trip_ms(leg) for leg in base.legs]
    if len(trips) != 2 or not min(trips) > 0:
        return None
    faster, other = trips if position.share >= 0.5 else trips[::-1]
    numbers: Sequence[float] = (
        max(position.share, 1 - position.share),
        other / faster,
        position.windows,
        position.queueing,
        position.lost_per_window,
    )
    known = all(map(math.isfinite, numbers)) and min(numbers[:4]) > 0
    return place(*numbers) if known else None
