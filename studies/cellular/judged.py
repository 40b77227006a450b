"""The paper's claims on an environment, numbered as it draws them, and ours on Dual Connectivity.

A start of a drive is a point; a claim is about means over starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import minitopo_dc as dc
from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known, Points

SAID = claims.statements(Path(__file__).with_name("reference") / "claims.csv")
CASES = ("sp", "1", "2", "3", "4")
CONTROLS = {"NewReno": "newreno", "CUBIC": "cubic", "FAST": "fast", "BBRv1": "bbr1"}
GOODPUT = "goodput_mbps"
MP, SP, SHARE = "mp_capacity_mbps", "sp_capacity_mbps", "mp_share"
OPEN = (MP, SP, SHARE, "sp_share")
"""The capacity of all open links and of the largest one, and the goodput divided by them."""
ROWS = tuple(CONTROLS.values())
SEVERAL = ("2", "3", "4")


@dc.run_measures(*OPEN)
def open_shares(run: Path) -> dict[str, float]:
    """Return what the open links of a run could have carried, and how much of it did.

    Errors are those of `open_capacity`.
    """
    both, goodput = dc.results.open_capacity(run), dc.results.RunResult.load(run).goodput_mbps
    shares = (math.nan if goodput is None or not mbps else goodput / mbps for mbps in both)
    return dict(zip(OPEN, (*both, *shares), strict=True))


def started(runs: pd.DataFrame) -> Points:
    """Return each start's goodput by way and case (`cubic 2`), and what its links could carry."""
    measures = [GOODPUT, SHARE, MP, SP]
    return claims.points(runs, ["start_s"], ["way", "case"], measures, numbers_of)


def numbers_of(known: Known) -> dict[str, Any]:
    """Return the numbers that claims need of each start."""
    ways = {f"MP-QUIC, {name}": short for name, short in CONTROLS.items()} | {"MPTCP": "mptcp"}
    cubic = "MP-QUIC, CUBIC"
    made = {
        f"{short} {case}": known[GOODPUT, way, case]
        for way, short in ways.items()
        for case in CASES
    }
    for case in SEVERAL:
        of_rows = [known[SHARE, f"MP-QUIC, {name}", case] for name in CONTROLS]
        made[f"share {case}"] = pd.concat(of_rows, axis=1).max(axis=1, skipna=False)
        made[f"single {case}"] = known[SP, cubic, case]
    for case in ("sp", "2", "3"):
        made[f"capacity {case}"] = known[MP, cubic, case]
    return made


def rows(*cases: str) -> list[str]:
    """Return the columns of all four congestion controls in some cases, by case."""
    return [f"{row} {case}" for case in cases for row in ROWS]


def means(values: tuple[Any, ...], parts: int = 1) -> Any:
    """Return the mean of each column over starts, in so many parts of the same length."""
    return np.array([np.mean(each) for each in values]).reshape(parts, -1)


def ratios(*values: Any) -> Any:
    """Return the means of the first half of the columns over those of the second half."""
    above, below = means(values, 2)
    return above / below


def of_environment(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield all claims about an environment, from the runs of its experiment."""
    seen = started(runs)
    yield SAID["3-single"].number(
        lambda cubic, bbr, capacity: min(np.mean(cubic), np.mean(bbr)) / np.mean(capacity),
        *(seen, "cubic sp", "bbr1 sp", "capacity sp"),
    )
    yield SAID["3-best"].number(
        lambda cubic, bbr, *others: min(np.mean(cubic), np.mean(bbr)) - max(map(np.mean, others)),
        *(seen, "cubic sp", "bbr1 sp", "fast sp", "newreno sp"),
    )
    yield from of_handovers(seen)
    yield from of_several_paths(seen)


def of_handovers(seen: Points) -> Iterator[Claim]:
    """Yield claims 4 to 7, about one path with hard handovers, and two."""

    def largest(*values: Any) -> Any:
        return ratios(*values).max()

    def share(*values: Any) -> Any:
        return np.mean(ratios(*values) >= 1)

    yield SAID["4"].number(largest, seen, *rows("1", "sp"))
    yield SAID["5"].number(largest, seen, "bbr1 1", "bbr1 sp")
    yield SAID["6"].number(lambda *values: ratios(*values).min(), seen, *rows("2", "1"))
    yield SAID["7"].number(share, seen, *rows("2", "sp"))


def of_several_paths(seen: Points) -> Iterator[Claim]:
    """Yield claims 8 to 13, about several paths, and MPTCP."""
    for key, case in (("8", "2"), ("9", "3")):
        yield SAID[key].number(lambda *both: ratios(*both).item(), seen, f"cubic {case}",
                          f"single {case}")  # fmt: skip
    # The best channels come first, so that each adds at most what the one before it does.
    yield SAID["10"].number(
        lambda one, two, three: (np.mean(three) - np.mean(two)) / (np.mean(two) - np.mean(one)),
        *(seen, "capacity sp", "capacity 2", "capacity 3"),
    )
    yield SAID["11"].number(lambda *values: np.mean(np.subtract(*means(values, 2)) < 0), seen,
                        *rows("4", "3"))  # fmt: skip
    shares = [f"share {case}" for case in SEVERAL]
    yield SAID["12"].number(lambda *values: means(values).max(), seen, *shares)
    yield SAID["13-single"].number(lambda *both: ratios(*both).max(), seen, "mptcp sp", "cubic sp")
    names = [f"{way} {case}" for way in ("mptcp", "cubic") for case in SEVERAL]
    yield SAID["13-several"].number(lambda *values: ratios(*values).max(), seen, *names)


def of_figure_6(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield claim 14: the sum of both paths follows the capacity over 8 s."""
    ways = ("MP-QUIC, CUBIC", "MP-QUIC, BBRv1")
    seen = claims.points(runs, ["case"], "way", SHARE, lambda known: {w: known[w] for w in ways})
    yield SAID["14"].number(lambda cubic, bbr: min(np.mean(cubic), np.mean(bbr)), seen, *ways)


def of_dual_connectivity(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield our claims about Dual Connectivity beside MP-QUIC with CUBIC."""
    ways = [way for way in runs["way"].unique() if way.startswith("DC")]

    def ratio(known: Known) -> dict[str, Any]:
        asked = ("MP-QUIC, CUBIC", *ways)
        return {f"{way} {case}": known[way, case] for way in asked for case in CASES[1:]}

    seen = claims.points(runs, ["start_s"], ["way", "case"], GOODPUT, ratio)
    pairs = [("DC least-delay", case) for case in CASES[1:]]
    pairs += [(f"DC {split}", "2") for split in ("batch", "proportional", "duplicate")]
    for way, case in pairs:
        if way in ways:
            text = f"{way} with {case} of the channels reaches 0.95 of MP-QUIC with CUBIC"
            yield Claim(text, "ours", least=0.95).number(
                lambda dual, multipath: np.mean(dual) / np.mean(multipath),
                seen, f"{way} {case}", f"MP-QUIC, CUBIC {case}",
            )  # fmt: skip
