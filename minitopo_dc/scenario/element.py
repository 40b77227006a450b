"""The one file of settings that configures an element."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, IPvAnyAddress, IPvAnyNetwork, model_validator

from minitopo_dc.fields.base import LeftOut, Settings
from minitopo_dc.fields.ranges import Direction, IpVersion, Number, WholeInterval
from minitopo_dc.link import AnyLeg, WifiPath, make_leg
from minitopo_dc.pdcp import FlowControl
from minitopo_dc.registry import with_loaded_plugins
from minitopo_dc.scenario.cell import CellSettings
from minitopo_dc.scenario.checks import check_unseen_legs
from minitopo_dc.scenario.layer2 import WifiSettings
from minitopo_dc.scenario.leg import LegDirection, MakeLeg
from minitopo_dc.scenario.pdcp import Pdcp
from minitopo_dc.units import UNLIMITED, QueueLimit

READY = "ready"
"""The line an element prints once packets reach it."""

Backend = Literal["user", "kernel"]
Core = Literal["native", "python"]
ChosenCore = Literal["auto", "native", "python"]
"""What computes: `auto` is the native core where it is built and has all that is needed."""
LegNumber = Annotated[int, Field(ge=1, le=255)]
"""A leg's number is also its firewall mark, of which the element uses the lowest byte."""
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
Port = Field(default=None, ge=1, le=65535)


class Match(Settings):
    """The packets that belong to a bearer; a field that is left out matches everything."""

    source: IPvAnyNetwork | None = None
    destination: IPvAnyNetwork | None = None
    """IPv4 or IPv6 networks, both of one version."""
    protocol: Literal["tcp", "udp", "icmp"] | None = None
    source_port: int | None = Port
    destination_port: int | None = Port

    @model_validator(mode="after")
    def _check(self) -> Self:
        ports = self.source_port is not None or self.destination_port is not None
        if ports and self.protocol not in ("tcp", "udp"):
            raise ValueError("a port needs protocol: tcp or udp")
        if self.source and self.destination and self.source.version != self.destination.version:
            raise ValueError(
                f"source {self.source} and destination {self.destination}: "
                "allowed are two IPv4 networks or two IPv6 networks"
            )
        return self

    @property
    def ip_version(self) -> IpVersion | None:
        """Return the IP version of the networks; None when no network is given (either version)."""
        network = self.source or self.destination
        return None if network is None else network.version


class WifiEnd(Settings):
    """What a direction of a leg over WiFi shares with the other one, and which of them it is."""

    wifi: WifiSettings
    seed: str
    """Seeds the mediums: back-offs, errors, others."""
    direction: Direction


class OtherDirection(Settings):
    """The other direction of a leg with RLC: its status reports cross this one, and wake it."""

    interface: Interface
    """By which it leaves the host at the leg's other end."""
    radio: LegDirection


class WireLeg(Settings):
    """A leg through `interface` that the element does not emulate: packets go on at once."""

    leg: LegNumber
    interface: Interface


class ElementLeg(WireLeg):
    """The direction of a leg that leaves this host through `interface`."""

    radio: LegDirection
    seed: str
    """Seeds the losses and the jitter of this direction."""
    shared: LeftOut[WifiEnd | None] = None
    """Of a leg over WiFi, whose both directions must be in one process."""
    other: LeftOut[OtherDirection | None] = None
    """Of a leg with RLC: the direction that another process has, and shows in memory of both."""

    @model_validator(mode="before")
    @classmethod
    def _copy_medium(cls, values: Any) -> Any:
        """Copy the medium, which a file holds once, into the direction."""
        match values:
            case {"shared": Mapping() as shared, "radio": Mapping() as radio}:
                return {**values, "radio": {**radio, "wifi": shared.get("wifi")}}
        return values

    def build(self, paths: Mapping[int, WifiPath], *, make: MakeLeg = make_leg) -> AnyLeg[Any]:
        """Return the leg; `paths` has those of legs over WiFi by number (`wifi_paths`).

        `make` makes a leg that has no `wifi`.

        Raises:
            SettingsError, TraceError: the trace is missing or wrong.
        """
        uplink = self.shared is not None and self.shared.direction == "uplink"
        return self.radio.build(self.seed, paths.get(self.leg), uplink=uplink, make=make)


class ElementCell(Settings):
    """A cell in which legs are that leave this host."""

    cell: CellSettings
    seed: str
    """Seeds its background users."""


class NextHop(Settings):
    """The far end of a leg, whose neighbour and route the element keeps while the interface is up.

    A leg that has one is watched: while its interface is down, bearers use the others.
    """

    leg: LegNumber
    gateway: IPv4Address
    """The far end; the route is `onlink`, so that any address does."""
    link_layer: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$")]
    """The far end's address on the link: nothing has to be found, as with a radio bearer."""
    table: Annotated[int, Field(ge=1, lt=1 << 32)]
    """The routing table of what is marked for the leg; it gets a default route."""


class ReportLeg(Settings):
    """A leg that reports may take: the direction that leaves the receiver."""

    leg: LegNumber
    source: IPvAnyAddress
    destination: IPvAnyAddress
    """An address of the transmitter, which listens there; of the source's version."""

    @model_validator(mode="after")
    def _check_ip_version(self) -> Self:
        if self.source.version != self.destination.version:
            raise ValueError("source and destination must be of one IP version")
        return self

    def back(self) -> ReportLeg:
        """Return the same leg from the transmitter to the receiver."""
        return ReportLeg(leg=self.leg, source=self.destination, destination=self.source)


class ReportPath(Settings):
    """The way back of the receiver's reports of a bearer, which are a UDP datagram each.

    Echoes take the same, there and back.
    """

    legs: Annotated[tuple[ReportLeg, ...], Field(min_length=1)]
    """A report takes the first one that is up then; with `pdcp.leg_failure_ms` all that are.

    None is: as if all were.
    """
    port: Annotated[int, Field(ge=1, le=65535)]
    """At both ends."""


class Bearer(Settings):
    """Settings of a bearer that both its ends know.

    They are all that a receiver needs, where PDUs enter by the interfaces of `legs`.
    """

    bearer: Number
    match: Match = Match()
    legs: Annotated[tuple[LegNumber, ...], Field(min_length=1)]
    pdcp: Pdcp = Pdcp()
    report: ReportPath | None = None
    """The way of the receiver's reports, required where `pdcp.report_ms` asks for any."""
    echo: LeftOut[ReportPath | None] = None
    """The way of the answers to echoes, on all legs, where `pdcp.echo_ms` asks for any."""

    @model_validator(mode="after")
    def _check_ways(self) -> Self:
        if self.pdcp.legs is not None:
            raise ValueError("pdcp.legs: an element's bearer has its legs in legs")
        if self.report is None and self.pdcp.report_ms is not None:
            raise ValueError("report: pdcp.report_ms needs the way that reports take")
        if self.echo is None and self.pdcp.echo_ms is not None:
            raise ValueError("echo: pdcp.echo_ms needs the way that echoes take")
        return self


class TransmitBearer(Bearer):
    """A bearer whose SDUs enter by `interface` and whose PDUs leave on `legs`."""

    interface: Interface


class ElementSettings(Settings):
    """Everything one element process needs to know."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    legs: tuple[ElementLeg, ...]
    wires: LeftOut[tuple[WireLeg, ...]] = ()
    """Further legs, which somebody else emulates, or nobody."""
    next_hops: LeftOut[tuple[NextHop, ...]] = ()
    """Of legs and wires whose interfaces may go down and come up."""
    cells: LeftOut[tuple[ElementCell, ...]] = ()
    """Cells that legs of this host share."""
    transmit: tuple[TransmitBearer, ...] = ()
    receive: tuple[Bearer, ...] = ()
    directory: Path
    """Where the time series and the summary go; it must exist."""
    ip_version: IpVersion = 4
    """6: the hosts have IPv6 beside IPv4, and the legs carry both."""
    statistics_ms: WholeInterval = 100
    """Interval of the time series; 100 ms shows a t-Reordering of 200 ms as two points."""
    realtime: bool = True
    """Ask for SCHED_FIFO (chrt -f), which keeps timers within 0.1 ms on a busy machine."""

    backend: Backend = "user"
    """Whether legs are this process' or the kernel's netem and tbf (`kernel_leg`)."""
    core: LeftOut[ChosenCore] = "auto"
    """What carries packets: C, or Python with the package NetfilterQueue."""
    pcap: Direction | None = None
    """Write one capture per leg, of a host whose packets leave in this direction; none: none."""
    plugins: tuple[str, ...] = ()
    """Modules or Python files with split policies and queue disciplines of the user's."""

    @model_validator(mode="before")
    @classmethod
    def _load(cls, values: Any) -> Any:
        return with_loaded_plugins(values)

    @model_validator(mode="after")
    def _check_leg_numbers(self) -> Self:
        if self.backend == "kernel":
            self._check_kernel_backend()
        known = [leg.leg for leg in self._all_legs]
        if len(set(known)) != len(known):
            raise ValueError("legs: each leg may be given once")
        for hop in self.next_hops:
            if hop.leg not in known:
                raise ValueError(f"next_hops: unknown leg {hop.leg}; known: {known}")
        for bearer in self.bearers:
            if bearer.match.ip_version not in (None, *self.ip_versions):
                raise ValueError(f"bearer {bearer.bearer}: matches IPv6, which needs ip_version: 6")
            if len(set(bearer.legs)) != len(bearer.legs):
                raise ValueError(f"bearer {bearer.bearer}: names a leg twice")
            ways = [path.legs for path in (bearer.report, bearer.echo) if path is not None]
            for leg in (*bearer.legs, *(way.leg for legs in ways for way in legs)):
                if leg not in known:
                    raise ValueError(f"bearer {bearer.bearer}: unknown leg {leg}; known: {known}")
        wires = {wire.leg for wire in self.wires}
        if wires and self.pcap:
            raise ValueError("pcap: needs legs of the element's own; it does not see wires")
        for bearer in self.bearers:
            if wires.intersection(bearer.legs):
                check_unseen_legs(bearer.pdcp, len(bearer.legs), of_kernel=False)
        return self

    def _check_kernel_backend(self) -> None:
        """Refuse settings that have to see or fill a leg which is the kernel's."""
        if self.next_hops:
            raise ValueError("next_hops: needs backend: user; the kernel's legs cannot be down")
        if self.cells:
            raise ValueError("cells: needs backend: user; the kernel's legs are in none")
        if self.pcap:
            raise ValueError(
                "pcap: needs backend: user; the element does not see the kernel's legs"
            )
        for bearer in self.bearers:
            check_unseen_legs(bearer.pdcp, len(bearer.legs), of_kernel=True)

    @property
    def bearers(self) -> tuple[Bearer, ...]:
        """Return the bearers that transmit, then those that receive."""
        return (*self.transmit, *self.receive)

    @property
    def ip_versions(self) -> tuple[IpVersion, ...]:
        """Return the IP versions that the legs carry."""
        return (4,) if self.ip_version == 4 else (4, 6)

    def leg(self, number: int) -> ElementLeg:
        """Return the leg of this number."""
        return next(leg for leg in self.legs if leg.leg == number)

    def interface(self, number: int) -> str:
        """Return the interface of the leg of this number, also of a wire."""
        return next(leg.interface for leg in self._all_legs if leg.leg == number)

    @property
    def _all_legs(self) -> tuple[WireLeg, ...]:
        return (*self.legs, *self.wires)

    def buffer_limit(self, bearer: TransmitBearer) -> QueueLimit:
        """Return the limit of a bearer's packets before the air, for a leg or in one's queue.

        By default it is what the legs' queues hold together, packets where all of these count them,
        bytes where any does.
        """
        if bearer.pdcp.buffer_packets is not None:
            return QueueLimit(bearer.pdcp.buffer_packets)
        own = [leg.radio for leg in self.legs if leg.leg in bearer.legs]
        if len(own) < len(bearer.legs):
            return UNLIMITED
        packets = [radio.queue_packets for radio in own if radio.queue_packets is not None]
        size = sum(radio.queue_holds_bytes() for radio in own)
        in_bytes = any(radio.queue_limit().bytes is not None for radio in own)
        return QueueLimit(
            sum(packets) if len(packets) == len(own) else None,
            int(size) if in_bytes and size < math.inf else None,
        )

    def flow_control(self, bearer: TransmitBearer) -> tuple[FlowControl, ...]:
        """Return the flow control of each leg of a bearer with its queue; none: ()."""
        if bearer.pdcp.flow_control is None:
            return ()
        own = {leg.leg: leg for leg in self.legs}
        seeds, queues = [], []
        for number in bearer.legs:
            radio = own[number].radio if number in own else None
            seeds.append(f"{own[number].seed if radio else number}-xn-{bearer.bearer}")
            queues.append(radio.queue_limit() if radio else UNLIMITED)
        return bearer.pdcp.flow_control.of_legs(len(bearer.legs), seeds, queues)


def wifi_paths(hosts: Iterable[ElementSettings]) -> dict[int, WifiPath]:
    """Return the path of each leg over WiFi that both its directions share, by the leg's number.

    Args:
        hosts: those at both ends of the legs.
    """
    shared = {leg.leg: leg.shared for host in hosts for leg in host.legs if leg.shared is not None}
    return {number: end.wifi.path(end.seed) for number, end in shared.items()}
