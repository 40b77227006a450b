"""A leg in C, which its driver there moves packets through."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

from minitopo_dc.link import (
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
    native_capacity,
    native_delay,
    native_discipline,
    native_limit,
    native_loss,
    native_rlc,
    random_state,
)

OF_DISCIPLINE = {
    field.name for field in fields(LegStatistics) if field.kw_only and field.name != "dropped_mtu"
}
"""The counters that a leg without a queue discipline has not."""


class NativeLeg:
    """The counterpart of `minitopo_dc.link.make_leg` in C, but for what its driver in C does.

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

    def start(self, now: int) -> None:
        """Make `now` the capacity's time 0."""
        self._lib.leg_start(self.pointer, now)

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""
        self._lib.leg_set_up(self.pointer, up, now)

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

    def pair(self, other: Any) -> None:
        """Let what the terminal sends on the leg's other direction keep it awake."""
        self._lib.leg_pair(self.pointer, other.pointer)

    @property
    def is_up(self) -> bool:
        """Return whether the leg serialises packets."""
        return bool(self._lib.leg_is_up(self.pointer))

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
