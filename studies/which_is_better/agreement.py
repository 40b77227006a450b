"""Compare the outcomes of two directories: `python studies/which_is_better/agreement.py A B`.

They may be of both clocks, or of two versions: points that both have are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from ratios import MARGIN
from report import downloads, tcp_points

import minitopo_dc as dc
from minitopo_dc.statistics import Proportion, same_outcome


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
            alike = same_outcome(both["first"].to_numpy(), both["second"].to_numpy(), MARGIN)
            part = Proportion(int(alike.sum()), len(both))
            yield Agreement(name, len(both), part.share, part.low, part.high, both[~alike])


if __name__ == "__main__":
    for found in same(*map(dc.load, sys.argv[1:3])):
        interval = f"{found.low:.2f} to {found.high:.2f}"
        print(f"{found.experiment}: {found.same:.2f} ({interval}) of {found.points} points")  # noqa: T201
        print(found.others.to_string())  # noqa: T201
