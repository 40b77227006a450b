"""The tables of the papers (j.: the journal paper), and the measures of our runs for them.

An error is our mean over that of the thesis, less 1. A cell is a number of a table, such as the
goodput of one transport at one batch size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

TABLES = Path(__file__).parent / "reference"


class Curve(NamedTuple):
    """A column of a table, and the measure of the runs that have it."""

    name: str
    way: str
    """Empty: that of all runs."""
    measure: str
    mean: str
    sd: str = ""


class Item(NamedTuple):
    """A table or figure of the papers; several that show the same numbers are one.

    `reference/items.csv` has a row for each, by the names of these fields.
    """

    item: str
    shows: str
    campaign: str
    experiment: str
    file: str
    theirs: str
    """The column of what varies; `ours` is the label of the runs."""
    ours: str
    part: str
    """Of a table with several parts (`PARTS`)."""
    why: str
    """It is off."""

    @property
    def curves(self) -> Sequence[Curve]:
        """Return the columns of the table."""
        if (self.campaign, self.experiment) == ("fairness", "loss-duplicate"):
            return LINKS
        return CURVES[self.campaign]

    def rows(self) -> pd.DataFrame:
        """Return the rows of the table, as texts."""
        rows = pd.read_csv(TABLES / self.file, dtype=str)
        for column, texts in PARTS[self.part].items():
            rows = rows[rows[column].isin(texts)]
        return rows


def flows(measure: str, index: str) -> list[Curve]:
    """Return the curves of the fairness tables: three flows, and Jain's index."""
    names = {"DC": "dc", "SC on leg 1": "sc1", "SC on leg 2": "sc2"}
    rates = [
        Curve(name, "quic_bm", measure.format(flow), f"{column}_mbps", f"{column}_sd")
        for flow, (name, column) in enumerate(names.items(), start=1)
    ]
    return [*rates, Curve("Jain's index", "quic_bm", index, "jfi")]


CURVES = {
    "behaviour": [
        Curve("goodput (Mbit/s)", "", "goodput_mbps", "throughput_mbps", "throughput_sd"),
        Curve("round-trip time (ms)", "", "rtt_ms", "rtt_ms", "rtt_sd"),
    ],
    "throughput": [
        Curve(way, way, "goodput_mbps", f"{way}_mbps", f"{way}_sd")
        for way in ("quic", "quic_bm", "tcp")
    ],
    "fairness": flows("flow_{}_goodput_mbps", "jain_index"),
}
LINKS = flows("links_flow_{}_mbps", "links_jain_index")
"""With duplication "the data was measured at the links" (section 5.3.5): both copies count."""
PARTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "": {},
    "even": {"dc_ratio": ["1"]},
    "matching": {"dc_ratio": [f"{half / 2:.1f}" for half in range(2, 11)]},
    **{case: {"case": [case]} for case in ("low", "high", "split", "duplicate")},
}
"""Texts that columns have."""
ITEMS = [
    Item(*row)
    for row in pd.read_csv(TABLES / "items.csv", dtype=str).fillna("").to_numpy().tolist()
]
