"""Do two QUIC stacks agree on Dual Connectivity or multipath?

Every tenth of the study's 512 networks, with downloads and CUBIC: picoquic and noq, each with Dual
Connectivity (the papers', deployable with 5 and 0 ms of Xn, ideal) against its own multipath, and
the medians of three seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from campaign import DOWNLOADS, fields_of
from ratios import MARGIN, by_way, percent
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.statistics import outcomes, signs

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 48, "quick": 4, "sample": 2}
STACKS = "picoquic", "noq"
MULTIPATH = "multipath"


def seeds(version: str) -> Sequence[int]:
    """Return the seeds of each case."""
    return (1, 2, 3) if version == "full" else (1,)


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each stack and each way."""
    for network in dc.campaign.sobol(512, DOWNLOADS)[::10][: POINTS[version]]:
        point = {**network, "control": "cubic"}
        for stack in STACKS:
            base = dc.Scenario(**fields_of(point)).evolve(transport=f"quic-{stack}")
            for way, scenario in ways(base, stack):
                yield scenario, {"stack": stack, "way": way, **point}


def ways(base: dc.Scenario, stack: str) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield multipath of a stack, and its Dual Connectivity."""
    yield MULTIPATH, base.evolve(**MPQUIC | {"transport": f"mpquic-{stack}"})
    yield "DC, papers'", base.with_dc("papers")
    for xn_ms in (5, 0):
        yield f"DC, Xn {xn_ms} ms", base.with_dc("deployable", xn_ms=xn_ms)
    yield "DC, ideal", base.with_dc("ideal")


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield each stack's shares of outcomes, and at how many networks the two have the same."""
    known = [stack for stack in STACKS if (runs["stack"] == stack).any()]
    ratios = {stack: against_multipath(runs, stack) for stack in known}
    rows = {
        (way, stack): outcomes_of(table[way]) for stack, table in ratios.items() for way in table
    }
    if not rows:
        return
    index = pd.MultiIndex.from_tuples(list(rows), names=["way", "stack"])
    shares = pd.DataFrame(list(rows.values()), index=index)
    yield "Dual Connectivity against multipath of the same stack", shares.sort_index()
    yield "Networks with one outcome over both stacks", agreement(ratios)


def against_multipath(runs: pd.DataFrame, stack: str) -> pd.DataFrame:
    """Return the ratio of the goodputs by network and way; a run that failed has 0."""
    mine = runs[runs["stack"] == stack]
    mine.attrs["labels"] = runs.attrs["labels"]
    goodputs = by_way(mine, "goodput_mbps", failed=0.0).droplevel("stack")
    others = goodputs.drop(columns=MULTIPATH, errors="ignore")
    return others.div(goodputs[MULTIPATH], axis=0) if MULTIPATH in goodputs else others


def outcomes_of(ratios: pd.Series) -> dict[str, Any]:
    """Return the shares of the three outcomes, and the quartiles of the ratio."""
    counted = outcomes(ratios.dropna().to_numpy(dtype=float), MARGIN)
    low, middle, high = counted.ratios
    return {
        "networks": counted.better.points,
        "better (%)": percent(counted.better),
        "tie (%)": percent(counted.tie),
        "worse (%)": percent(counted.worse),
        "ratio": f"{middle:.3f} ({low:.3f} to {high:.3f})",
    }


def agreement(ratios: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how many networks have the same outcome over both stacks, and how many opposite."""
    rows: dict[str, dict[str, int]] = {}
    for one, other in pairwise(ratios):
        for way in ratios[one].columns.intersection(ratios[other].columns):
            both = pd.concat([ratios[one][way], ratios[other][way]], axis=1).dropna()
            signed = [
                np.array(signs(both.iloc[:, side].to_numpy(float), MARGIN)) for side in (0, 1)
            ]
            rows[way] = {
                "networks": len(both),
                "same": int((signed[0] == signed[1]).sum()),
                "opposite": int((signed[0] * signed[1] == -1).sum()),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")
