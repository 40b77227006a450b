"""From a scenario to the settings of the elements on gnb and ue, the same for both clocks.

A flow is what one server sends to one client. A scenario has one, that of its mode, or those of its
``flows``; then each flow has a bearer of its own, also one that takes a single leg, but not one
that the transport splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from minitopo_dc.addresses import SERVER_PORT, client_address, server_address
from minitopo_dc.element import (
    Backend,
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    TransmitBearer,
)
from minitopo_dc.scenario import FlowMode, ResolvedFlow, Scenario
from minitopo_dc.settings import Match, PdcpSettings
from runners.base import get_runner

Direction = Literal["downlink", "uplink"]


def client_legs(scenario: Scenario, flow: ResolvedFlow) -> tuple[int, ...]:
    """The legs whose client addresses a flow's transport uses, the primary one first.

    Its uplink takes them.
    """
    if flow.mode == "multipath":
        return tuple(_numbers(scenario))
    return (flow.leg if flow.mode == "sc" else 1,)


def gnb_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """The network side: downlink legs; the split bearers when there are any."""
    return ElementSettings(
        host="gnb",
        legs=tuple(_legs(scenario, "downlink", "gnb")),
        transmit=tuple(_transmit(scenario, "downlink")),
        receive=tuple(_receive(scenario, "uplink")),
        directory=directory,
        ip_version=scenario.ip_version,
        statistics_ms=scenario.statistics_ms,
        backend=_backend(scenario),
        pcap="downlink" if "legs" in scenario.capture else None,
    )


def ue_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """The terminal side: uplink legs; the reordering end of the bearers."""
    return ElementSettings(
        host="ue",
        legs=tuple(_legs(scenario, "uplink", "ue")),
        transmit=tuple(_transmit(scenario, "uplink")),
        receive=tuple(_receive(scenario, "downlink")),
        directory=directory,
        ip_version=scenario.ip_version,
        statistics_ms=scenario.statistics_ms,
        backend=_backend(scenario),
        pcap="uplink" if "legs" in scenario.capture else None,
    )


def backhaul_settings(scenario: Scenario, directory: Path) -> tuple[ElementSettings, ...]:
    """The routers at the backhaul's ends, edge (downlink) and agg (uplink), if there is any."""
    ends: tuple[tuple[str, Direction], ...] = (("edge", "downlink"), ("agg", "uplink"))
    return tuple(
        ElementSettings(
            host=host,
            legs=tuple(_backhaul(scenario, direction, host)),
            directory=directory,
            ip_version=scenario.ip_version,
            statistics_ms=scenario.statistics_ms,
            backend=_backend(scenario),
            pcap=direction if "legs" in scenario.capture else None,
        )
        for host, direction in ends
        if scenario.backhaul
    )


def _backend(scenario: Scenario) -> Backend:
    """Auto is the user space's, which every kernel can carry."""
    return "kernel" if scenario.backend == "kernel" else "user"


def leg_seed(scenario: Scenario, leg: int, direction: Direction) -> str:
    """What seeds the losses and the jitter of one direction of a leg, on either clock."""
    return f"{scenario.seed}/{leg}/{direction}"


def _numbers(scenario: Scenario) -> range:
    return range(1, len(scenario.legs) + 1)


def _legs(scenario: Scenario, direction: Direction, host: str) -> Iterator[ElementLeg]:
    for number, leg in zip(_numbers(scenario), scenario.legs, strict=True):
        yield ElementLeg(
            leg=number,
            interface=f"{host}-leg{number}",
            radio=getattr(leg, direction),
            seed=leg_seed(scenario, number, direction),
        )


def _backhaul(scenario: Scenario, direction: Direction, host: str) -> Iterator[ElementLeg]:
    for number, link in enumerate(scenario.backhaul, start=1):
        yield ElementLeg(
            leg=number,
            interface=f"{host}-bh{number}",
            radio=getattr(link, direction),
            seed=f"{scenario.seed}/backhaul/{number}/{direction}",
        )


def _transmit(scenario: Scenario, direction: Direction) -> Iterator[TransmitBearer]:
    for index, flow in _flows_with_bearer(scenario, direction):
        yield TransmitBearer(
            bearer=_bearer(index, direction),
            interface=_entrance(scenario, flow, direction),
            match=_match(scenario, index, flow, direction),
            legs=_legs_of(scenario, flow),
            pdcp=_pdcp(scenario, flow.mode),
        )


def _entrance(scenario: Scenario, flow: ResolvedFlow, direction: Direction) -> str:
    """Where a flow's SDUs enter: uplink by the interface that the client's address is behind."""
    if direction == "downlink":
        return "gnb-core"
    return f"ue-lan{client_legs(scenario, flow)[0]}"


def _receive(scenario: Scenario, direction: Direction) -> Iterator[ReceiveBearer]:
    for index, flow in _flows_with_bearer(scenario, direction):
        yield ReceiveBearer(
            bearer=_bearer(index, direction),
            match=_match(scenario, index, flow, direction),
            legs=_legs_of(scenario, flow),
            pdcp=_pdcp(scenario, flow.mode),
        )


def _flows_with_bearer(
    scenario: Scenario, direction: Direction
) -> Iterator[tuple[int, ResolvedFlow]]:
    """The flows that a direction has bearers for, with their position."""
    if direction == "uplink" and not scenario.split_uplink:
        return
    for index, flow in enumerate(scenario.resolved_flows):
        if flow.mode != "multipath" and (scenario.flows or flow.mode != "sc"):
            yield index, flow


def _bearer(index: int, direction: Direction) -> int:
    """Bearers 1 and 2 are the first flow's down and up, 3 and 4 the second's, and so on."""
    return 2 * index + (1 if direction == "downlink" else 2)


def _legs_of(scenario: Scenario, flow: ResolvedFlow) -> tuple[int, ...]:
    return (flow.leg,) if flow.mode == "sc" else tuple(_numbers(scenario))


def _pdcp(scenario: Scenario, mode: FlowMode) -> PdcpSettings:
    """A bearer's parameters; over one leg there is nothing to split."""
    if mode == "sc":
        return scenario.pdcp.model_copy(update={"split": "batch", "ratio": None, "parameters": {}})
    return scenario.bearer(mode)


def _match(scenario: Scenario, index: int, flow: ResolvedFlow, direction: Direction) -> Match:
    """What flows between server and client; not what a router says in between, e.g. by ICMP.

    Several flows are told apart by the server's port.
    """
    server = ip_network(server_address(version=scenario.ip_version))
    if not scenario.flows:
        leg = client_legs(scenario, flow)[0]
        client = ip_network(client_address(leg, scenario.ip_version))
        if direction == "downlink":
            return Match(source=server, destination=client)
        return Match(source=client, destination=server)
    protocol, port = get_runner(flow.transport).socket_table, SERVER_PORT + index
    if direction == "downlink":
        return Match(source=server, protocol=protocol, source_port=port)
    return Match(destination=server, protocol=protocol, destination_port=port)
