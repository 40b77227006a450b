"""Settings of a bearer: its traffic, its split when sent, its reordering when received."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import (
    Field,
    IPvAnyNetwork,
    NonNegativeFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from minitopo_dc.addresses import IpVersion
from minitopo_dc.pdcp import (
    ReceivingEntity,
    SplitPolicy,
    TransmittingEntity,
    check_t_reordering,
    make_policy,
    sn_format,
)
from minitopo_dc.settings.base import Settings

Port = Field(default=None, ge=1, le=65535)


class Match(Settings):
    """Which packets belong to a bearer; what is left out matches everything."""

    source: IPvAnyNetwork | None = None
    destination: IPvAnyNetwork | None = None
    """IPv4 or IPv6 networks, both of one version."""
    protocol: Literal["tcp", "udp", "icmp"] | None = None
    source_port: int | None = Port
    destination_port: int | None = Port

    @model_validator(mode="after")
    def _ports_have_a_protocol(self) -> Self:
        ports = self.source_port is not None or self.destination_port is not None
        if ports and self.protocol not in ("tcp", "udp"):
            raise ValueError("a port needs protocol: tcp or udp")
        return self

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        if self.source and self.destination and self.source.version != self.destination.version:
            raise ValueError(
                f"source {self.source} and destination {self.destination}: "
                "allowed are two IPv4 networks or two IPv6 networks"
            )
        return self

    @property
    def ip_version(self) -> IpVersion | None:
        """The version of its networks; None when it has none and matches both versions."""
        network = self.source or self.destination
        return None if network is None else network.version


class PdcpSettings(Settings):
    """PDCP parameters of a bearer; the defaults are those of the DC papers (thesis, table 4.3)."""

    split: str = "batch"
    """Split policy: ``batch``, ``duplicate``, or one registered by the user.

    In a scenario ``duplicate`` is chosen by mode ``dc-duplicate``, not here.
    """
    batch: PositiveInt = 100
    """Packets of one cycle over all legs (policy ``batch``)."""
    ratio: tuple[float, ...] | None = None
    """Shares of the legs in a cycle, one a leg (policy ``batch``); none = equal."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Further parameters of a user's policy."""
    sn_bits: Literal[12, 16, 18] = 18
    """Bits of the sequence number: 12 or 18 of TS 38.323, or the papers' plain 16.

    18 by default: the window of 12 bits (2,048 PDUs) is shorter than 200 ms at 25,000 PDU/s.
    """
    t_reordering_ms: NonNegativeFloat | Literal["infinity"] = 200.0
    delivery: Literal["in-order", "out-of-order", "off"] = "in-order"
    """``out-of-order`` = outOfOrderDelivery of TS 38.323; ``off`` = no reordering at all."""

    @field_validator("t_reordering_ms")
    @classmethod
    def _standard_value(cls, value: float | str) -> float | str:
        check_t_reordering(value)
        return value

    def policy(self, legs: int) -> SplitPolicy:
        """Return the split policy for a bearer over ``legs`` legs."""
        parameters = dict(self.parameters)
        if self.split == "batch":
            parameters |= {"batch": self.batch, "ratio": self.ratio}
        return make_policy(self.split, legs=legs, **parameters)

    def transmitter(self, legs: int) -> TransmittingEntity[Any]:
        """Return a transmitting entity for a bearer over ``legs`` legs."""
        return TransmittingEntity(sn_format(self.sn_bits), self.policy(legs), legs=legs)

    def receiver(self, legs: int) -> ReceivingEntity[Any]:
        """Return a receiving entity for a bearer over ``legs`` legs."""
        return ReceivingEntity(
            sn_format(self.sn_bits),
            t_reordering=check_t_reordering(self.t_reordering_ms),
            delivery=self.delivery,
            legs=legs,
        )
