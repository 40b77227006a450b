"""Legs that tests write down, as a policy sees them."""

from __future__ import annotations

from dataclasses import dataclass

from minitopo_dc.pdcp import LegReport, LegView


@dataclass
class WrittenLeg(LegView):
    """A view whose answers are fields; `ns_per_byte` is None where no time is known."""

    backlog: int = 0
    ns_per_byte: int | None = 1
    mean_delay_ns: int = 0
    is_up: bool = True
    has_failed: bool = False
    room: bool = True
    sent_pdus: int = 0
    sent_bytes: int = 0
    report: LegReport | None = None
    pending_bytes: int = 0
    joined_packets: int = 0
    served: int = 0
    serves_until: int | None = None
    may_wait: bool = False
    credit: int | None = None
    slot_lead_ns: int = 0

    def backlog_bytes(self, *, now: int) -> int:  # noqa: ARG002
        return self.backlog

    def has_room(self, *, now: int, size: int) -> bool:  # noqa: ARG002
        return self.room

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:  # noqa: ARG002
        return None if self.ns_per_byte is None else (self.backlog + more) * self.ns_per_byte

    def takes(self, *, now: int, size: int) -> bool:  # noqa: ARG002
        return self.room

    def served_packets(self, *, now: int) -> int:  # noqa: ARG002
        return self.served

    def service_end(self, *, now: int) -> int | None:  # noqa: ARG002
        return self.serves_until

    def credit_bytes(self, *, now: int) -> int | None:  # noqa: ARG002
        return self.credit

    def rate_bps(self, *, now: int) -> int:  # noqa: ARG002
        return 0 if self.ns_per_byte is None else 8 * 10**9 // self.ns_per_byte
