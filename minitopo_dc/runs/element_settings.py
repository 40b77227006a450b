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

from minitopo_dc.fields import Direction, IpVersion
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
    ElementCell,
    ElementLeg,
    ElementSettings,
    Match,
    OtherDirection,
    ReceiveBearer,
    ReportLeg,
    ReportPath,
    TransmitBearer,
    WifiEnd,
)

_network = cache(ip_network)

ROUTERS: tuple[Literal["gnb"], Literal["ue"]] = ("gnb", "ue")


def client_legs(scenario: Scenario, flow: ResolvedFlow) -> tuple[int, ...]:
    """Return the legs whose client addresses a flow's transport uses, the primary one first.

    The flow's uplink takes the same legs.
    """
    if flow.mode in DUAL_CONNECTIVITY:  # also of a Minitopo checkout's experiment: no runner
        return flow.legs[:1]
    if flow.paths is not None or flow.mode == "multipath" or get_runner(flow.transport).every_leg:
        return tuple(range(1, len(scenario.legs) + 1))
    return (flow.leg,)


def gnb_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """Return the network side's settings: downlink legs, and the split bearers if there are any."""
    return _settings(scenario, directory, "gnb", "downlink")


def ue_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """Return the terminal side's settings: uplink legs, and the bearers' reordering end."""
    return _settings(scenario, directory, "ue", "uplink")


def router_settings(scenario: Scenario, directory: Path) -> tuple[ElementSettings, ElementSettings]:
    """Return the settings of gnb and ue."""
    return gnb_settings(scenario, directory), ue_settings(scenario, directory)


def backhaul_settings(scenario: Scenario, directory: Path) -> tuple[ElementSettings, ...]:
    """Return the settings of the routers at the backhaul's ends, edge (downlink) and agg (uplink).

    Without a backhaul there are none.
    """
    if not scenario.real.backhaul:
        return ()
    ends: tuple[tuple[str, Direction], ...] = (("edge", "downlink"), ("agg", "uplink"))
    return tuple(
        ElementSettings(
            **_common(scenario, directory, host, direction),
            legs=tuple(
                _element_legs(
                    scenario.real.backhaul, direction, f"{host}-bh", f"{scenario.seed}/backhaul"
                )
            ),
        )
        for host, direction in ends
    )


def _settings(
    scenario: Scenario, directory: Path, host: str, outbound: Direction
) -> ElementSettings:
    """Return the settings of a router host that sends on the legs in direction `outbound`."""
    inbound: Direction = "uplink" if outbound == "downlink" else "downlink"
    return ElementSettings(
        **_common(scenario, directory, host, outbound),
        legs=tuple(_element_legs(scenario.legs, outbound, f"{host}-leg", str(scenario.seed))),
        cells=tuple(
            ElementCell(cell=cell, seed=f"{scenario.seed}/cell/{number}")
            for number, cell in enumerate(scenario.cells, start=1)
            if outbound == "downlink"
        ),
        transmit=tuple(transmit_bearers(scenario, outbound)),
        receive=tuple(ReceiveBearer(**fields) for _, fields in _bearers(scenario, inbound)),
    )


def _common(scenario: Scenario, directory: Path, host: str, outbound: Direction) -> dict[str, Any]:
    return {
        "plugins": scenario.plugins,
        "host": host,
        "directory": directory,
        "ip_version": scenario.ip_version,
        "statistics_ms": scenario.sampling_ms,
        # `auto` is the user space's, which every kernel can carry.
        "backend": "kernel" if scenario.real.backend == "kernel" else "user",
        "core": scenario.real.core,
        "pcap": outbound if "legs" in scenario.real.capture else None,
    }


def leg_seed(scenario: Scenario, leg: int, direction: Direction) -> str:
    """Return the seed of the losses and the jitter of one direction of a leg, for either clock."""
    return f"{scenario.seed}/{leg}/{direction}"


def _element_legs(
    links: Sequence[Leg], direction: Direction, interface: str, seed: str
) -> Iterator[ElementLeg]:
    for number, link in enumerate(links, start=1):
        wifi = link.wifi and WifiEnd(
            wifi=link.wifi, seed=f"{seed}/{number}/wifi", direction=direction
        )
        way_back: Direction = "uplink" if direction == "downlink" else "downlink"
        other = OtherDirection(
            interface=f"{_peer(interface)}{number}", radio=link.direction(way_back)
        )
        yield ElementLeg(
            leg=number,
            interface=f"{interface}{number}",
            radio=link.direction(direction),
            seed=f"{seed}/{number}/{direction}",
            shared=wifi,
            other=other if link.direction(direction).rlc and other.radio.rlc else None,
        )


OTHER_END = {"gnb": "ue", "ue": "gnb", "edge": "agg", "agg": "edge"}


def _peer(interface: str) -> str:
    """Return how interfaces at the other end of a host's legs begin."""
    host, _, rest = interface.partition("-")
    return f"{OTHER_END[host]}-{rest}"


def transmit_bearers(scenario: Scenario, direction: Direction) -> Iterator[TransmitBearer]:
    """Yield the bearers that gnb (downlink) or ue (uplink) splits, if any."""
    for flow, fields in _bearers(scenario, direction):
        # SDUs of the uplink enter by the interface of the client's address.
        uplink = f"ue-lan{client_legs(scenario, flow)[0]}"
        interface = "gnb-core" if direction == "downlink" else uplink
        yield TransmitBearer(interface=interface, **fields)


def _bearers(
    scenario: Scenario, direction: Direction
) -> Iterator[tuple[ResolvedFlow, dict[str, Any]]]:
    """Yield the flows that have a bearer in a direction, and what both its entities have of it.

    The first flow's bearers have the numbers 1 (down) and 2 (up), the second one's 3 and 4, ...
    """
    is_down = direction == "downlink"
    for index, flow in enumerate(scenario.resolved_flows):
        if flow.mode == "multipath" or (flow.mode == "sc" and not scenario.flows):
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
        fields = {"bearer": bearer, "legs": legs, "pdcp": pdcp}
        fields["match"] = _match(scenario, index, flow, direction)
        if pdcp.report_ms is not None:
            port = REPORT_PORT + bearer
            fields["report"] = _report(port, legs, direction, scenario.ip_version)
        if pdcp.echo_ms is not None:
            fields["echo"] = _report(ECHO_PORT + bearer, legs, direction, scenario.ip_version)
        yield flow, fields


def _report(port: int, legs: Sequence[int], direction: Direction, version: IpVersion) -> ReportPath:
    reports = []
    for leg in legs:
        gnb, ue = (ip_address(leg_address(host, leg, version)) for host in ROUTERS)
        source, destination = (ue, gnb) if direction == "downlink" else (gnb, ue)
        reports.append(ReportLeg(leg=leg, source=source, destination=destination))
    return ReportPath(legs=tuple(reports), port=port)


def _match(scenario: Scenario, index: int, flow: ResolvedFlow, direction: Direction) -> Match:
    """Return the filter of a flow's packets between server and client.

    It leaves out what a router sends in between, e.g. ICMP. Several flows are told apart by the
    server's port.
    """
    server = _network(server_address(version=scenario.ip_version))
    if not scenario.flows:
        leg = client_legs(scenario, flow)[0]
        client = _network(client_address(leg, scenario.ip_version))
        if direction == "downlink":
            return Match(source=server, destination=client)
        return Match(source=client, destination=server)
    protocol, port = get_runner(flow.transport).socket_table, SERVER_PORT + index
    if direction == "downlink":
        return Match(source=server, protocol=protocol, source_port=port)
    return Match(destination=server, protocol=protocol, destination_port=port)
