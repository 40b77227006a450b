"""A receiving PDCP entity in C, and the counts of its reports."""

from __future__ import annotations

from typing import Any

from minitopo_dc.native.library import library
from minitopo_dc.native.models import NotNativeError, to_c_time
from minitopo_dc.pdcp import (
    Delivery,
    LegReception,
    ReceiveStatistics,
    SnFormat,
    StatusReport,
    Timer,
    WaitingTime,
)
from minitopo_dc.pdcp.formats.report import HEADER_BYTES, MAX_BYTES

DELIVERIES: tuple[Delivery, ...] = ("in-order", "out-of-order", "off")
"""By the numbers of `native.h`."""
MAX_LEGS = 16


class NativeReceiver:
    """The counterpart of `minitopo_dc.pdcp.ReceivingEntity` in C, for SDUs that are numbers.

    Raises:
        NotNativeError: too many legs.
    """

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
        check_legs(legs)
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        self._legs = legs
        self._adaptive = t_reordering.is_adaptive
        self._keeps_order = legs_keep_order
        timer = to_c_time(t_reordering.ns)
        if t_reordering.is_adaptive:
            timer = self._lib.ADAPTIVE_T_REORDERING
        made = self._lib.receive_new(
            sn_format.bits, timer, legs, DELIVERIES.index(delivery), legs_keep_order
        )
        self.pointer = self._ffi.gc(made, self._lib.receive_free)
        """The entity itself."""
        self._counters = self._ffi.new("receive_counters *")

    def disown(self) -> None:
        """Leave the entity to other C code, which frees it."""
        self._ffi.gc(self.pointer, None)

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

    def statistics(self) -> ReceiveStatistics:
        """Return the counters up to now."""
        counters, legs = self._count(), self._legs
        pdus = tuple(counters.pdus[0:legs])
        return ReceiveStatistics(
            pdus=pdus,
            delivered=sum(pdus) - counters.duplicates - counters.old - counters.buffered,
            duplicates=counters.duplicates,
            old=counters.old,
            missing=counters.missing,
            t_reordering_expiries=counters.expiries,
            buffered=counters.buffered,
            buffered_maximum=counters.buffered_maximum,
            waiting=WaitingTime(
                count=sum(counters.waited[0:legs]),
                total_ns=sum(counters.waited_ns[0:legs]),
                maximum_ns=counters.waiting_maximum,
                histogram=tuple(counters.histogram),
            ),
            t_reordering_ns=counters.t_reordering if self._adaptive else None,
            missing_by_order=counters.missing_by_order if self._keeps_order else None,
        )

    def _count(self) -> Any:
        self._lib.receive_count(self.pointer, self._counters)
        return self._counters


class NativeReceptions:
    """Counts what a receiving entity's reports say: `ReportMaker`'s part for each PDU."""

    def __init__(self, entity: NativeReceiver, *, sn_bits: int, legs: int) -> None:
        """Begin to count with nothing received."""
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        self._entity = entity  # it has to live as long
        made = self._lib.report_maker_new(entity.pointer, sn_bits, legs)
        self.pointer = self._ffi.gc(made, self._lib.report_maker_free)
        """What counts."""
        self._counts = self._ffi.new("reception[]", legs)

    def disown(self) -> None:
        """Leave the counters to other C code, which frees them."""
        self._ffi.gc(self.pointer, None)

    def receptions(self) -> tuple[LegReception, ...]:
        """Return what came by each leg so far."""
        self._lib.report_maker_count(self.pointer, self._counts)
        return tuple(
            LegReception(leg.next_count, leg.pdus, leg.bytes, leg.reordered, leg.reordering_ns)
            for leg in self._counts
        )


def check_legs(legs: int) -> None:
    """Refuse a bearer with more legs than the native core has room for.

    Raises:
        NotNativeError: it has.
    """
    if legs > MAX_LEGS:
        raise NotNativeError(f"a bearer over {legs} legs, more than {MAX_LEGS}")
