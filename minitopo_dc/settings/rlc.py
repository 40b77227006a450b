"""Settings of RLC and HARQ of one direction of a leg."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from minitopo_dc.link import RlcMode, RlcParameters
from minitopo_dc.pdcp import DISCARD_TIMER_MS
from minitopo_dc.settings.base import Settings
from minitopo_dc.settings.ranges import Milliseconds, Percent
from minitopo_dc.units import NS_PER_MS

SLOTS_MS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""The durations in ms of LTE's subframe and NR's slot at 15 kHz, and of NR's at 30 to 240 kHz (TS
38.211, clause 4.3.2)."""
MaxRetxThreshold = Literal[1, 2, 3, 4, 6, 8, 16, 32]
"""Values of maxRetxThreshold (TS 38.331, RLC-Config)."""
_DEFAULT = RlcParameters()


class RlcSettings(Settings):
    """RLC and HARQ; the defaults are those of `minitopo_dc.link.RlcParameters`."""

    mode: RlcMode = _DEFAULT.mode
    """`am`: what HARQ gives up is sent again; `um`: it is lost."""
    block_error_percent: Percent = _DEFAULT.block_error * 100
    """The percentage of the transmissions of a block that cannot be decoded."""
    slot_ms: float = _DEFAULT.slot_ns / NS_PER_MS
    harq_rtt_ms: Annotated[float, Field(gt=0, le=1000)] = _DEFAULT.harq_rtt_ns / NS_PER_MS
    """The time from one transmission of a block to the next."""
    harq_retransmissions: Annotated[int, Field(ge=0, le=27)] = _DEFAULT.harq_retransmissions
    """The most retransmissions; at most 27, as maxHARQ-Tx ends at n28 (TS 36.331)."""
    status_ms: Milliseconds = _DEFAULT.status_ns / NS_PER_MS
    """The time from a block's first transmission to the first by RLC of what HARQ could not
    deliver."""
    max_retx_threshold: MaxRetxThreshold = 8
    in_order: bool = _DEFAULT.in_order
    """Whether SDUs leave RLC in order, as LTE's do, or when they are complete, as NR's do."""
    discard_ms: int | Literal["infinity"] = "infinity"
    """discardTimer: a packet of which nothing was sent for so long is dropped."""

    @field_validator("slot_ms")
    @classmethod
    def _check_slot(cls, value: float) -> float:
        if value not in SLOTS_MS:
            raise ValueError(f"must be one of {', '.join(f'{slot:g}' for slot in SLOTS_MS)}")
        return value

    @field_validator("discard_ms")
    @classmethod
    def _check_discard_ms(cls, value: int | str) -> int | str:
        if value != "infinity" and value not in DISCARD_TIMER_MS:
            raise ValueError(f"must be one of {', '.join(map(str, DISCARD_TIMER_MS))}, infinity")
        return value

    @model_validator(mode="after")
    def _check_round_trip(self) -> Self:
        if self.harq_rtt_ms < self.slot_ms:
            raise ValueError(f"harq_rtt_ms {self.harq_rtt_ms:g}: at least slot_ms {self.slot_ms:g}")
        return self

    def parameters(self) -> RlcParameters:
        """Return the RLC parameters for the leg's core."""
        discard = None if self.discard_ms == "infinity" else self.discard_ms * NS_PER_MS
        return RlcParameters(
            mode=self.mode,
            slot_ns=round(self.slot_ms * NS_PER_MS),
            block_error=self.block_error_percent / 100,
            harq_rtt_ns=round(self.harq_rtt_ms * NS_PER_MS),
            harq_retransmissions=self.harq_retransmissions,
            status_ns=round(self.status_ms * NS_PER_MS),
            max_retx_threshold=self.max_retx_threshold,
            in_order=self.in_order,
            discard_ns=discard,
        )
