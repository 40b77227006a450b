"""Capacities, delays and losses in the native core's form."""

from __future__ import annotations

from array import array
from dataclasses import astuple
from random import Random
from typing import Any

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    ConstantCapacity,
    ConstantDelay,
    DelayModel,
    GilbertElliott,
    LossModel,
    NormalDelay,
    OpportunityCapacity,
    RateCapacity,
    RlcParameters,
    UniformDelay,
)
from minitopo_dc.link.queue.codel import CoDel
from minitopo_dc.link.queue.discipline import QueueDiscipline, Red, Step
from minitopo_dc.link.queue.pie import DualPi2, Pie
from minitopo_dc.link.rlc.tdd import TddPattern
from minitopo_dc.native.library import library

NEVER = (1 << 63) - 1
"""As in C: no time."""
MOST = 1 << 61
"""The largest number that goes down to C: of ns 73 years, of bytes 2 EB."""
_DELAYS = (ConstantDelay, NormalDelay, UniformDelay)
"""By the numbers of `link/link.h`."""
_AFTER = ("loop", "hold", "stop")
"""By the numbers of `link/link.h`."""


DISCIPLINES = (Step, Red, CoDel, Pie, DualPi2)
"""By the numbers of `link/link.h`."""


class NotNativeError(MinitopoDcError, ValueError):
    """Error: the native core lacks something; the text says what."""


def from_c_time(time: int) -> int | None:
    """Return a time of C's as one of Python's (ns), where never is None."""
    return None if time == NEVER else time


def to_c_time(time: int | None) -> int:
    """Return a time of Python's as one of C's, where None is never; the latest times are cut."""
    return NEVER if time is None else min(time, NEVER - 1)


def random_state(rng: Random) -> Any:
    """Return the state of a generator that has drawn no normal number yet."""
    return library().ffi.new("uint32_t[625]", rng.getstate()[1])


def native_capacity(capacity: Capacity) -> Any:
    """Return a capacity in C that has served nothing yet; who gets it has to free it.

    Raises:
        NotNativeError: another class, or numbers that do not fit.
    """
    lib = library().lib
    if isinstance(capacity, RateCapacity) and type(capacity) in (ConstantCapacity, RateCapacity):
        edges, rates = capacity.table()
        after = _AFTER.index(capacity.end)
        return lib.capacity_rates(_numbers(edges), _numbers(rates), len(rates), after)
    if type(capacity) is OpportunityCapacity:
        moments, duration, bits = capacity.table()
        return lib.capacity_opportunities(
            *(_numbers(moments), len(moments), duration, bits, _AFTER.index(capacity.end))
        )
    raise NotNativeError(f"a capacity of class {type(capacity).__name__}")


def native_delay(delay: DelayModel) -> tuple[int, int, int]:
    """Return a delay's kind in C and its two numbers; NotNativeError for another class."""
    if isinstance(delay, _DELAYS):
        kind = _DELAYS.index(type(delay))
        if isinstance(delay, ConstantDelay):
            return kind, _fitting(delay.delay_ns), 0
        if isinstance(delay, NormalDelay):
            return kind, _fitting(delay.mean_ns), _fitting(delay.sd_ns)
        return kind, _fitting(delay.low_ns), _fitting(delay.high_ns)
    raise NotNativeError(f"a delay of class {type(delay).__name__}")


def native_loss(loss: LossModel | None) -> tuple[int, float, float, float, float]:
    """Return a loss model's kind in C and its probabilities; NotNativeError for another class."""
    if loss is None:
        return 0, 0.0, 0.0, 0.0, 0.0
    if type(loss) is Bernoulli:
        return 1, loss.p, 0.0, 0.0, 0.0
    if type(loss) is GilbertElliott:
        return 2, loss.p, loss.r, loss.h, loss.k
    raise NotNativeError(f"a loss model of class {type(loss).__name__}")


def native_rlc(rlc: RlcParameters) -> Any:
    """Return RLC's parameters in C, but for the block error; NotNativeError if one is too large."""
    pattern = rlc.tdd or TddPattern()
    return library().ffi.new(
        "rlc_parameters *",
        {
            "acknowledged": rlc.mode == "am",
            "in_order": rlc.in_order,
            "slot": _fitting(rlc.slot_ns),
            "harq_rtt": _fitting(rlc.harq_rtt_ns),
            "harq_retransmissions": _fitting(rlc.harq_retransmissions),
            "status": _fitting(rlc.status_ns),
            "max_retx_threshold": _fitting(rlc.max_retx_threshold),
            "discard": NEVER if rlc.discard_ns is None else _fitting(rlc.discard_ns),
            "phase": _fitting(rlc.phase_ns),
            "sr": _fitting(rlc.sr_ns),
            "request": pattern.request_slot * _fitting(rlc.slot_ns),
            "header_bytes": _fitting(rlc.header_bytes),
            "drx": [0] * 5 if rlc.drx is None else [*map(_fitting, astuple(rlc.drx))],
            "tdd": {
                "count": 0 if rlc.tdd is None else len(pattern.slots),
                "before": pattern.before,
                "skips": pattern.skips,
                "rounds": pattern.rounds,
            },
        },
    )


def native_discipline(discipline: QueueDiscipline) -> tuple[int, tuple[float, ...]]:
    """Return a discipline's kind in C and its numbers; NotNativeError for another class."""
    if type(discipline) not in DISCIPLINES:
        raise NotNativeError(f"a queue discipline of class {type(discipline).__name__}")
    return DISCIPLINES.index(type(discipline)), discipline.numbers


def native_limit(limit: int | None) -> int:
    """Return a limit as C has it, where None is a limit that is never reached."""
    return MOST if limit is None else min(limit, MOST)


def _fitting(value: int) -> int:
    if abs(value) > MOST:
        raise NotNativeError(f"a number of {len(str(value))} digits")
    return value


def _numbers(values: tuple[int, ...]) -> Any:
    if max(map(abs, values)) > MOST:
        raise NotNativeError("a trace with a number beyond 64 bits")
    return library().ffi.from_buffer("int64_t[]", array("q", values))
