"""Filters that tell a bearer's packets from all others."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, IPvAnyNetwork, model_validator

from minitopo_dc.settings.base import Settings

IpVersion = Literal[4, 6]
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
    def _check_ports(self) -> Self:
        ports = self.source_port is not None or self.destination_port is not None
        if ports and self.protocol not in ("tcp", "udp"):
            raise ValueError("a port needs protocol: tcp or udp")
        return self

    @model_validator(mode="after")
    def _check_ip_version(self) -> Self:
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
