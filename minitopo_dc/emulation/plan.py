"""From a scenario to the settings of the elements on gnb and ue."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal

from minitopo_dc.element import ElementLeg, ElementSettings, ReceiveBearer, TransmitBearer
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import Match
from topologies.two_path import SERVER_ADDRESS, client_address

Direction = Literal["downlink", "uplink"]
DOWNLINK_BEARER, UPLINK_BEARER = 1, 2


def client_addresses(scenario: Scenario) -> tuple[str, ...]:
    """The client's addresses that the transport uses, the primary one first."""
    match scenario.mode:
        case "multipath":
            return tuple(client_address(leg) for leg in _numbers(scenario))
        case "sc":
            return (client_address(scenario.leg),)
        case _:
            return (client_address(1),)


def gnb_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """The network side: downlink legs; the split bearer when the mode has one."""
    return ElementSettings(
        host="gnb",
        legs=tuple(_legs(scenario, "downlink", "gnb")),
        transmit=tuple(_transmit(scenario, "downlink", "gnb-core")),
        receive=tuple(_receive(scenario, "uplink")),
        directory=directory,
        statistics_ms=scenario.statistics_ms,
    )


def ue_settings(scenario: Scenario, directory: Path) -> ElementSettings:
    """The terminal side: uplink legs; the reordering end of the bearer."""
    return ElementSettings(
        host="ue",
        legs=tuple(_legs(scenario, "uplink", "ue")),
        transmit=tuple(_transmit(scenario, "uplink", "ue-lan1")),
        receive=tuple(_receive(scenario, "downlink")),
        directory=directory,
        statistics_ms=scenario.statistics_ms,
    )


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


def _split_directions(scenario: Scenario) -> tuple[Direction, ...]:
    if not scenario.mode.startswith("dc"):
        return ()
    return ("downlink", "uplink") if scenario.split_uplink else ("downlink",)


def _transmit(scenario: Scenario, direction: Direction, interface: str) -> Iterator[TransmitBearer]:
    if direction in _split_directions(scenario):
        yield TransmitBearer(
            bearer=_bearer(direction),
            interface=interface,
            match=_match(direction),
            legs=tuple(_numbers(scenario)),
            pdcp=scenario.bearer(),
        )


def _receive(scenario: Scenario, direction: Direction) -> Iterator[ReceiveBearer]:
    if direction in _split_directions(scenario):
        yield ReceiveBearer(
            bearer=_bearer(direction),
            match=_match(direction),
            legs=tuple(_numbers(scenario)),
            pdcp=scenario.bearer(),
        )


def _bearer(direction: Direction) -> int:
    return DOWNLINK_BEARER if direction == "downlink" else UPLINK_BEARER


def _match(direction: Direction) -> Match:
    """What flows between server and client; not what a router says in between, e.g. by ICMP."""
    server, client = IPv4Network(SERVER_ADDRESS), IPv4Network(client_address(1))
    if direction == "downlink":
        return Match(source=server, destination=client)
    return Match(source=client, destination=server)
