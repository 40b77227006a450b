"""What does the operator's third way, ATSSS, make of two legs?

64 networks of downloads and 64 of requests, with the server 5 and 50 ms (one way) behind the UPF.
Over QUIC: deployable Dual Connectivity with 5 ms of Xn, ATSSS-LL by smallest delay, for each packet
and for the whole flow, MP-QUIC to the server, and QUIC through an MP-QUIC tunnel to the UPF. Over
TCP: the same Dual Connectivity, ATSSS-LL for each packet, MPTCP to the server, and MPTCP to a proxy
on the UPF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from campaign import ASKED, OF_TCP, fields_of, first_networks
from networks import Point
from ratios import DELAY_MARGIN, MARGIN, Ratios, of, shares, speeds
from ways import MPQUIC, MPTCP, TCP, Fields

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 64, "quick": 2, "sample": 2}
OVER_TCP = {"full": 64, "quick": 1, "sample": 1}
SERVERS_MS = (5, 50)
"""A server at the network's edge, and one in another country."""
CONTROLS = {"control": ["cubic", "reno"]}
"""Of TCP: those that kernel and picoquic have in common."""
LL: Fields = {"mode": "atsss"}
MODE_2 = {"tunnel_reordering_ms": 0}
"""Payloads without numbers, as they were when this was measured."""
FLOW: Fields = {"split": "smallest-delay", "parameters": {"per": "flow"}}
MARGINS = {"download": MARGIN, "requests": DELAY_MARGIN}
NAMES = {
    "dc": "Dual Connectivity",
    "ll": "ATSSS-LL",
    "ll-flow": "ATSSS-LL, a leg for the flow",
    "proxy": "MPTCP to a proxy",
    "tunnel": "QUIC through an MP-QUIC tunnel",
}
MULTIPATH = {"quic": "MP-QUIC", "tcp": "MPTCP to the server"}


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each way and server, over QUIC and over TCP."""
    for experiment, point in first_networks(POINTS[version]):
        yield from at(experiment, point, "quic", MPQUIC)
    number = OVER_TCP[version]
    for experiment, points, factors in (("download", 512, OF_TCP), ("requests", 256, ASKED)):
        for point in dc.campaign.sobol(points, factors | CONTROLS)[:number]:
            yield from at(experiment, point, "tcp", MPTCP)


def at(experiment: str, point: Point, stack: str, several: Fields) -> Iterator[Case]:
    """Yield a network with each server and way of a stack."""
    for server_ms in SERVERS_MS:
        fields = fields_of(point) | {"server_delay_ms": server_ms}
        base = dc.Scenario(**fields | (TCP if stack == "tcp" else {}))
        ways = {
            "dc": base.with_dc("deployable", xn_ms=5),
            "ll": base.evolve(**LL),
            "multipath": base.evolve(**several),
        }
        if stack == "tcp":
            ways["proxy"] = base.evolve(**several | {"mode": "atsss"})
        else:
            ways["ll-flow"] = base.evolve(**LL, pdcp=FLOW)
            ways["tunnel"] = base.evolve(**several | LL, options=base.options | MODE_2)
        labels = {"experiment": experiment, "stack": stack, "server_ms": server_ms, **point}
        for way, scenario in ways.items():
            yield scenario, {**labels, "way": way}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield each way against each other one, by stack, server and workload."""
    for stack in runs["stack"].unique():
        for experiment, margin in MARGINS.items():
            mine = runs[(runs["stack"] == stack) & (runs["experiment"] == experiment)]
            mine.attrs["labels"] = runs.attrs["labels"]
            if not mine.empty:
                names = {**NAMES, "multipath": MULTIPATH[stack]}
                table = shares(pairs(mine, experiment, names), margin)
                yield f"{experiment} over {stack.upper()}", table


def pairs(runs: pd.DataFrame, experiment: str, names: Mapping[str, str]) -> dict[str, Ratios]:
    """Return the ratios of ways by their names and the server; above 1 the first one is better."""
    table = speeds(of(runs, experiment), experiment)
    sides = {}
    for server_ms in SERVERS_MS:
        near = table[table.index.get_level_values("server_ms") == server_ms]
        for first, second in (
            *(("ll", "dc"), ("ll-flow", "dc"), ("ll", "multipath"), ("ll-flow", "multipath")),
            *(("proxy", "dc"), ("proxy", "multipath"), ("dc", "multipath")),
            *(("tunnel", "dc"), ("tunnel", "multipath"), ("tunnel", "ll")),
        ):
            if {first, second} <= set(near.dropna(axis=1, how="all")):
                name = f"{names[first]} against {names[second]}, server {server_ms} ms"
                sides[name] = near[first] / near[second]
    return sides
