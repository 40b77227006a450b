"""Do acknowledgements need more than the three blocks that TCP's have?

The slides say that QUIC copes better with losses, as its acknowledgements have up to 256 ranges and
TCP's SACK option two or three blocks (RFC 2018: three beside timestamps). Here are the authors'
networks with losses, one path, both directions losing. A range beyond the first one of QUIC is what
a block is to TCP. TCP without SACK says what all blocks are worth to it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from networks import Fields, Network, networks
from scapy.layers.inet import IP, TCP

import minitopo_dc as dc
from minitopo_dc.capture import read_capture
from minitopo_dc.results.qlog import SENT, qlog_events

MEASURES = ("most_blocks", "over_two_percent", "over_three_percent")
TCP_BLOCKS = 3
"""Of a SACK option beside timestamps (RFC 2018, section 3): more than three are never seen."""
LINUX: Fields = {
    "transport": "tcp",
    "options": {"tcp_info": True},
    "virtual": {"capture": ["client"]},
}
WAYS: dict[str, Fields] = {
    "QUIC": {"transport": "quic", "options": {"qlog": True}},
    "TCP": LINUX,
    "TCP without SACK": LINUX
    | {"virtual": LINUX["virtual"] | {"sysctl": {"net.ipv4.tcp_sack": "0"}}},
}
EXPERIMENT = "blocks"
CLASSES = ("low-bdp-losses", "high-bdp-losses")


def downloads(number: int) -> Iterator[Network]:
    """Yield downloads of 5 MB over the first path of so many networks of each class."""
    for losses in CLASSES:
        for scenario, labels in networks(losses, number):
            alone = scenario.evolve(mode="sc", leg=1, workload={"size_mb": 5})
            for way, fields in WAYS.items():
                more = {"experiment": EXPERIMENT, "losses": losses, "way": way}
                yield alone.evolve(**fields), labels | more


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield what acknowledgements hold, and what it is worth: medians over networks."""
    mine = runs[runs["experiment"] == EXPERIMENT]
    if mine.empty:
        return
    known = mine if set(MEASURES) <= set(mine) else dc.results.with_measures(mine, *MEASURES)
    network = ["losses", "point"]
    tcp = known[known["way"] == "TCP"].set_index(network)["goodput_mbps"].rename("tcp")
    known = known.join(tcp, on=network)
    known = known.assign(by_tcp=known["goodput_mbps"] / known["tcp"])
    table = known.groupby(["losses", "way"], sort=False)[[*MEASURES, "goodput_mbps", "by_tcp"]]
    yield "Blocks of acknowledgements: medians over networks", table.median()


@dc.run_measures(*MEASURES)
def blocks(run: Path) -> dict[str, float]:
    """Return the most blocks of an acknowledgement, and the shares (%) with more than two, three.

    Of all that the client sent; a share is NaN where TCP has no room for such.
    """
    logged = (run / "qlog").exists()
    numbers = pd.Series(quic_blocks(run) if logged else tcp_blocks(run), dtype=float)
    return {
        "most_blocks": numbers.max(),
        "over_two_percent": 100 * (numbers > TCP_BLOCKS - 1).mean(),
        "over_three_percent": 100 * (numbers > TCP_BLOCKS).mean() if logged else float("nan"),
    }


def quic_blocks(run: Path) -> list[int]:
    """Return for each ACK frame of the client the ranges beyond the first one."""
    frames = (
        frame
        for event in qlog_events(run, "client")
        if event["name"] == SENT and event["data"]["header"]["packet_type"] == "1RTT"
        for frame in event["data"]["frames"]
    )
    return [len(one["acked_ranges"]) - 1 for one in frames if one["frame_type"] == "ack"]


def tcp_blocks(run: Path) -> list[int]:
    """Return for each segment of the client without data the blocks of its SACK option."""
    with (run / "client.pcap").open("rb") as file:
        segments = [IP(packet)[TCP] for _, packet in read_capture(file)]
    acknowledgements = [one for one in segments if one.sport >= 50_000 and not one.payload]
    return [len(dict(one.options).get("SAck", ())) // 2 for one in acknowledgements]
