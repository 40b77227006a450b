"""A leg in C that Python drives packet by packet, with the interface of any leg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from random import Random
from typing import Any

from minitopo_dc.link import (
    AnyLeg,
    Capacity,
    DelayModel,
    LegParameters,
    LegStatistics,
    LossModel,
    RlcParameters,
    RlcStatistics,
)
from minitopo_dc.link.any_leg import queue_generators
from minitopo_dc.native.library import library
from minitopo_dc.native.models import (
    from_c_time,
    native_capacity,
    native_delay,
    native_discipline,
    native_limit,
    native_loss,
    native_rlc,
    numbers_of,
    random_state,
)

REFUSED, LOST, TAKEN = range(3)
"""What became of a packet, by the numbers of `link/link.h`."""
OF_DISCIPLINE = {
    field.name for field in fields(LegStatistics) if field.kw_only and field.name != "dropped_mtu"
}
"""The counters that a leg without a queue discipline has not."""


class NativeLeg(AnyLeg[int]):
    """The counterpart of `minitopo_dc.link.make_leg` in C, for packets that are numbers from 0 on.

    Raises:
        NotNativeError: it has a model that the native core lacks.
    """

    def __init__(
        self,
        parameters: LegParameters,
        capacity: Capacity,
        rng: Random,
        rlc: RlcParameters | None = None,
    ) -> None:
        """Draw seeds from `rng`, as `CapacityLeg` and `RlcLeg` do."""
        super().__init__()
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        delay, loss = native_delay(parameters.delay), native_loss(parameters.loss)
        serves = native_capacity(capacity)
        loss_rng, queue_rng = queue_generators(rng)
        states = random_state(Random(rng.getrandbits(64))), random_state(loss_rng)
        lib = self._lib
        made = lib.leg_new(*states, parameters.reorder, parameters.grant_ns)
        self.pointer = self._ffi.gc(made, lib.leg_free)
        """The leg itself."""
        limits = parameters.queue_packets, parameters.queue_bytes, parameters.mtu_bytes
        lib.leg_limit(self.pointer, *map(native_limit, limits))
        lib.leg_set_capacity(self.pointer, serves, 0)
        lib.leg_set_delay(self.pointer, *delay, 0)
        lib.leg_set_loss(self.pointer, *loss, 0)
        self._left_out = {"dropped_mtu"} if parameters.mtu_bytes is None else set()
        if parameters.discipline is None:
            self._left_out |= OF_DISCIPLINE
        else:
            kind, numbers = native_discipline(parameters.discipline)
            lib.leg_set_discipline(
                self.pointer, kind, numbers, len(numbers), random_state(queue_rng)
            )
        self._counters = self._ffi.new("leg_counters *")
        self._rlc = rlc
        if rlc is not None:
            block_rng = random_state(Random(rng.getrandbits(64)))
            lib.leg_set_rlc(self.pointer, native_rlc(rlc), block_rng)
            self._set_block_error(rlc, 0)

    def disown(self) -> None:
        """Leave the leg to other C code, which frees it."""
        self._ffi.gc(self.pointer, None)

    def push(self, packet: int, size: int, now: int) -> bool:
        """Take a packet; return False if it is known never to come out."""
        return bool(self._lib.leg_push_number(self.pointer, packet, size, now) == TAKEN)

    def poll(self, now: int) -> list[int]:
        """Return all that has arrived at the other end by `now`, in order of arrival."""
        return numbers_of(partial(self._lib.leg_poll_number, self.pointer, now))

    def dropped(self) -> list[int]:
        """Return packets promised by :meth:`push` that will not come, since the last call."""
        return numbers_of(partial(self._lib.leg_dropped_number, self.pointer))

    def next_timeout(self) -> int | None:
        """Return when to poll next (ns), or None if nothing is under way."""
        return from_c_time(self._lib.leg_next_timeout(self.pointer))

    def start(self, now: int) -> None:
        """Make `now` the capacity's time 0."""
        self._lib.leg_start(self.pointer, now)

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""
        self._lib.leg_set_up(self.pointer, up, now)

    def flush(self, now: int, which: Callable[[int], bool] = lambda _: True) -> list[int]:
        """Take packets out of the queue; return those that :meth:`push` had promised."""
        handle = self._ffi.new_handle(which)
        statistics = self.statistics()
        room = statistics.queue_packets + statistics.air_packets
        numbers = self._ffi.new("uintptr_t[]", max(room, 1))
        count = self._lib.leg_flush_numbers(
            self.pointer, now, self._lib.python_which, handle, numbers, room
        )
        return list(numbers[0:count])

    def retune(
        self,
        now: int,
        *,
        capacity: Capacity | None = None,
        delay: DelayModel | None = None,
        loss: LossModel | None = None,
        block_error: float | None = None,
    ) -> None:
        """Change parameters without touching the queue; None leaves one as it is.

        Raises:
            ValueError: `block_error` is no probability.
        """
        if block_error is not None:
            assert self._rlc is not None
            self._rlc = replace(self._rlc, block_error=block_error)
            self._set_block_error(self._rlc, now)
        if capacity is not None:
            self._lib.leg_set_capacity(self.pointer, native_capacity(capacity), now)
        if delay is not None:
            self._lib.leg_set_delay(self.pointer, *native_delay(delay), now)
        if loss is not None:
            self._lib.leg_set_loss(self.pointer, *native_loss(loss), now)

    def pair(self, other: AnyLeg[Any]) -> None:
        """Let what the terminal sends on the leg's other direction keep it awake."""
        assert isinstance(other, NativeLeg)
        self._lib.leg_pair(self.pointer, other.pointer)

    @property
    def is_up(self) -> bool:
        """Return whether the leg serialises packets."""
        return bool(self._lib.leg_is_up(self.pointer))

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
        return int(self._lib.leg_joined_packets(self.pointer))

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

    def statistics(self) -> LegStatistics:
        """Return counters and gauges as of the last call."""
        counters = self._counters
        self._lib.leg_count(self.pointer, counters)
        kind = LegStatistics if self._rlc is None else RlcStatistics
        names = [field.name for field in fields(kind) if field.name not in self._left_out]
        return kind(**{name: getattr(counters, name) for name in names})

    def _set_block_error(self, rlc: RlcParameters, now: int) -> None:
        wait = rlc.mean_wait_ns()
        self._lib.leg_set_block_error(self.pointer, rlc.block_error, wait, now)
