"""Settings of selective duplication."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from minitopo_dc.pdcp import SMALL_BYTES, DuplicationRule
from minitopo_dc.settings.base import Settings
from minitopo_dc.settings.ranges import Bytes, MillisecondsAbove, Percent
from minitopo_dc.units import NS_PER_MS

Dscp = Annotated[int, Field(ge=0, le=63)]
"""RFC 2474."""
CONDITIONS = ("packets", "below_bytes", "dscp", "retransmissions", "loss_percent", "deadline_ms")


class DuplicationSettings(Settings):
    """When an SDU goes on all legs that are up: if one of the conditions holds."""

    packets: tuple[Literal["handshake", "ack"], ...] = ()
    """`handshake`: SYN, FIN and RST of TCP, long headers of QUIC. `ack`: pure acknowledgements of
    TCP, UDP of at most `small_bytes`."""
    small_bytes: Bytes | None = None
    """Of an IP packet; none: `SMALL_BYTES`."""
    below_bytes: Bytes | None = None
    """IP packets smaller than this."""
    dscp: tuple[Dscp, ...] = ()
    retransmissions: bool = False
    """TCP segments that were sent before."""
    loss_percent: Percent | None = None
    """The leg that the split names lost more than this lately; needs reports."""
    deadline_ms: MillisecondsAbove | None = None
    """The packet is expected later than this on the leg that the split names."""

    @model_validator(mode="after")
    def _has_a_condition(self) -> Self:
        if self.rule() == DuplicationRule(small_bytes=self.rule().small_bytes):
            raise ValueError(f"give at least one of {', '.join(CONDITIONS)}")
        if self.small_bytes is not None and "ack" not in self.packets:
            raise ValueError("small_bytes needs packets: [ack]")
        return self

    def rule(self) -> DuplicationRule:
        """What the core is told."""
        deadline = self.deadline_ms
        return DuplicationRule(
            handshake="handshake" in self.packets,
            ack="ack" in self.packets,
            small_bytes=self.small_bytes or SMALL_BYTES,
            below_bytes=self.below_bytes,
            dscp=frozenset(self.dscp),
            retransmissions=self.retransmissions,
            loss_percent=self.loss_percent,
            deadline_ns=None if deadline is None else round(deadline * NS_PER_MS),
        )
