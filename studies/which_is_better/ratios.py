"""Tables of points: what each way reached at a point, ratios of two sides, and their shares.

A run that failed has goodput 0 and takes for ever: that is an answer, and the worst one; left out,
its point would be missing where one of two sides fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from networks import COHERENCE_S, VARIATION

from minitopo_dc.statistics import (
    SEED,
    Interval,
    Proportion,
    bootstrap_interval,
    mean_ratio,
    outcomes,
    signs,
)

Ratios = pd.Series  # of numbers, by point
MARGIN = 0.05
"""Of a tie: what the clocks differ by (docs/advise.md)."""
DELAY_MARGIN = 0.1
"""Of a tie of delays."""
LEAST = 0.01
"""A ratio, or a goodput (Mbit/s), that stands for those of failed runs in a mean of logarithms."""
REFERENCE = Path(__file__).with_name("reference")
CLOCKS, WITHIN = REFERENCE / "clocks.csv", 0.03
"""Goodputs over TCP on both clocks (docs/measurements/clocks.md), where they differ by more."""
CLOCK_ERROR = """
On both clocks TCP over Dual Connectivity agrees within 3 % at 21 of 30 networks, and MPTCP at 24;
the margin of a tie is 5 %. So an end of these intervals is Wilson's or, if that is further out, the
end of a bootstrap in which each ratio is multiplied by what one of the 30 networks has on packets
of it on the virtual clock.
"""
PATIENCE_MS = 60_000
"""What a request waits at most."""


def by_way(
    runs: pd.DataFrame, measure: str, *, failed: float = math.nan, ways: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a row for each point, which is the index, and a column for each way.

    Args:
        runs: those of one experiment, with the names of their labels in `attrs`.
        measure: the column; its median over seeds is taken.
        failed: what a run that failed counts as.
        ways: those that have a column in any case, be it without values.
    """
    names = [name for name in runs.attrs["labels"] if name in runs and name != "way"]
    labels = [name for name in names if runs[name].notna().any()] or names
    values = runs[measure].where(runs["status"] == "ok").astype(float)
    known = runs.assign(value=values.where(runs["status"] != "failed", failed)).dropna(
        subset="value"
    )
    groups = known.groupby([*labels, "way"], sort=False, dropna=False)["value"]
    wide = groups.median().unstack("way")
    return wide.reindex(columns=list(dict.fromkeys((*runs["way"], *ways)))).astype(float)


def of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the runs of an experiment, which still know their labels."""
    mine = runs[runs["experiment"] == experiment]
    mine.attrs["labels"] = runs.attrs["labels"]
    return mine


def late_answers(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with `answer_p95_ms`, infinite for no answer.

    The percentile is the 95th delay of 100 requests. Where 1 to 5 have no answer it is taken as the
    longest delay, which it is for 5, and which it is at most for fewer.
    """
    lost, longest = runs["unanswered"], runs["delay_max_ms"]
    p95 = runs["delay_p95_ms"].where(lost == 0, longest.where(lost <= 5, np.inf))
    return runs.assign(answer_p95_ms=p95[lost.notna()])


def speeds(runs: pd.DataFrame, experiment: str, ways: Sequence[str] = ()) -> pd.DataFrame:
    """Return the goodput of each way (Mbit/s); of requests one over the delay of answers (1/ms).

    Uploads are requests, too. `ways` have a column in any case.
    """
    mine = of(runs, experiment)
    if experiment not in ("requests", "uploads"):
        return by_way(mine, "goodput_mbps", failed=LEAST, ways=ways)
    delays = by_way(late_answers(mine), "answer_p95_ms", failed=PATIENCE_MS, ways=ways)
    return 1 / delays.clip(upper=PATIENCE_MS)


def mean(ratios: Ratios) -> tuple[float, Interval]:
    """Return the geometric mean of all ratios that are known, and its 95 % interval."""
    return mean_ratio(ratios.dropna().clip(lower=LEAST).tolist())


def best(points: pd.DataFrame, kind: str) -> Ratios:
    """Return the greatest value of the ways whose name begins so; none where one has none."""
    return points.filter(regex=f"^{kind}").max(axis=1, skipna=False)


def shares(
    sides: Mapping[str, Ratios], margin: float = MARGIN, *, clock: bool = False
) -> pd.DataFrame:
    """Return at how many points the first side is better, a tie, or worse, as texts for a page.

    Args:
        sides: ratios by what they compare, above 1 where the first side is better.
        margin: of a tie.
        clock: whether an interval is Wilson's or, where it is wider, `on_packets`.
    """
    rows = {}
    for name, ratios in sides.items():
        counts = outcomes(ratios.to_numpy(dtype=float), margin)
        low, middle, high = counts.ratios
        parts = {"better (%)": counts.better, "a tie (%)": counts.tie, "worse (%)": counts.worse}
        texts = {column: percent(part) for column, part in parts.items()}
        if clock:
            for side, (column, part) in zip((1, 0, -1), parts.items(), strict=True):
                ends = on_packets(ratios, side, margin)
                wider = min(part.low, ends.low), max(part.high, ends.high)
                texts[column] = percent_text(part.share, *wider)
        rows[name] = {
            "points": counts.better.points,
            **texts,
            "ratio (quartiles)": f"{middle:.2f} ({low:.2f} to {high:.2f})",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("first side against second")


def same_and_opposite(one: Any, other: Any) -> tuple[int, int]:
    """Return at how many points two sides have one outcome (`signs`), and opposite ones."""
    one, other = np.asarray(one), np.asarray(other)
    return int((one == other).sum()), int((one * other == -1).sum())


def on_packets(ratios: Ratios, side: int, margin: float) -> Interval:
    """Return the 95 % interval of the share of points with an outcome (`signs`), on real packets.

    The bootstrap draws points, and for each of them what a measured network's goodputs on packets
    are of those on the virtual clock (`clocks.csv`). Where these differ by less than `WITHIN`, the
    file has none, and any within it is drawn.
    """
    random, table = np.random.default_rng(SEED), pd.read_csv(CLOCKS)
    measured = np.stack(
        [table[f"{way}_real_mbps"] / table[f"{way}_virtual_mbps"] for way in ("dc", "mptcp")]
    )

    def share(values: Any) -> float:
        picked = measured[:, random.integers(0, measured.shape[1], len(values))]
        within = random.uniform(1 - WITHIN, 1 + WITHIN, picked.shape)
        first, second = np.where(np.isnan(picked), within, picked)
        return float(np.mean(signs(values * first / second, margin) == side))

    known = ratios.dropna().to_numpy(dtype=float)
    return bootstrap_interval(known[np.newaxis, np.newaxis], share)


def percent(part: Proportion) -> str:
    """Return a share with its 95 % interval (Wilson's), as a text."""
    return percent_text(part.share, part.low, part.high)


def percent_text(*shares: float) -> str:
    """Return a share with the ends of its interval, as a text."""
    return "{:.0f} ({:.0f} to {:.0f})".format(*(100 * share for share in shares))


def with_numbers(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with their factors as columns, and numbers without a unit (docs/study.md).

    `windows`: size over rate times round trip; `queueing`: queue over round trip;
    `lost_per_window`: packets lost at random per rate times round trip; `loss_apart`: leg 1's part
    of these minus as many of leg 2 at leg 1's rate; `changes`: round trip over coherence time.
    """
    table = points.reset_index()
    share, ratio = table["share"], table["delay_ratio"]
    trip = table["delay_sum_ms"] * (share + (1 - share) * ratio) / (1 + ratio)
    packets = table["total_mbps"] * trip * 1000 / 12_000 / 100
    queue = share * table["queue_1_ms"] + (1 - share) * table["queue_2_ms"]
    losses = table["loss_1_percent"], table["loss_2_percent"]
    coherence = table["capacity"].map({"constant": np.inf, **COHERENCE_S}).astype(float)
    return table.assign(
        round_trip_ms=trip,
        windows=table["size_mb"] * 8000 / (table["total_mbps"] * trip),
        queueing=queue / trip,
        queue_ratio=table["queue_2_ms"] / table["queue_1_ms"],
        lost_per_window=(share * losses[0] + (1 - share) * losses[1]) * packets,
        loss_apart=share * (losses[0] - losses[1]) * packets,
        changes=trip / 1000 / coherence,
        variation=table["capacity"].map(VARIATION).astype(float),
    )


def factors_of(table: pd.DataFrame, names: Sequence[str]) -> Any:
    """Return factors as a matrix for a model, with a column for each level of a text."""
    return pd.get_dummies(table[list(names)], prefix_sep=" is ", dtype=float)
