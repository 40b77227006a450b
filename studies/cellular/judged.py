"""The paper's claims on an environment, numbered as it draws them, and ours on Dual Connectivity.

A start of a drive is a point; a claim is about means over starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known, Points

CASES = ("sp", "1", "2", "3", "4")
CONTROLS = {"NewReno": "newreno", "CUBIC": "cubic", "FAST": "fast", "BBRv1": "bbr1"}
GOODPUT, SHARE = "goodput_mbps", "mp_share"
MP, SP = "mp_capacity_mbps", "sp_capacity_mbps"
ROWS = tuple(CONTROLS.values())
SEVERAL = ("2", "3", "4")


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


def of_single_paths(seen: Points) -> Iterator[Claim]:
    """Yield claims 3, about single paths."""
    yield claims.number(
        "3: CUBIC's and BBR's single path is little below capacity",
        lambda cubic, bbr, capacity: min(np.mean(cubic), np.mean(bbr)) / np.mean(capacity),
        seen, "cubic sp", "bbr1 sp", "capacity sp", least=0.8,
        source="goodput/SP 0.83 to 0.87",
    )  # fmt: skip
    yield claims.number(
        "3: and both are above FAST's and NewReno's (Mbit/s)",
        lambda cubic, bbr, *others: min(np.mean(cubic), np.mean(bbr)) - max(map(np.mean, others)),
        seen, "cubic sp", "bbr1 sp", "fast sp", "newreno sp", least=0,
        source="11.35 and more against 9.90 and less; road 15.12, 12.92",
    )  # fmt: skip


def of_handovers(seen: Points) -> Iterator[Claim]:
    """Yield claims 4 to 7, about one path with hard handovers, and two."""

    def ratios(*values: Any) -> Any:
        above, below = means(values, 2)
        return above / below

    first = [*rows("1"), *rows("sp")]
    yield claims.number(
        "4: a hard handover halves the goodput: case 1 / sp, the largest of the four",
        lambda *values: ratios(*values).max(), seen, *first, most=0.75, source="0.37 to 0.72",
    )  # fmt: skip
    yield claims.number(
        "5: BBR's case 1 is 60 % of sp",
        lambda *values: ratios(*values).item(), seen, "bbr1 1", "bbr1 sp", least=0.45, most=0.75,
        source="0.59",
    )  # fmt: skip
    yield claims.number(
        "6: two paths against one: case 2 / case 1, the least of the four",
        lambda *values: ratios(*values).min(), seen, *rows("2", "1"), least=1.5,
        source="1.77 to 3.32",
    )  # fmt: skip
    yield claims.number(
        "7: case 2 is at least as good as sp, share of the four rows",
        lambda *values: np.mean(ratios(*values) >= 1), seen, *rows("2", "sp"), least=0.75,
        source="4 of 4; road 3 of 4",
    )  # fmt: skip


def of_several_paths(seen: Points) -> Iterator[Claim]:
    """Yield claims 8 to 12, about several paths."""
    for number, case, least, published in (
        (8, "2", 0.95, "1.00, 1.04"),
        (9, "3", 1.05, "1.21, 1.16"),
    ):
        yield claims.number(
            f"{number}: {case} paths beat the best single one: CUBIC's case {case} / SP capacity",
            lambda ours, single: np.mean(ours) / np.mean(single),
            seen, f"cubic {case}", f"single {case}", least=least, source=published,
        )  # fmt: skip
    # The best channels come first, so that each adds at most what the one before it does.
    yield claims.number(
        "10: the third path adds less than two thirds of what the second one does",
        lambda one, two, three: (np.mean(three) - np.mean(two)) / (np.mean(two) - np.mean(one)),
        seen, "capacity sp", "capacity 2", "capacity 3", most=0.67,
        source="0.39; road 0.42",
    )  # fmt: skip
    yield claims.number(
        "11: case 4 is worse than case 3, share of the four rows",
        lambda *values: np.mean(np.subtract(*means(values, 2)) < 0),
        seen, *rows("4", "3"), least=0.5, source="2 of 4; road 3 of 4",
    )  # fmt: skip
    yield claims.number(
        "12: far from the capacity of all paths: the largest share of cases 2 to 4",
        lambda *values: means(values).max(), seen, *(f"share {case}" for case in SEVERAL),
        most=0.8, source="0.73",
    )  # fmt: skip


def of_mptcp(seen: Points) -> Iterator[Claim]:
    """Yield claims 13, about MPTCP."""

    def largest(*values: Any) -> float:
        above, below = means(values, 2)
        return float((above / below).max())

    yield claims.number(
        "13: MPTCP is as good as MP-QUIC on a single path: MPTCP / CUBIC", largest, seen,
        "mptcp sp", "cubic sp", least=0.85, most=1.15, source="1.08, 1.13",
    )  # fmt: skip
    names = [f"{way} {case}" for way in ("mptcp", "cubic") for case in SEVERAL]
    yield claims.number(
        "13: and worse on several: MPTCP / CUBIC, the largest of cases 2 to 4", largest, seen,
        *names, most=1, source="0.51 to 0.77; road 0.45 to 0.59",
    )  # fmt: skip


JUDGES: tuple[Callable[[Points], Iterator[Claim]], ...] = (
    *(of_single_paths, of_handovers, of_several_paths, of_mptcp),
)


def of_environment(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield all claims about an environment, from the runs of its experiment."""
    seen = started(runs)
    for judge in JUDGES:
        yield from judge(seen)


def of_figure_6(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield claim 14: the sum of both paths follows the capacity over 8 s."""
    ways = ("MP-QUIC, CUBIC", "MP-QUIC, BBRv1")
    seen = claims.points(runs, ["case"], "way", SHARE, lambda known: {w: known[w] for w in ways})
    yield claims.number(
        "14: the sum follows the capacity, with CUBIC and BBR: least share of it over 8 s",
        lambda cubic, bbr: min(np.mean(cubic), np.mean(bbr)), seen, *ways, least=0.85,
        source="figure 6",
    )  # fmt: skip


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
            yield claims.number(
                f"{way} with {case} of the channels reaches 0.95 of MP-QUIC with CUBIC",
                lambda dual, multipath: np.mean(dual) / np.mean(multipath),
                seen, f"{way} {case}", f"MP-QUIC, CUBIC {case}", least=0.95, source="ours",
            )  # fmt: skip
