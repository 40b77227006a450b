"""The one file that configures an element."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from minitopo_dc.addresses import IpVersion
from minitopo_dc.capture import Direction
from minitopo_dc.settings import LegSettings, Match, PdcpSettings, Settings

READY = "ready"
"""The line an element prints once packets reach it."""

Backend = Literal["user", "kernel"]
LegNumber = Annotated[int, Field(ge=1, le=255)]
"""A leg's number is also its firewall mark, of which the element uses the lowest byte."""
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]


class ElementLeg(Settings):
    """The direction of a leg that leaves this host through ``interface``."""

    leg: LegNumber
    interface: Interface
    radio: LegSettings
    seed: str
    """Seeds the losses and the jitter of this direction."""


class TransmitBearer(Settings):
    """A bearer whose SDUs enter by ``interface`` and whose PDUs leave on ``legs``."""

    bearer: PositiveInt
    interface: Interface
    match: Match = Match()
    legs: Annotated[tuple[LegNumber, ...], Field(min_length=1)]
    pdcp: PdcpSettings = PdcpSettings()


class ReceiveBearer(Settings):
    """A bearer whose PDUs enter by the interfaces of ``legs`` and leave as SDUs, in order."""

    bearer: PositiveInt
    match: Match = Match()
    legs: Annotated[tuple[LegNumber, ...], Field(min_length=1)]
    pdcp: PdcpSettings = PdcpSettings()


class ElementSettings(Settings):
    """Everything one element process needs to know."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    legs: tuple[ElementLeg, ...]
    transmit: tuple[TransmitBearer, ...] = ()
    receive: tuple[ReceiveBearer, ...] = ()
    directory: Path
    """Where the time series and the summary go; it must exist."""
    ip_version: IpVersion = 4
    """6: the hosts have IPv6 beside IPv4, and the legs carry both."""
    statistics_ms: PositiveInt = 100
    """Interval of the time series; 100 ms shows a t-Reordering of 200 ms as two points."""
    realtime: bool = True
    """Ask for SCHED_FIFO (chrt -f), which keeps timers within 0.1 ms on a busy machine."""

    backend: Backend = "user"
    """Whether legs are this process' or the kernel's netem and tbf (``kernel_leg``)."""
    pcap: Direction | None = None
    """Write a capture a leg, of a host whose packets leave in this direction; none: no captures."""

    @model_validator(mode="after")
    def _legs_exist(self) -> Self:
        if self.pcap and self.backend == "kernel":
            raise ValueError("pcap: needs backend: user; the kernel's legs are not seen here")
        known = [leg.leg for leg in self.legs]
        if len(set(known)) != len(known):
            raise ValueError("legs: each leg may be given once")
        for bearer in self.bearers:
            if bearer.match.ip_version not in (None, *self.ip_versions):
                raise ValueError(f"bearer {bearer.bearer}: matches IPv6, which needs ip_version: 6")
            if len(set(bearer.legs)) != len(bearer.legs):
                raise ValueError(f"bearer {bearer.bearer}: names a leg twice")
            for leg in bearer.legs:
                if leg not in known:
                    raise ValueError(f"bearer {bearer.bearer}: unknown leg {leg}; known: {known}")
        return self

    @property
    def bearers(self) -> tuple[TransmitBearer | ReceiveBearer, ...]:
        """Those that transmit, then those that receive."""
        return (*self.transmit, *self.receive)

    @property
    def ip_versions(self) -> tuple[IpVersion, ...]:
        """What the legs carry."""
        return (4,) if self.ip_version == 4 else (4, 6)

    def leg(self, number: int) -> ElementLeg:
        """The leg of this number."""
        return next(leg for leg in self.legs if leg.leg == number)
