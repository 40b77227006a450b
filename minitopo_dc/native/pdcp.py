"""PDCP entities of a bearer in C, and the reports that one makes and the other gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from random import Random
from typing import Any

from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.library import NEVER, counted, library, random_state, struct_of, to_c
from minitopo_dc.native.policy import TWINS, AskedPolicy
from minitopo_dc.pdcp import (
    Delivery,
    Feedback,
    FlowControl,
    HoldingStatistics,
    LegReception,
    ReceiveStatistics,
    Report,
    SnFormat,
    SplitPolicy,
    StatusReport,
    Timer,
    TransmitStatistics,
    WaitingTime,
    sees_legs,
)
from minitopo_dc.pdcp.report import HEADER_BYTES, MAX_BYTES
from minitopo_dc.pdcp.transmitting.buffers import SduBuffer
from minitopo_dc.pdcp.transmitting.feedback import MALFORMED
from minitopo_dc.pdcp.transmitting.legs import LEAD_NS


class NativeTransmitter:
    """The counterpart of `minitopo_dc.pdcp.TransmittingEntity` in C, for SDUs that are numbers.

    It has neither data recovery, selective duplication nor leg failures. A split policy without a
    twin in C is asked by a call.
    """

    def __init__(
        self,
        sn_format: SnFormat,
        policy: SplitPolicy,
        *,
        legs: int,
        states: Sequence[NativeLeg],
        reports: bool = False,
        waiting: SduBuffer[Any] | None = None,
        early: bool = False,
        flow_control: Sequence[FlowControl] = (),
        mark_above: int | None = None,
        recovery: None = None,
        duplication: None = None,
        failures: None = None,
    ) -> None:
        """Make an entity of what `TransmittingEntity` takes, whose legs are in C."""
        assert recovery is duplication is failures is None  # C has none (`native_obstacle`)
        assert legs <= MAX_LEGS
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        self.policy = policy
        self._states = tuple(states)  # they have to live as long
        waits = waiting is not None
        self._follows = waits or bool(flow_control)
        self._mask = sn_format.modulus - 1
        self.asked: AskedPolicy | None = None
        """A split policy that C asks; None: it is in C."""
        if (numbers := TWINS.get(type(policy))) is None:
            self.asked = AskedPolicy(policy, legs, may_wait=waits)
            split = self.asked.pointer
        else:
            kind = [*TWINS].index(type(policy))
            split = self._lib.policy_new(kind, legs, numbers(policy), ())
        buffer = struct_of("sdu_buffer", waiting) if waits else self._ffi.NULL
        made = self._lib.transmit_new(
            *(sn_format.bits, sn_format.size, legs, [leg.pointer for leg in states]),
            *(split, reports, buffer, early),
            *map(to_c, (LEAD_NS if sees_legs(policy) else None, mark_above)),
        )
        self.pointer = self._ffi.gc(made, self._lib.transmit_free)
        """The entity itself."""
        self._uncounted = {"marked_sdus": None} if mark_above is None else {}
        for leg, control in enumerate(flow_control):
            state = random_state(Random(control.seed))
            control_in_c = struct_of("flow_control", control)
            self._lib.transmit_behind(self.pointer, leg, control_in_c, state)
        self.feedback = NativeFeedback(self, legs) if reports else None
        self._counters = self._ffi.new("transmit_counters *")

    def statistics(self) -> TransmitStatistics:
        """Return the counters up to now."""
        self._lib.transmit_count(self.pointer, self._counters)
        kind = HoldingStatistics if self._follows else TransmitStatistics
        counters = counted(kind, self._counters, len(self._states))
        return kind(**counters | self._uncounted)


class NativeFeedback(Feedback):
    """It, with what C makes of the receiver's reports."""

    def __init__(self, entity: NativeTransmitter, legs: int) -> None:
        """Evaluate the reports that reach an entity over `legs` legs."""
        super().__init__(legs)
        self._entity = entity
        self._receptions = library().ffi.new("reception[]", legs)

    def _take(self, report: Report, now: int) -> int:
        lib, entity = library().lib, self._entity.pointer
        if max(leg.next_count for leg in report.legs) >> 62:
            return MALFORMED
        if report.status is not None:
            report.status.near(lib.transmit_next_count(entity))
        for number, leg in enumerate(report.legs):
            self._receptions[number] = [min(count, NEVER) for count in astuple(leg)]
        return int(lib.transmit_report(entity, report.number, self._receptions, now))


DELIVERIES: tuple[Delivery, ...] = ("in-order", "out-of-order", "off")
"""By the numbers of `native.h`."""
MAX_LEGS = 16


class NativeReceiver:
    """The counterpart of `minitopo_dc.pdcp.ReceivingEntity` in C, for SDUs that are numbers."""

    def __init__(
        self,
        sn_format: SnFormat,
        *,
        t_reordering: Timer,
        legs: int,
        delivery: Delivery = "in-order",
        legs_keep_order: bool = False,
    ) -> None:
        """Make an entity that expects COUNT 0 first."""
        assert legs <= MAX_LEGS  # as of a transmitter
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        self._legs = legs
        self._adaptive = t_reordering.is_adaptive
        self._uncounted = {} if legs_keep_order else {"missing_by_order": None}
        timer = to_c(t_reordering.ns)
        if t_reordering.is_adaptive:
            timer = self._lib.ADAPTIVE_T_REORDERING
        made = self._lib.receive_new(
            sn_format.bits, timer, legs, DELIVERIES.index(delivery), legs_keep_order
        )
        self.pointer = self._ffi.gc(made, self._lib.receive_free)
        """The entity itself."""
        self._counters = self._ffi.new("receive_counters *")

    @property
    def desynchronised(self) -> int:
        """Return how many PDUs had another COUNT than the one that was concluded from their SN."""
        return int(self._count().desynchronised)

    def status(self, limit: int = MAX_BYTES) -> StatusReport:
        """Return the present status report (clause 5.4.1), of at most `limit` bytes."""
        room = min(limit, MAX_BYTES) - HEADER_BYTES
        bitmap = self._ffi.new("uint8_t[]", max(room, 1))
        used = self._lib.receive_status(self.pointer, bitmap, room)
        return StatusReport(self._count().rx_deliv, bytes(self._ffi.buffer(bitmap, used)))

    def receptions(self) -> tuple[LegReception, ...]:
        """Return what a report says of each leg."""
        counts = self._ffi.new("reception[]", self._legs)
        self._lib.receive_receptions(self.pointer, counts)
        return tuple(LegReception(**counted(LegReception, leg)) for leg in counts)

    def statistics(self) -> ReceiveStatistics:
        """Return the counters up to now, with the bytes that its driver delivered."""
        found, legs = self._count(), self._legs
        counters = counted(ReceiveStatistics, found, legs)
        gone = found.duplicates + found.old + found.buffered
        counters |= {
            "delivered": sum(counters["pdus"]) - gone,
            "waiting": WaitingTime(
                count=sum(found.waited[0:legs]),
                total_ns=sum(found.waited_ns[0:legs]),
                maximum_ns=found.waiting_maximum,
                histogram=tuple(found.histogram),
            ),
            "t_reordering_ns": found.t_reordering if self._adaptive else None,
        }
        return ReceiveStatistics(**counters | self._uncounted)

    def _count(self) -> Any:
        self._lib.receive_count(self.pointer, self._counters)
        return self._counters
