"""Parts of the native core by themselves, driven packet by packet: packets are numbers.

The last bits of a number are its code point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.library import disown, from_c_time, library
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


class Hooks:
    """Who has the packets of a leg or an entity, by its hooks, and those that nobody has."""

    def __init__(self) -> None:
        self.shares: Counter[int] = Counter()
        self.released: list[int] = []
        ffi = library().ffi
        does = {
            "keep": self._keep,
            "release": self._release,
            "ecn": lambda packet: number_of(packet) & 3,
            "mark": lambda packet: pointer_of(number_of(packet) | 3),
        }
        members = ffi.typeof("packet_hooks").fields
        self._functions = [ffi.callback(member.type, does[name]) for name, member in members]

    def _keep(self, packet: Any) -> None:
        self.shares[number_of(packet)] += 1

    def _release(self, packet: Any) -> None:
        number = number_of(packet)
        if self.shares[number]:
            self.shares[number] -= 1
        else:
            self.released.append(number)

    def of(self, made: Any, free: Callable[[Any], None]) -> Any:
        """Return a part of C's with these hooks, which live as long."""
        ffi = library().ffi
        ffi.cast("packet_hooks *", made)[0] = self._functions
        disown(made)
        return ffi.gc(made, partial(self._end, free))

    def _end(self, free: Callable[[Any], None], made: Any) -> None:
        free(made)  # which calls the hooks

    def take(self) -> list[int]:
        """Return the packets that nobody has any more, since the last call."""
        taken, self.released = self.released, []
        return taken


class DrivenLeg(NativeLeg):
    """A leg with the interface of any leg."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._hooks = Hooks()
        self.pointer = self._hooks.of(self.pointer, self._lib.leg_free)
        self._lost: set[int] = set()

    def push(self, packet: int, size: int, now: int) -> bool:
        """Take a packet; return False if it is known never to come out."""
        carried = self._ffi.new("carried *", (pointer_of(packet), -1))
        became = self._lib.leg_push(self.pointer, carried, size, now)
        if became == self._lib.LEG_LOST:
            self._lost.add(packet | 3)  # it may be marked yet
        return bool(became == self._lib.LEG_TAKEN)

    def poll(self, now: int) -> list[int]:
        """Return all that has arrived at the other end by `now`, in order of arrival."""
        return numbers_of(partial(self._lib.leg_poll, self.pointer, now), "carried *")

    def dropped(self) -> list[int]:
        """Return packets promised by :meth:`push` that will not come, since the last call.

        In C a poll makes them known.
        """
        return [packet for packet in self._hooks.take() if packet | 3 not in self._lost]

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
        self._hooks = Hooks()
        self.pointer = self._hooks.of(self.pointer, self._lib.transmit_free)
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
        if not taken:
            self._hooks.released.pop()
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
        return self._hooks.take()

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
