"""Whether neighbours predict a network's outcome: `python -m benchmarks.neighbours` (seconds).

Each network of the study is predicted by the nearest other ones (leave one out), and those of
`download-unseen` by the ones of `download`. Beside it stand the shares of all networks. Two
numbers tell: how often the most frequent outcome is right, and Brier's score (the sum over the
three outcomes of the squared difference of share and truth, 0 to 2, less is better; Monthly
Weather Review 78, 1950).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.advice.criterion import CRITERIA
from minitopo_dc.advice.neighbours import COLUMNS, nearest, read_networks
from minitopo_dc.statistics import Interval, Proportion, bootstrap_interval, signs

MARGIN = CRITERIA["download"].margin
OUTCOMES = np.array([1.0, 0.0, -1.0])
"""Dual Connectivity is better, a tie, multipath is better: as of `signs`."""
NUMBERS = (10, 20, 40)
"""Of neighbours; `advise` tells of the middle one, which was chosen before this was run."""
Numbers = npt.NDArray[np.float64]
Known = Callable[[pd.DataFrame, int], Numbers]
"""The ratios that are known of the network of a number."""


def predicted(tested: pd.DataFrame, known: Known) -> tuple[npt.NDArray[np.bool_], Numbers]:
    """Return for each network whether the most frequent outcome is right, and Brier's score."""
    truth = signs(tested["ratio"].to_numpy(float), MARGIN)[:, np.newaxis] == OUTCOMES
    told = np.array([_shares(known(tested, index)) for index in range(len(truth))])
    right = truth[np.arange(len(truth)), told.argmax(axis=1)]
    return right, ((told - truth) ** 2).sum(axis=1)


def _shares(ratios: Numbers) -> Numbers:
    shares: Numbers = (signs(ratios, MARGIN)[:, np.newaxis] == OUTCOMES).mean(axis=0)
    return shares


def ways(experiment: str, *, leave_out: bool) -> Iterator[tuple[str, Known]]:
    """Yield ways to predict, by name: all networks first, then the nearest ones."""
    every = read_networks(experiment)

    def others(tested: pd.DataFrame, index: int, *, same: bool) -> pd.DataFrame:
        """Return the networks that may be known, without the tested one."""
        kept = every.drop(index) if leave_out else every
        return kept[kept["control"] == tested.loc[index, "control"]] if same else kept

    for same, words in ((True, "same control"), (False, "any control")):

        def overall(tested: pd.DataFrame, index: int, same: bool = same) -> Numbers:
            return others(tested, index, same=same)["ratio"].to_numpy(float)

        yield f"all, {words}", overall
        for number in NUMBERS:

            def near(
                tested: pd.DataFrame, index: int, same: bool = same, number: int = number
            ) -> Numbers:
                here = tested.loc[index, COLUMNS].to_numpy(float)
                return nearest(others(tested, index, same=same), here, number)

            yield f"{number} nearest, {words}", near


def check(experiment: str, known: str) -> Iterator[str]:
    """Yield a row of a table for each way to predict the networks of an experiment."""
    tested = read_networks(experiment)
    baseline: Numbers | None = None
    for name, way in ways(known, leave_out=experiment == known):
        right, brier = predicted(tested, way)
        baseline = brier if name.startswith("all") else baseline
        assert baseline is not None
        gain = baseline - brier
        ends = bootstrap_interval(gain[np.newaxis, np.newaxis], lambda each: float(each.mean()))
        yield _row([experiment, name], right, brier, gain, ends)


def _row(
    names: list[str],
    right: npt.NDArray[np.bool_],
    brier: Numbers,
    gain: Numbers,
    ends: Interval,
) -> str:
    found = Proportion(int(right.sum()), len(right))
    share = f"{100 * found.share:.0f} ({100 * found.low:.0f} to {100 * found.high:.0f})"
    less = f"{gain.mean():.3f} ({ends.low:.3f} to {ends.high:.3f})" if gain.any() else ""
    return f"| {' | '.join([*names, str(len(right)), share, f'{brier.mean():.3f}', less])} |"


def main() -> None:
    """Print the table of all ways to predict."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    lines = ["| networks | predicted by | points | right (%) | Brier's score | less by |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for experiment, known in (("download", "download"), ("download-unseen", "download"),
                              ("tcp", "tcp")):  # fmt: skip
        lines += check(experiment, known)
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
