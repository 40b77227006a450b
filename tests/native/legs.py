"""Random legs, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from minitopo_dc.link import (
    AnyLeg,
    Bernoulli,
    Capacity,
    ConstantDelay,
    GilbertElliott,
    LegParameters,
    NormalDelay,
    RlcParameters,
    UniformDelay,
    make_capacity,
    make_leg,
)
from minitopo_dc.link.codel import CoDel
from minitopo_dc.link.discipline import Red, Step
from minitopo_dc.link.pie import DualPi2, Pie
from minitopo_dc.link.rlc.parameters import Drx, TddPattern
from minitopo_dc.trace.model import EndRule, OpportunityTrace, RateTrace, Trace
from minitopo_dc.units import QueueLimit
from tests.native.driven import DrivenLeg

MS = 1_000_000
probabilities = st.floats(0, 1)
delays = st.one_of(
    st.builds(ConstantDelay, st.integers(0, 50 * MS)),
    st.builds(NormalDelay, st.integers(0, 50 * MS), st.integers(0, 20 * MS)),
    st.builds(
        lambda low, more: UniformDelay(low, low + more),
        *(st.integers(0, 30 * MS), st.integers(0, 30 * MS)),
    ),
)
losses = st.one_of(
    st.none(),
    st.builds(Bernoulli, probabilities),
    st.builds(GilbertElliott, probabilities, probabilities, probabilities, probabilities),
)
block_errors = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1.0]), probabilities)


@st.composite
def rlcs(draw: st.DrawFn) -> RlcParameters:
    slot = draw(st.sampled_from([1, 333_333, MS, 7 * MS]))
    return RlcParameters(
        mode=draw(st.sampled_from(["am", "um"])),
        slot_ns=slot,
        block_error=draw(block_errors),
        harq_rtt_ns=slot + draw(st.integers(0, 20 * MS)),
        harq_retransmissions=draw(st.integers(0, 4)),
        status_ns=draw(st.integers(0, 60 * MS)),
        status_prohibit_ns=draw(st.sampled_from([0, MS, 30 * MS])),
        max_retx_threshold=draw(st.integers(1, 3)),
        in_order=draw(st.booleans()),
        discard_ns=draw(st.one_of(st.none(), st.integers(1, 60 * MS))),
        tdd=draw(st.one_of(st.none(), patterns())),
        phase_ns=draw(st.integers(0, 30 * MS)),
        sr_ns=draw(st.one_of(st.just(0), st.integers(1, 20 * MS))),
        header_bytes=draw(st.sampled_from([0, 9])),
        drx=draw(st.one_of(st.none(), drxs())),
    )


@st.composite
def drxs(draw: st.DrawFn) -> Drx:
    on, short = draw(st.integers(1, 10 * MS)), draw(st.integers(0, 20 * MS))
    return Drx(
        on_ns=on,
        inactivity_ns=draw(st.integers(0, 20 * MS)),
        cycle_ns=on + draw(st.integers(0, 100 * MS)),
        short_ns=on + short if short else 0,
        short_cycles=draw(st.integers(1, 3)) if short else 0,
    )


@st.composite
def patterns(draw: st.DrawFn) -> TddPattern:
    down = draw(st.integers(0, 14))
    return TddPattern(
        slots=draw(st.sampled_from(["DDDSU", "DDDDDDDSUU", "DSUUU", "DSUDDDSUDD", "UD"])),
        of=draw(st.sampled_from(["D", "U"])),
        special=(down, draw(st.integers(0, 14 - down))),
        ue_slots=draw(st.integers(0, 8)),
        gnb_slots=draw(st.integers(1, 8)),
    )


@st.composite
def rate_traces(draw: st.DrawFn) -> RateTrace:
    steps = draw(st.lists(st.integers(1, 300 * MS), min_size=1, max_size=6))
    rates = [draw(st.sampled_from([0, 1, 999, 10**5, 2 * 10**7, 10**9, 10**12])) for _ in steps]
    times = [sum(steps[:index]) for index in range(len(steps))]
    return RateTrace("t", tuple(times), tuple(rates), sum(steps))


@st.composite
def opportunity_traces(draw: st.DrawFn) -> OpportunityTrace:
    gaps = draw(st.lists(st.integers(0, 30), min_size=1, max_size=8))
    times = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    times[-1] = max(times[-1], 1)
    return OpportunityTrace("t", tuple(times))


@st.composite
def capacities(draw: st.DrawFn) -> Callable[[], Capacity]:
    """What makes the same capacity each time: it keeps state."""
    source: Any = draw(
        st.one_of(
            st.sampled_from([1, 333, 10**6, 2 * 10**7, 10**8 + 7, 10**12]),
            rate_traces(),
            opportunity_traces(),
        )
    )
    opportunities = isinstance(source, OpportunityTrace)
    end: Any = draw(
        st.sampled_from(["loop", "stop"] if opportunities else ["loop", "hold", "stop"])
    )
    offset = 0 if isinstance(source, int) else draw(offsets(source, end))
    return lambda: make_capacity(source, end, offset)


def offsets(trace: Trace, end: EndRule) -> st.SearchStrategy[int]:
    """Moments at which a trace may begin (ns), among them its begin and the seams of its laps."""
    last = trace.duration_ns
    if end == "stop":
        return st.sampled_from([0, last // 2, last - 1])
    return st.one_of(st.sampled_from([0, last, 2 * last]), st.integers(0, 2 * last))


disciplines = st.one_of(
    st.none(),
    st.builds(Step, threshold_ms=st.sampled_from((0.1, 1, 20))),
    st.builds(
        Red,
        minimum_packets=st.sampled_from((0.5, 2)),
        maximum_packets=st.integers(3, 6),
        weight=st.sampled_from((0.01, 0.5, 1)),
        probability=probabilities.filter(bool),
    ),
    st.builds(CoDel, target_ms=st.sampled_from((0.1, 5)), interval_ms=st.sampled_from((1, 100))),
    st.builds(Pie, target_ms=st.sampled_from((0.5, 15)), burst_ms=st.sampled_from((1, 150))),
    st.builds(DualPi2, target_ms=st.sampled_from((0.5, 15)), ramp_from_ms=st.just(0.1)),
)


class Numbered:
    """A packet of the leg in Python that equals a number of the leg in C, whose last bits are its
    code point."""

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def ecn(self) -> int:
        return self.number & 3

    def mark(self) -> None:
        self.number |= 3

    def __int__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self.number == other

    __hash__ = None  # type: ignore[assignment]


@st.composite
def pairs_of_legs(draw: st.DrawFn) -> tuple[AnyLeg[Numbered], DrivenLeg]:
    """The same leg on both cores."""
    rlc, discipline = draw(st.one_of(st.none(), rlcs())), draw(disciplines)
    parameters = LegParameters(
        queue=QueueLimit(
            draw(st.one_of(st.none(), st.integers(1, 20))),
            draw(st.one_of(st.none(), st.integers(1, 20_000))),
        ),
        delay=draw(delays),
        loss=draw(losses),
        reorder=draw(st.booleans()),
        mtu_bytes=draw(st.sampled_from((None, None, 1000))),
        grant_ns=draw(st.sampled_from((0, 1, 500_000, 10_000_000))),
        discipline=None if rlc and isinstance(discipline, DualPi2) else discipline,
    )
    capacity, seed = draw(capacities()), draw(st.integers(0, 2**32))
    return (
        make_leg(parameters, capacity(), Random(seed), rlc),
        DrivenLeg(parameters, capacity(), Random(seed), rlc),
    )


def shown(leg: Any, now: int) -> tuple[Any, ...]:
    """All that a leg says of itself."""
    return (
        *(leg.is_up, leg.mean_delay_ns, leg.backlog_bytes(now=now), leg.joined_packets),
        *(leg.has_room(now=now, size=1500), leg.served_packets(now=now), leg.rate_bps(now=now)),
        *(leg.service_end(now=now), leg.drain_ns(now=now, more=700), leg.next_timeout()),
        leg.statistics(),
    )


def polled(leg: Any, now: int) -> tuple[list[Any], list[Any]]:
    """What arrived at its other end by `now`, and what was dropped since the last call."""
    return leg.poll(now), leg.dropped()
