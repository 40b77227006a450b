"""Parts of the native core by themselves, driven packet by packet: packets are numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.library import from_c_time, library
from minitopo_dc.native.pdcp import NativeReceiver, NativeTransmitter
from minitopo_dc.pdcp import Pdu, ReceiveStatistics


def pointer_of(number: int) -> Any:
    """Return a packet of C's that is a number."""
    return library().ffi.cast("void *", number)


def number_of(packet: Any) -> int:
    """Return the number that a packet of C's is."""
    return int(library().ffi.cast("uintptr_t", packet))


def numbers_of(following: Callable[[Any], int], kind: str = "void *[1]") -> list[int]:
    """Return the numbers that C gives one after the other, until it says that there is no more."""
    place, numbers = library().ffi.new(kind), []
    while following(place):
        numbers.append(number_of(place[0] if kind == "void *[1]" else place.packet))
    return numbers


class DrivenLeg(NativeLeg):
    """A leg with the interface of any leg."""

    def push(self, packet: int, size: int, now: int) -> bool:
        """Take a packet; return False if it is known never to come out."""
        carried = self._ffi.new("carried *", (pointer_of(packet), -1))
        return bool(self._lib.leg_push(self.pointer, carried, size, now) == self._lib.LEG_TAKEN)

    def poll(self, now: int) -> list[int]:
        """Return all that has arrived at the other end by `now`, in order of arrival."""
        return numbers_of(partial(self._lib.leg_poll, self.pointer, now), "carried *")

    def dropped(self) -> list[int]:
        """Return packets promised by :meth:`push` that will not come, since the last call."""
        return numbers_of(partial(self._lib.leg_dropped, self.pointer), "carried *")

    def next_timeout(self) -> int | None:
        """Return when to poll next (ns), or None if nothing is under way."""
        return from_c_time(self._lib.leg_next_timeout(self.pointer))

    def flush(self, now: int, which: Callable[[int], bool] = lambda _: True) -> list[int]:
        """Raise NotImplementedError, as only data recovery does it, which is in Python alone."""
        raise NotImplementedError

    @property
    def mean_delay_ns(self) -> int:
        """Return the configured mean propagation delay in ns."""
        return int(self._lib.leg_mean_delay(self.pointer))

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes not serialised yet."""
        return int(self._lib.leg_backlog_bytes(self.pointer, now))

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the queue would take a packet of `size` bytes."""
        return bool(self._lib.leg_has_room(self.pointer, now, size))

    @property
    def joined_packets(self) -> int:
        """Return how many packets joined the queue so far."""
        self._lib.leg_count(self.pointer, self._counters)
        return int(self._counters.joined_packets)

    def served_packets(self, *, now: int) -> int:
        """Return the number of the last packet that left the queue with all before it."""
        return int(self._lib.leg_served_packets(self.pointer, now))

    def service_end(self, *, now: int) -> int | None:
        """Return when the packet in service is through (ns), None if none is."""
        return from_c_time(self._lib.leg_service_end(self.pointer, now))

    def rate_bps(self, *, now: int) -> int:
        """Return the rate at `now` in bit/s."""
        return int(self._lib.leg_rate_bps(self.pointer, now))

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long (ns) the backlog and `more` bytes behind it take, None if unknown."""
        return from_c_time(self._lib.leg_drain_ns(self.pointer, now, more))


class DrivenReceiver(NativeReceiver):
    """A receiving entity."""

    def statistics(self) -> ReceiveStatistics:
        """Return the counters up to now; there is no driver that knows the bytes."""
        return replace(super().statistics(), delivered_bytes=None)

    def push(self, pdu: Pdu[int], now: int) -> bool:
        """Take a data PDU that arrived on its leg at `now`; return False if it is discarded."""
        numbers = pdu.sn, pdu.count, pointer_of(pdu.sdu), pdu.leg
        return bool(self._lib.receive_push(self.pointer, *numbers, now))

    def poll(self, now: int) -> list[int]:
        """Return the SDUs to hand to upper layers, in order."""
        return numbers_of(partial(self._lib.receive_poll, self.pointer, now))

    def next_timeout(self) -> int | None:
        """Return the end of t-Reordering (ns), None if it does not run."""
        return from_c_time(self._lib.receive_next_timeout(self.pointer))

    def variables(self) -> tuple[int, int, int]:
        """Return RX_DELIV, RX_NEXT and RX_REORD."""
        counted = self._count()
        return counted.rx_deliv, counted.rx_next, counted.rx_reord

    def note(self, pdu: Pdu[int]) -> None:
        """Count a PDU that arrived on its leg for reports."""
        self._lib.receive_note(self.pointer, pdu.sn, pdu.size, pdu.leg)


class DrivenTransmitter(NativeTransmitter):
    """A transmitting entity, whose split policy's error is raised by the call that met it."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._error: BaseException | None = None
        if self.asked is not None:
            self.asked.fail = self._keep

    def _keep(self, error: BaseException) -> None:
        self._error = error

    def push(self, sdu: int, size: int, now: int) -> bool:
        """Take an SDU of `size` bytes; return False if it is dropped.

        Raises:
            PolicyError: the policy raised an error, or named a leg that does not exist.
        """
        taken = bool(self._lib.transmit_push(self.pointer, pointer_of(sdu), size, now))
        self._raise()
        return taken

    def poll(self, now: int) -> list[Pdu[int]]:
        """Return the PDUs to submit to the legs.

        Raises:
            PolicyError: as `push` does.
        """
        pdus = list(self._ready(now))
        self._raise()
        return pdus

    def dropped(self) -> list[int]:
        """Return the SDUs, since the last call, that are not sent."""
        return numbers_of(partial(self._lib.transmit_dropped, self.pointer))

    def next_timeout(self) -> int | None:
        """Return when to poll again (ns), as of the last poll."""
        return from_c_time(self._lib.transmit_next_timeout(self.pointer))

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _ready(self, now: int) -> Iterator[Pdu[int]]:
        pdu = self._ffi.new("pdu *")
        self._lib.transmit_settle(self.pointer, now)
        while self._lib.transmit_poll(self.pointer, pdu):
            sdu, sn = number_of(pdu.sdu), pdu.count & self._mask
            yield Pdu(sdu, leg=pdu.leg, count=pdu.count, sn=sn)
