"""Where video is watched and calls are made, and the ways of both campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from claims import Claim, table
from networks import Fields, drive, lte_pair, outages
from ratios import by_way, of
from ways import ALONE, COPIES, LEAST_DELAY, MPQUIC, cubic_of, dual

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
Values = Mapping[str, Sequence[float]]
"""Of a factor, by version of the campaign."""
BEARER: Fields = {**LEAST_DELAY, "report_ms": 20, "data_recovery": True}
LTE: Values = {"full": range(0, 60, 10), "quick": (0, 20, 40), "sample": (0,)}
"""Where in the traces a run begins (s)."""
DRIVES: Values = {"full": range(0, 1800, 100), "quick": (0, 600, 1200), "sample": (600,)}
AWAY: Values = {"full": (0.2, 0.5, 1, 2, 5), "quick": (0.5, 5), "sample": (2,)}
"""For how long a leg is away (s)."""


def ways(deadline_ms: float) -> dict[str, Fields]:
    """Return the ways of both; selective DC copies what would come later than the deadline."""
    late = {"packets": ["handshake", "ack"], "deadline_ms": deadline_ms}
    return {
        **ALONE,
        "dc-batch": {},  # the papers': batches of 100, the uplink on leg 1
        "dc-adaptive": dual(BEARER),
        "dc-selective": dual(BEARER | {"duplication": late}),
        "dc-duplicate": COPIES,
        "mpquic": MPQUIC,
    }


def places(
    version: str, label: str, values: Values, pair: Callable[[float], list[dc.Leg]]
) -> Iterator[tuple[dict[str, Any], Fields]]:
    """Yield the labels of each place, and what a scenario has of it.

    Args:
        version: of the campaign.
        label: what varies of the legs of 5G and WiFi.
        values: its values.
        pair: returns these legs.
    """
    for name, legs, starts in (
        ("lte", lte_pair(), LTE),
        ("residential", drive("drive"), DRIVES),
        ("road", drive("road"), DRIVES),
    ):
        for start in starts[version]:
            fields = {"legs": legs, "trace_offset_s": start}
            yield {"experiment": name, "start_s": start}, fields
    for value in values[version]:
        yield {"experiment": "pair", label: value}, {"legs": pair(value)}
    for away in AWAY[version]:
        yield {"experiment": "outages", "away_s": away}, {"legs": outages(away)}


def at(place: tuple[dict[str, Any], Fields], name: str, **way: Any) -> Case:
    """Return the case of a place and a way."""
    labels, fields = place
    common: Fields = {
        "transport": "quic-picoquic",
        "mode": "dc",
        "clock": "virtual",
    }
    chosen = common | fields | way
    control = cubic_of(chosen["transport"])
    return dc.Scenario(**chosen, congestion_control=control), {"way": name, **labels}


def by_measure(runs: pd.DataFrame, measures: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return of each measure a row for each point and a column for each way."""
    return {name: by_way(runs, name) for name in measures}


def judged(
    runs: pd.DataFrame, claims: Callable[[pd.DataFrame], Iterator[Claim]]
) -> Iterator[tuple[str, Any]]:
    """Yield the claims of each experiment; they are functions of its runs."""
    for name in runs["experiment"].unique():
        mine = of(runs, name)
        used = (mine["leg_bytes_1"] + mine["leg_bytes_2"]) / mine["size_bytes"]
        mine = mine.assign(bytes_per_byte=used)
        mine.attrs["labels"] = runs.attrs["labels"]
        yield f"{name}: claims", table(claims(mine))
