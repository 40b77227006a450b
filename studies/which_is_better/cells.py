"""What do Dual Connectivity and MP-QUIC do in cells whose load jumps, and to the others in them?

Each leg of a network is in a cell of its own, with background users: two with Poisson downloads
(FTP model 3 of 3GPP) from the begin to the end, and one to seven with full buffers from 6 s to 10 s
in one of both cells. A leg's rate is what it has alone in its cell. Deployable Dual Connectivity
with 5 ms of Xn is set against MP-QUIC, a download that never ends with small requests beside it on
the same connection. In some networks the nodes also hold more, or Dual Connectivity is ideal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from campaign import DOWNLOADS, fields_of
from networks import Fields, Point, halves, nine
from ratios import DELAY_MARGIN, LEAST, MARGIN, PATIENCE_MS, Ratios, by_way, mean, of, shares
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.results.run_result import jain_index
from minitopo_dc.results.tables.series import element_series
from minitopo_dc.workloads import UnderLoad

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 128, "quick": 4, "sample": 4}
FACTORS: dict[str, Any] = {
    **{name: levels for name, levels in DOWNLOADS.items() if name not in ("capacity", "start_s")},
    "total_mbps": (4, 40, "log"),
    "capacity": ["constant"],  # all that changes is load
    "load": (0.05, 0.6),  # of each cell's capacity, by downloads
    "full_buffers": [1, 2, 3, 5, 7],  # after the jump
    "jump_leg": [1, 2],
    "scheduler": ["round-robin", "proportional-fair"],
}
REASONS, HELD_MS = 16, 50
"""In how many networks nodes also want so much (ms at the leg's rate), and DC is also ideal."""
DOWNLOADERS = 2
JUMP_S = (6, 10)
"""When the full buffers begin and end."""
WINDOWS = {"before": (4, 6), "up": (6, 8), "loaded": (8, 10), "down": (10, 12)}
"""From and to (s): before the jump, the 2 s after it, under the load, the 2 s after its end."""
GOODPUTS = {name: f"mbps_{name}" for name in WINDOWS}
DELAYS = {name: f"p95_ms_{name}" for name in WINDOWS}
"""Names of measures by window: the goodput, and the 95th percentile of requests sent in it."""
OTHERS = ("greedy_mbps", "cell_jain", "downloads_s")
MEASURES = (*GOODPUTS.values(), *DELAYS.values(), *OTHERS)
SHARED_S = (7, 10)
"""When the leg and the full buffers share a cell: a second after the jump, to its end."""


@dc.run_measures(*MEASURES)
def measured(run: Path) -> dict[str, float]:
    """Return of a run the goodputs and delays by window, and what the other users of cells had.

    `greedy_mbps`: the mean of the full buffers; `cell_jain`: Jain's index of the throughputs of the
    leg and these; `downloads_s`: the mean delay of a byte of the downloads, by Little's law.
    """
    rates = pd.read_csv(run / "client-rate.csv")
    asked = pd.read_csv(run / "under-load.csv")
    values = {}
    for name, window in WINDOWS.items():
        got = np.interp(window, rates["time_s"], rates["received_bytes"])
        values[GOODPUTS[name]] = 8e-6 * (got[1] - got[0]) / (window[1] - window[0])
        sent = asked[asked["sent_s"].between(*window, inclusive="left")]
        values[DELAYS[name]] = sent["delay_ms"].fillna(PATIENCE_MS).quantile(0.95)
    return values | others(element_series(run, "gnb", "cells", "cell"))


def with_measures(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with all measures, read from their files where need be."""
    lacking = [name for name in MEASURES if name not in runs]
    return dc.results.with_measures(runs, *lacking) if lacking else runs


def others(table: pd.DataFrame) -> dict[str, float]:
    """Return what the other users of the cells had, of `gnb-cells.csv`."""
    downloaders = range(2, 2 + DOWNLOADERS)
    waiting = table[[f"waiting_bytes_{user}" for user in downloaders]].to_numpy().mean()
    last = table.groupby("cell").last()
    served = last[[f"served_bytes_{user}" for user in downloaders]].to_numpy().mean()
    first_full = max(downloaders) + 1
    (crowded,) = last.index[last[f"served_bytes_{first_full}"] > 0]
    rows = table[table["cell"] == crowded].filter(regex="time_s|served_bytes")
    at = [np.interp(SHARED_S, rows["time_s"], rows[name]) for name in rows.columns[1:]]
    leg, *full = [
        8e-6 * (end - begin) / (SHARED_S[1] - SHARED_S[0])
        for user, (begin, end) in enumerate(at, 1)
        if user == 1 or (user >= first_full and end)
    ]
    return {
        "greedy_mbps": float(np.mean(full)),
        "cell_jain": jain_index([leg, *full]),
        "downloads_s": float(waiting / served * last["time_s"].max()),
    }


def cases(version: str) -> Iterator[Case]:
    """Yield each network with both sides."""
    for point in dc.campaign.sobol(POINTS["full"], FACTORS)[: POINTS[version]]:
        labels = {**point, "experiment": "cells"}
        fields = fields_of(point) | {
            "workload": UnderLoad(idle_s=1, warm_up_s=3, interval_s=0.05, duration_s=12),
            "timeout_s": 120,
            "cells": [cell(point, number, mbps) for number, mbps, _ in halves(point)],
        }
        base = dc.Scenario(**fields)
        yield base.with_dc("deployable", xn_ms=5), {**labels, "way": "dc"}
        yield base.evolve(**MPQUIC), {**labels, "way": "mpquic"}
        if point["point"] <= REASONS:
            held = base.with_dc("deployable", xn_ms=5)
            held = held.evolve(pdcp={"flow_control": {"desired_ms": HELD_MS}})
            yield held, {**labels, "way": f"dc {HELD_MS} ms"}
            yield base.with_dc("ideal"), {**labels, "way": "dc ideal"}


def cell(point: Point, leg: int, mbps: float) -> Fields:
    """Return the cell of a leg that has so many Mbit/s alone; so has each other user."""
    rate, load = nine(mbps), nine(point["load"] * mbps / DOWNLOADERS)
    users: list[Fields] = [
        {"kind": "poisson", "rate_mbps": rate, "mean_mbps": load, "users": DOWNLOADERS,
         "download_mb": nine(mbps / 20)}
    ]  # fmt: skip
    if leg == point["jump_leg"]:
        full = {"kind": "full", "rate_mbps": rate, "users": point["full_buffers"]}
        users.append(full | {"times_s": [JUMP_S]})
    return {"legs": [leg], "scheduler": point["scheduler"], "background": users}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield medians by side, who is better when and in which cells, and what the others had."""
    mine = of(with_measures(runs), "cells")
    yield "Medians over networks", mine.groupby("way", sort=False)[[*MEASURES]].median().round(2)
    yield "DC over MP-QUIC: geometric means, with 95 % intervals", means(mine)
    faster = {f"goodput, {name}": sides(mine, column) for name, column in GOODPUTS.items()}
    yield "Goodput: DC against MP-QUIC", shares(faster, MARGIN)
    sooner = {f"delay, {name}": 1 / sides(mine, column) for name, column in DELAYS.items()}
    yield "Delay of requests: DC against MP-QUIC", shares(sooner, DELAY_MARGIN)
    theirs = {name: sides(mine, name) for name in OTHERS[:2]}
    theirs["downloads_s"] = 1 / sides(mine, "downloads_s")
    yield "What the other users had: beside DC against beside MP-QUIC", shares(theirs, MARGIN)
    after = sides(mine, GOODPUTS["up"]), 1 / sides(mine, DELAYS["up"])
    for what, ratios, margin in zip(
        ("Goodput", "Delay"), after, (MARGIN, DELAY_MARGIN), strict=True
    ):
        yield f"{what} in the 2 s after the jump, by cells", shares(dict(classes(ratios)), margin)
    some = mine[mine["point"] <= REASONS]
    some.attrs["labels"] = runs.attrs["labels"]
    for name, columns in (("Goodput", GOODPUTS), ("Delay", DELAYS)):
        kinds = {}
        for way in ("dc", f"dc {HELD_MS} ms", "dc ideal"):
            for window in ("before", "up"):
                ratios = sides(some, columns[window], way)
                kinds[f"{way}, {window}"] = ratios if name == "Goodput" else 1 / ratios
        margin = MARGIN if name == "Goodput" else DELAY_MARGIN
        yield f"{name} against MP-QUIC, of {REASONS} networks", shares(kinds, margin)


def means(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean ratio of each measure over the networks, as a text with its interval."""
    made = {name: mean(sides(runs, name)) for name in MEASURES}
    texts = {
        name: f"{ratio:.2f} ({interval.low:.2f} to {interval.high:.2f})"
        for name, (ratio, interval) in made.items()
    }
    return pd.DataFrame({"ratio": texts}).rename_axis("measure")


def sides(runs: pd.DataFrame, measure: str, way: str = "dc") -> Ratios:
    """Return the value of a Dual Connectivity over that of MP-QUIC at each network."""
    table = by_way(runs, measure, failed=LEAST, ways=(way, "mpquic")).clip(lower=LEAST)
    return (table[way] / table["mpquic"]).dropna()


def classes(ratios: Ratios) -> Iterator[tuple[str, Ratios]]:
    """Yield the ratios of some kinds of cells."""
    scheduler, leg, full = (
        ratios.index.get_level_values(name) for name in ("scheduler", "jump_leg", "full_buffers")
    )
    for name in ("round-robin", "proportional-fair"):
        yield name, ratios[scheduler == name]
    for number in (1, 2):
        yield f"jump in the cell of leg {number}", ratios[leg == number]
    yield "1 to 3 full buffers", ratios[full <= 3]
    yield "5 or 7 full buffers", ratios[full > 3]
