"""The tables of the papers (j.: the journal paper), and our runs beside them.

An error is our mean over that of the thesis, less 1. A cell is a number of a table, such as the
goodput of one transport at one batch size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TABLES = Path(__file__).parent / "reference"


class Curve(NamedTuple):
    """A column of a table, and the measure of the runs that have it."""

    name: str
    way: str
    """Empty: that of all runs."""
    measure: str
    mean: str
    sd: str = ""


class Table(NamedTuple):
    """A table of `reference/`, with where its numbers are."""

    file: str
    theirs: str
    """The column of what varies; `ours` is the label of the runs."""
    ours: str
    curves: Sequence[Curve]
    where: Mapping[str, Sequence[str]] = {}
    """Texts that columns have, of tables with several parts."""


class Item(NamedTuple):
    """A table or figure of the papers; several that show the same numbers are one."""

    item: str
    shows: str
    campaign: str
    experiment: str
    table: Table
    why: str = ""
    """It is off."""


GOODPUT = [
    Curve(way, way, "goodput_mbps", f"{way}_mbps", f"{way}_sd")
    for way in ("quic", "quic_bm", "tcp")
]
NAMES = {"DC": "dc", "SC on leg 1": "sc1", "SC on leg 2": "sc2"}


def flows(measure: str, index: str) -> list[Curve]:
    """Return the curves of the fairness tables: three flows, and Jain's index."""
    rates = [
        Curve(name, "quic_bm", measure.format(flow), f"{column}_mbps", f"{column}_sd")
        for flow, (name, column) in enumerate(NAMES.items(), start=1)
    ]
    return [*rates, Curve("Jain's index", "quic_bm", index, "jfi")]


RECEIVED = flows("flow_{}_goodput_mbps", "jain_index")
LINKS = flows("links_flow_{}_mbps", "links_jain_index")
"""With duplication "the data was measured at the links" (section 5.3.5): both copies count."""
OVERHEAD = [
    Curve("goodput (Mbit/s)", "", "goodput_mbps", "throughput_mbps", "throughput_sd"),
    Curve("round-trip time (ms)", "", "rtt_ms", "rtt_ms", "rtt_sd"),
]
MATCHING = {"dc_ratio": [f"{half / 2:.1f}" for half in range(2, 11)]}
EVEN, LOW, HIGH = {"dc_ratio": ["1"]}, {"case": ["low"]}, {"case": ["high"]}
SPLIT, DUPLICATE = {"case": ["split"]}, {"case": ["duplicate"]}


def table(file: str, theirs: str, ours: str = "", *, curves: Sequence[Curve] = GOODPUT,
          where: Mapping[str, Sequence[str]] | None = None) -> Table:  # fmt: skip
    """Return a table of the thesis, whose column has the runs' label unless that is given."""
    return Table(f"thesis_table_5_{file}.csv", theirs, ours or theirs, curves, where or {})


def throughput(item: str, shows: str, experiment: str, of: Table, why: str = "") -> Item:
    """Return an item of sections 5.2.1 to 5.2.5."""
    return Item(item, f"throughput against {shows}", "throughput", experiment, of, why)


def fairness(item: str, shows: str, experiment: str, of: Table) -> Item:
    """Return an item of section 5.3."""
    of = of if of.curves is LINKS else of._replace(curves=RECEIVED)
    why = "tables 5.4, 5.9 disagree"
    return Item(item, f"fairness against {shows}", "fairness", experiment, of, why)


EQUAL, MATCHED = "the bandwidth ratio, DC ratio 1:1", "the bandwidth ratio, DC ratio that matches"
NEAR_DELAYS, FAR_DELAYS = (f"the delay ratio, {ms} ms together" for ms in (20, 200))
ITEMS = [
    Item(
        "Table 5.1; j. table 2",
        "one leg without and with PDCP proxies",
        "behaviour",
        "overhead",
        table("1_overhead", "case", curves=OVERHEAD),
    ),
    throughput(
        "Table 5.2, figure 5.4",
        "the file size",
        "file-size",
        table("2_file_size", "file_size_mb", "size_mb"),
    ),
    throughput(
        "Table 5.3, figure 5.5; j. figure 4a",
        "the batch size",
        "batch-size",
        table("3_batch_size", "batch_size_packets", "batch"),
        "open: the large buffer at batches of 350 and 400",
    ),
    throughput(
        "Table 5.4, figure 5.9; j. figure 7a",
        "the DC ratio",
        "dc-ratio",
        table("4_dc_ratio", "link1_percent"),
    ),
    throughput(
        "Table 5.5, figure 5.11a; j. figure 7b",
        EQUAL,
        "bandwidth-ratio",
        table("5_bandwidth_ratio", "bandwidth_ratio", where=EVEN),
    ),
    throughput(
        "Table 5.5, figure 5.11b; j. figure 7c",
        MATCHED,
        "bandwidth-and-dc-ratio",
        table("5_bandwidth_ratio", "bandwidth_ratio", where=MATCHING),
    ),
    throughput(
        "Table 5.6, figure 5.12a; j. figure 9a",
        NEAR_DELAYS,
        "delay-ratio-low",
        table("6_delay_ratio", "delay_ratio", where=LOW),
    ),
    throughput(
        "Table 5.6, figure 5.12b; j. figure 9b",
        FAR_DELAYS,
        "delay-ratio-high",
        table("6_delay_ratio", "delay_ratio", where=HIGH),
        "open: five cells of the large buffer, the default one 5 to 8 % too low; TCP, with both "
        "signs",
    ),
    throughput(
        "Table 5.7, figure 5.13a; j. figure 9c",
        "loss",
        "loss",
        table("7_loss", "loss_percent", where=SPLIT),
        "chance: five cells are off by 5 to 9 %, in both directions",
    ),
    throughput(
        "Table 5.7, figure 5.13b; j. figure 11a",
        "loss, duplicated",
        "loss-duplicate",
        table("7_loss", "loss_percent", where=DUPLICATE),
        "open: TCP at 2.6 and 3.4 %",
    ),
    fairness(
        "Table 5.8, figure 5.15; j. figure 5a",
        "the batch size",
        "batch-size",
        table("8_fairness_batch_size", "batch_size_packets", "batch"),
    ),
    fairness(
        "Table 5.9, figure 5.16; j. figure 8a",
        "the DC ratio",
        "dc-ratio",
        table("9_fairness_dc_ratio", "link1_percent"),
    ),
    fairness(
        "Table 5.10, figure 5.17a; j. figure 8b",
        EQUAL,
        "bandwidth-ratio",
        table("10_fairness_bandwidth_ratio", "bandwidth_ratio", where=EVEN),
    ),
    fairness(
        "Table 5.10, figure 5.17b; j. figure 8c",
        MATCHED,
        "bandwidth-and-dc-ratio",
        table("10_fairness_bandwidth_ratio", "bandwidth_ratio", where=MATCHING),
    ),
    fairness(
        "Table 5.11, figure 5.18a; j. figure 10a",
        NEAR_DELAYS,
        "delay-ratio-low",
        table("11_fairness_delay_ratio", "delay_ratio", where=LOW),
    ),
    fairness(
        "Table 5.11, figure 5.18b; j. figure 10b",
        FAR_DELAYS,
        "delay-ratio-high",
        table("11_fairness_delay_ratio", "delay_ratio", where=HIGH),
    ),
    fairness(
        "Table 5.12, figure 5.19a; j. figure 10c",
        "loss",
        "loss",
        table("12_fairness_loss", "loss_percent", where=SPLIT),
    ),
    fairness(
        "Table 5.12, figure 5.19b; j. figure 11b",
        "loss, duplicated",
        "loss-duplicate",
        table("12_fairness_loss", "loss_percent", curves=LINKS, where=DUPLICATE),
    ),
]
