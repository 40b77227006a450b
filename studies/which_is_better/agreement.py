"""Compare the outcomes of two directories: `python studies/which_is_better/agreement.py A B`.

They may be of both clocks, or of two versions: points that both have are compared. Directories of
`atsss` and `stacks` have no two sides here, so that the goodputs of the ways are compared.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from ratios import MARGIN, by_way, of
from report import downloads, tcp_points

import minitopo_dc as dc
from minitopo_dc.statistics import Proportion, signs


class Agreement(NamedTuple):
    """How many points of an experiment have one outcome in both tables."""

    experiment: str
    points: int
    same: float
    """The share, with its 95 % interval."""
    low: float
    high: float
    others: pd.DataFrame
    """The points with two outcomes, and both ratios."""


def same(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Agreement]:
    """Yield the agreement of each experiment that both tables of runs have."""
    for name in ("download", "download-unseen", "tcp"):
        if {name} <= set(first["experiment"]) & set(second["experiment"]):
            one, other = (
                (tcp_points(runs) if name == "tcp" else downloads(runs, name))
                .set_index("point")["ratio"].rename(side)
                for runs, side in ((first, "first"), (second, "second"))
            )  # fmt: skip
            both = pd.concat([one, other], axis=1).dropna()
            sides = (signs(both[side].to_numpy(), MARGIN) for side in ("first", "second"))
            alike = operator.eq(*sides)
            part = Proportion(int(alike.sum()), len(both))
            yield Agreement(name, len(both), part.share, part.low, part.high, both[~alike])


def goodputs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return the goodputs of each network and way of downloads that both have, and their ratio.

    A run that failed counts as goodput 0; one that the machine disturbed does not count.
    """
    columns = {
        side: by_way(downloads_of(runs), "goodput_mbps", failed=0.0).stack()
        for side, runs in (("first", first), ("second", second))
    }
    both = pd.DataFrame(columns).dropna().reset_index()
    both["ratio"] = both["first"] / both["second"]
    kept = ["stack", "way", "point", "control", *columns, "ratio"]
    return both.sort_values(kept[:3])[kept]


def downloads_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the downloads of `atsss`, or those of `stacks` that both clocks have."""
    return of(runs, "clocks" if "clocks" in set(runs["experiment"]) else "download")


if __name__ == "__main__":
    tables = [dc.load(directory) for directory in sys.argv[1:3]]
    has_stacks = "stack" in tables[0]
    if has_stacks:
        print(goodputs(*tables).to_string(index=False))  # noqa: T201
    for found in () if has_stacks else same(*tables):
        interval = f"{found.low:.2f} to {found.high:.2f}"
        print(f"{found.experiment}: {found.same:.2f} ({interval}) of {found.points} points")  # noqa: T201
        print(found.others.to_string())  # noqa: T201
