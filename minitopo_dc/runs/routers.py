"""The settings of the elements on gnb and ue, derived from a scenario for either clock.

A flow is one server and one client with their workload. A scenario has one flow, or the flows of
its field `flows`. Each of several flows has its own bearer, also if it takes a single leg. A flow
that the transport splits has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from minitopo_dc.router import (
    Backend,
    ElementLeg,
    ElementSettings,
    Match,
    ReceiveBearer,
    ReportLeg,
    ReportPath,
    TransmitBearer,
    WifiEnd,
)
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.addresses import (
    REPORT_PORT,
    SERVER_PORT,
    client_address,
    leg_address,
    server_address,
)
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Leg, ResolvedFlow, Scenario
from minitopo_dc.settings import Direction, IpVersion, Pdcp


def client_legs(scenario: Scenario, flow: ResolvedFlow) -> tuple[int, ...]:
    """Return the legs whose client addresses a flow's transport uses, the primary one first.

    The flow's uplink takes the same legs.
    """
    if flow.mode in DUAL_CONNECTIVITY:  # also of a Minitopo checkout's experiment: no runner
        return flow.legs[:1]
    if flow.mode == "multipath" or get_runner(flow.transport).every_leg:
        return tuple(_numbers(scenario))
    return (flow.leg,)


def gnb_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """Return the network side's settings: downlink legs, and the split bearers if there are any."""
    return _settings(scenario, directory, "gnb", "downlink")


def ue_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """Return the terminal side's settings: uplink legs, and the bearers' reordering end."""
    return _settings(scenario, directory, "ue", "uplink")


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
            legs=tuple(_backhaul(scenario, direction, host)),
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
        legs=tuple(_legs(scenario, outbound, host)),
        transmit=tuple(transmit_bearers(scenario, outbound)),
        receive=tuple(_receive(scenario, inbound)),
    )


def _common(scenario: Scenario, directory: Path, host: str, outbound: Direction) -> dict[str, Any]:
    """Return what the settings of all router hosts take from the scenario."""
    return {
        "plugins": scenario.plugins,
        "host": host,
        "directory": directory,
        "ip_version": scenario.ip_version,
        "statistics_ms": scenario.statistics_ms,
        "backend": _backend(scenario),
        "core": scenario.real.core,
        "pcap": outbound if "legs" in scenario.real.capture else None,
    }


def _backend(scenario: Scenario) -> Backend:
    """Return the backend of the legs; `auto` is the user space's, which every kernel can carry."""
    return "kernel" if scenario.real.backend == "kernel" else "user"


def leg_seed(scenario: Scenario, leg: int, direction: Direction) -> str:
    """Return the seed of the losses and the jitter of one direction of a leg, for either clock."""
    return f"{scenario.seed}/{leg}/{direction}"


def _numbers(scenario: Scenario) -> range:
    return range(1, len(scenario.legs) + 1)


def _legs(scenario: Scenario, direction: Direction, host: str) -> Iterator[ElementLeg]:
    for number, leg in zip(_numbers(scenario), scenario.legs, strict=True):
        yield ElementLeg(
            leg=number,
            interface=f"{host}-leg{number}",
            radio=leg.direction(direction),
            seed=leg_seed(scenario, number, direction),
            shared=_wifi_end(leg, f"{scenario.seed}/{number}/wifi", direction),
        )


def _backhaul(scenario: Scenario, direction: Direction, host: str) -> Iterator[ElementLeg]:
    for number, link in enumerate(scenario.real.backhaul, start=1):
        yield ElementLeg(
            leg=number,
            interface=f"{host}-bh{number}",
            radio=link.direction(direction),
            seed=f"{scenario.seed}/backhaul/{number}/{direction}",
            shared=_wifi_end(link, f"{scenario.seed}/backhaul/{number}/wifi", direction),
        )


def _wifi_end(leg: Leg, seed: str, direction: Direction) -> WifiEnd | None:
    return None if leg.wifi is None else WifiEnd(wifi=leg.wifi, seed=seed, direction=direction)


def transmit_bearers(scenario: Scenario, direction: Direction) -> Iterator[TransmitBearer]:
    """Yield the bearers that gnb (downlink) or ue (uplink) splits, if any."""
    for index, flow in _flows_with_bearer(scenario, direction):
        yield TransmitBearer(
            bearer=_bearer(index, direction),
            interface=_entrance(scenario, flow, direction),
            match=_match(scenario, index, flow, direction),
            legs=_legs_of(flow, direction),
            pdcp=_pdcp(flow, direction),
            report=_report(scenario, index, flow, direction),
        )


def _entrance(scenario: Scenario, flow: ResolvedFlow, direction: Direction) -> str:
    """Return the interface by which a flow's SDUs enter: uplink that of the client's address."""
    if direction == "downlink":
        return "gnb-core"
    return f"ue-lan{client_legs(scenario, flow)[0]}"


def _receive(scenario: Scenario, direction: Direction) -> Iterator[ReceiveBearer]:
    for index, flow in _flows_with_bearer(scenario, direction):
        yield ReceiveBearer(
            bearer=_bearer(index, direction),
            match=_match(scenario, index, flow, direction),
            legs=_legs_of(flow, direction),
            pdcp=_pdcp(flow, direction),
            report=_report(scenario, index, flow, direction),
        )


def _report(
    scenario: Scenario, index: int, flow: ResolvedFlow, direction: Direction
) -> ReportPath | None:
    """Return the path of a bearer's reports, which go back over the bearer's own legs; or None."""
    if _pdcp(flow, direction).report_ms is None:
        return None
    legs = (_report_leg(leg, direction, scenario.ip_version) for leg in _legs_of(flow, direction))
    return ReportPath(legs=tuple(legs), port=REPORT_PORT + _bearer(index, direction))


def _report_leg(leg: int, direction: Direction, version: IpVersion) -> ReportLeg:
    gnb = ip_address(leg_address("gnb", leg, version))
    ue = ip_address(leg_address("ue", leg, version))
    if direction == "downlink":
        return ReportLeg(leg=leg, source=ue, destination=gnb)
    return ReportLeg(leg=leg, source=gnb, destination=ue)


def _flows_with_bearer(
    scenario: Scenario, direction: Direction
) -> Iterator[tuple[int, ResolvedFlow]]:
    """Yield the flows that have a bearer in a direction, each with its position."""
    if direction == "uplink" and not scenario.split_uplink:
        return
    for index, flow in enumerate(scenario.resolved_flows):
        if flow.mode != "multipath" and (scenario.flows or flow.mode != "sc"):
            yield index, flow


def _bearer(index: int, direction: Direction) -> int:
    """Return a bearer's number: the first flow has 1 (down) and 2 (up), the second 3 and 4, ..."""
    return 2 * index + (1 if direction == "downlink" else 2)


def _legs_of(flow: ResolvedFlow, direction: Direction) -> tuple[int, ...]:
    return flow.legs if direction == "downlink" else flow.uplink_legs


def _pdcp(flow: ResolvedFlow, direction: Direction) -> Pdcp:
    """Return a bearer's PDCP parameters; over a single leg the split is left out."""
    changed: dict[str, Any] = {"legs": None}  # the bearer itself has them
    if flow.mode == "sc":
        changed |= {"split": "batch", "ratio": None, "parameters": {}, "duplication": None}
    pdcp = flow.pdcp if direction == "downlink" else flow.uplink_pdcp
    return pdcp.model_copy(update=changed)


def _match(scenario: Scenario, index: int, flow: ResolvedFlow, direction: Direction) -> Match:
    """Return the filter of a flow's packets between server and client.

    It leaves out what a router sends in between, e.g. ICMP. Several flows are told apart by the
    server's port.
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
