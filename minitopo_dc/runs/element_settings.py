"""The settings of the elements on gnb and ue, derived from a scenario for either clock.

A flow is one server and one client with their workload. A scenario has one flow, or the flows of
its field `flows`. Each of several flows has its own bearer, also if it takes a single leg. A flow
that the transport splits has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

from minitopo_dc.fields import OPPOSITE, Direction, IpVersion
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Leg, ResolvedFlow, Scenario
from minitopo_dc.scenario.addresses import (
    ECHO_PORT,
    REPORT_PORT,
    SERVER_PORT,
    client_address,
    leg_address,
    server_address,
)
from minitopo_dc.scenario.element import (
    Bearer,
    ElementCell,
    ElementLeg,
    ElementSettings,
    Match,
    OtherDirection,
    ReportLeg,
    ReportPath,
    TransmitBearer,
    WifiEnd,
)

_network = cache(ip_network)
ENDS: tuple[tuple[Literal["gnb", "ue"], Direction], ...] = (("gnb", "downlink"), ("ue", "uplink"))
"""The router hosts at the legs' ends, and the direction in which each sends on them."""
BACKHAUL_ENDS: tuple[tuple[str, Direction], ...] = (("edge", "downlink"), ("agg", "uplink"))
OTHER_END = {"gnb": "ue", "ue": "gnb", "edge": "agg", "agg": "edge"}


def client_legs(flow: ResolvedFlow, legs: int) -> tuple[int, ...]:
    """Return those of so many legs whose client addresses a flow uses, the primary one first.

    The flow's uplink takes the same legs.
    """
    if flow.mode in DUAL_CONNECTIVITY:  # also of a Minitopo checkout's experiment: no runner
        return flow.legs[:1]
    if flow.paths is not None or flow.mode == "multipath" or get_runner(flow.transport).every_leg:
        return tuple(range(1, legs + 1))
    return (flow.leg,)


def router_settings(scenario: Scenario, directory: Path) -> tuple[ElementSettings, ...]:
    """Return the settings of gnb and ue, and, with a backhaul, of the routers at its ends.

    gnb has the downlinks and the split bearers, ue the uplinks and the bearers' reordering ends.
    """
    flows, version, legs = scenario.resolved_flows, scenario.ip_version, len(scenario.legs)
    common = {
        "plugins": scenario.plugins,
        "directory": directory,
        "ip_version": version,
        "statistics_ms": scenario.sampling_ms,
        # `auto` is the user space's, which every kernel can carry.
        "backend": "kernel" if scenario.real.backend == "kernel" else "user",
        "core": scenario.real.core,
    }
    captured = "legs" in scenario.real.capture
    seed, cells = str(scenario.seed), enumerate(scenario.cells, start=1)
    bearers = {way: list(bearers_of(flows, way, version, legs)) for _, way in ENDS}
    shared = tuple(ElementCell(cell=cell, seed=f"{seed}/cell/{number}") for number, cell in cells)
    hosts = [
        ElementSettings(
            **{**common, "host": host, "pcap": way if captured else None},
            legs=tuple(_element_legs(scenario.legs, way, f"{host}-leg", seed)),
            cells=shared if way == "downlink" else (),
            transmit=tuple(TransmitBearer(interface=it, **own) for it, own in bearers[way]),
            receive=tuple(Bearer(**own) for _, own in bearers[OPPOSITE[way]]),
        )
        for host, way in ENDS
    ]
    for host, way in BACKHAUL_ENDS if scenario.real.backhaul else ():
        own = {**common, "host": host, "pcap": way if captured else None}
        links = _element_legs(scenario.real.backhaul, way, f"{host}-bh", f"{seed}/backhaul")
        hosts.append(ElementSettings(**own, legs=tuple(links)))
    return tuple(hosts)


def leg_seed(scenario: Scenario, leg: int, direction: Direction) -> str:
    """Return the seed of the losses and the jitter of one direction of a leg, for either clock."""
    return f"{scenario.seed}/{leg}/{direction}"


def _element_legs(
    links: Sequence[Leg], direction: Direction, interface: str, seed: str
) -> Iterator[ElementLeg]:
    host, _, kind = interface.partition("-")
    for number, link in enumerate(links, start=1):
        wifi = link.wifi and WifiEnd(
            wifi=link.wifi, seed=f"{seed}/{number}/wifi", direction=direction
        )
        back = link.direction(OPPOSITE[direction])
        other = OtherDirection(interface=f"{OTHER_END[host]}-{kind}{number}", radio=back)
        yield ElementLeg(
            leg=number,
            interface=f"{interface}{number}",
            radio=link.direction(direction),
            seed=f"{seed}/{number}/{direction}",
            shared=wifi,
            other=other if link.direction(direction).rlc and back.rlc else None,
        )


def bearers_of(
    flows: Sequence[ResolvedFlow], direction: Direction, version: IpVersion, addresses: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield by which interface SDUs enter each bearer of a direction, and what both its ends know.

    The first flow's bearers have the numbers 1 (down) and 2 (up), the second one's 3 and 4, ...
    The packets of a scenario that is its one flow are known by their hosts.

    Args:
        flows: of the scenario.
        direction: that of the bearers.
        version: of IP.
        addresses: those of the client, one a leg.
    """
    is_down = direction == "downlink"
    for index, flow in enumerate(flows):
        alone = flow.number is None
        if flow.mode == "multipath" or (flow.mode == "sc" and alone):
            continue
        if not (is_down or flow.splits_uplink):
            continue
        bearer = 2 * index + (1 if is_down else 2)
        legs = flow.legs if is_down else flow.uplink_legs
        pdcp = flow.pdcp if is_down else flow.uplink_pdcp
        changed: dict[str, Any] = {"legs": None}  # the bearer itself has them
        if flow.mode == "sc":  # there is nothing to split
            changed |= {"split": "batch", "ratio": None, "parameters": {}, "duplication": None}
            changed |= {"echo_ms": None}
        pdcp = pdcp.model_copy(update=changed)
        leg = client_legs(flow, addresses)[0]
        port = None if alone else SERVER_PORT + index
        fields = {"bearer": bearer, "legs": legs, "pdcp": pdcp}
        fields["match"] = _match(flow.transport, port, client_address(leg, version), direction)
        if pdcp.report_ms is not None:
            fields["report"] = _report(REPORT_PORT + bearer, legs, direction, version)
        if pdcp.echo_ms is not None:
            fields["echo"] = _report(ECHO_PORT + bearer, legs, direction, version)
        # SDUs of the uplink enter by the interface of the client's address.
        yield "gnb-core" if is_down else f"ue-lan{leg}", fields


def _report(port: int, legs: Sequence[int], direction: Direction, version: IpVersion) -> ReportPath:
    reports = []
    for leg in legs:
        gnb, ue = (ip_address(leg_address(host, leg, version)) for host, _ in ENDS)
        source, destination = (ue, gnb) if direction == "downlink" else (gnb, ue)
        reports.append(ReportLeg(leg=leg, source=source, destination=destination))
    return ReportPath(legs=tuple(reports), port=port)


def _match(transport: str, port: int | None, client: str, direction: Direction) -> Match:
    """Return the filter of a flow's packets between server and client.

    It leaves out what a router sends in between, e.g. ICMP. Several flows are told apart by the
    server's port; None: there is one.
    """
    remote = _network(client)
    server = _network(server_address(version=6 if remote.version == 6 else 4))
    is_down = direction == "downlink"
    if port is None:
        source, destination = (server, remote) if is_down else (remote, server)
        return Match(source=source, destination=destination)
    protocol = get_runner(transport).socket_table
    if is_down:
        return Match(source=server, protocol=protocol, source_port=port)
    return Match(destination=server, protocol=protocol, destination_port=port)
