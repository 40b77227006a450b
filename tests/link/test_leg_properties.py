"""A leg's direction under random loads: against a plain model, and what must always hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    ConstantCapacity,
    ConstantDelay,
    GilbertElliott,
    Leg,
    LegParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.trace import OpportunityTrace, RateTrace

MS = 10**6
RATE = 9_999_991

loads = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 3 * MS)), st.integers(1, 1500)), max_size=40
)
parameters = st.builds(
    LegParameters,
    queue_packets=st.one_of(st.none(), st.integers(1, 6)),
    queue_bytes=st.one_of(st.none(), st.integers(1500, 6000)),
    delay=st.sampled_from([ConstantDelay(0), ConstantDelay(3 * MS), UniformDelay(0, 4 * MS)]),
    loss=st.sampled_from([None, Bernoulli(0.3), GilbertElliott(0.2, 0.4)]),
    reorder=st.booleans(),
)
makers: st.SearchStrategy[Callable[[], Capacity]] = st.sampled_from(
    [
        lambda: make_capacity(RATE),
        lambda: make_capacity(RateTrace("t", (0, MS, 2 * MS), (RATE, 0, 3 * RATE), 3 * MS)),
        lambda: make_capacity(RateTrace("t", (0,), (RATE,), 20 * MS), "stop"),
        lambda: make_capacity(OpportunityTrace("t", (0, 1, 1, 4))),
        lambda: make_capacity(OpportunityTrace("t", (0, 1, 1, 14)), "stop"),
    ]
)
actions = st.lists(
    st.tuples(
        st.integers(0, 2 * MS),
        st.sampled_from(["push", "push", "push", "poll", "down", "up", "start", "retune", "flush"]),
    ),
    max_size=60,
)


@given(loads, st.integers(1, 5))
def test_departures_and_drops_are_those_of_a_plain_drop_tail_queue(
    load: list[tuple[int, int]], limit: int
) -> None:
    leg: Leg[int] = Leg(
        LegParameters(queue_packets=limit, delay=ConstantDelay(0)),
        ConstantCapacity(RATE),
        Random(1),
    )
    now, free = 0, Fraction(0)
    departures: dict[int, int] = {}
    for number, (gap, size) in enumerate(load):
        now += gap
        inside = sum(departure > now for departure in departures.values())
        accepted = leg.push(number, size, now)
        assert accepted == (inside < limit)
        if accepted:
            begin = free if math.ceil(free) >= now else Fraction(now)
            free = begin + Fraction(size * 8 * 10**9, RATE)
            departures[number] = math.ceil(free)
    out = {}
    while (time := leg.next_timeout()) is not None:
        out.update(dict.fromkeys(leg.poll(time), time))
    assert out == departures


@given(parameters, makers, actions)
def test_every_packet_pushed_is_delivered_dropped_or_inside(
    parameters: LegParameters,
    make: Callable[[], Capacity],
    steps: list[tuple[int, str]],
) -> None:
    leg: Leg[int] = Leg(parameters, make(), Random(1))
    now = pushed = size = 0
    promised: set[int] = set()
    delivered: list[int] = []
    for gap, action in steps:
        now += gap
        if action == "push":
            size += 100 + pushed
            if leg.push(pushed, 100 + pushed, now):
                promised.add(pushed)
            pushed += 1
        elif action == "poll":
            delivered += leg.poll(now)
        elif action == "start":
            leg.start(now)
        elif action == "flush":
            promised -= set(leg.flush(now))
        elif action == "retune":
            leg.retune(now, capacity=make(), delay=ConstantDelay(MS), loss=Bernoulli(0.5))
        else:
            leg.set_up(action == "up", now)
        assert leg.dropped() == []
        seen = leg.statistics()
        dropped = seen.dropped_queue + seen.dropped_loss + seen.dropped_stop + seen.dropped_flush
        inside = seen.queue_packets + seen.air_packets
        assert seen.pushed_packets == pushed
        assert seen.pushed_bytes == size
        assert seen.delivered_packets == len(delivered)
        assert pushed == seen.delivered_packets + dropped + inside
    assert len(set(delivered)) == len(delivered)
    assert set(delivered) <= promised
    if not parameters.reorder:
        assert delivered == sorted(delivered)


@given(parameters, loads)
def test_all_that_is_promised_comes_out_of_a_leg_that_stays_up(
    parameters: LegParameters, load: list[tuple[int, int]]
) -> None:
    leg: Leg[int] = Leg(parameters, ConstantCapacity(RATE), Random(1))
    now = 0
    promised, delivered = [], []
    for number, (gap, size) in enumerate(load):
        now += gap
        if leg.push(number, size, now):
            promised.append(number)
    while (time := leg.next_timeout()) is not None:
        delivered += leg.poll(time)
    assert sorted(delivered) == promised


@given(parameters, makers, loads, st.lists(st.integers(0, 60 * MS)))
def test_polls_that_nobody_asked_for_change_nothing(
    parameters: LegParameters,
    make: Callable[[], Capacity],
    load: list[tuple[int, int]],
    extra: list[int],
) -> None:
    def run(polls: list[int]) -> list[tuple[int, int]]:
        """(time, packet) of a driver that polls at every timeout, and at `polls`."""
        leg: Leg[int] = Leg(parameters, make(), Random(1))
        leg.start(0)
        out: list[tuple[int, int]] = []

        def poll_until(end: int) -> None:
            while (time := leg.next_timeout()) is not None and time <= end:
                out.extend((time, packet) for packet in leg.poll(time))

        arrival, events = 0, [(time, -1, 0) for time in polls]
        for number, (gap, size) in enumerate(load):
            arrival += gap
            events.append((arrival, number, size))
        for time, number, size in sorted(events):
            poll_until(time)
            if number < 0:
                assert leg.poll(time) == []
            else:
                leg.push(number, size, time)
        poll_until(10**12)
        return out

    assert run([]) == run(extra)


@given(loads)
def test_a_leg_works_whenever_something_waits(load: list[tuple[int, int]]) -> None:
    """The last departure is the last busy period's begin plus its work."""
    leg: Leg[int] = Leg(
        LegParameters(queue_packets=None, delay=ConstantDelay(0)), ConstantCapacity(RATE), Random(1)
    )
    now = 0
    begin, bits = 0, 0
    for number, (gap, size) in enumerate(load):
        now += gap
        if now > begin + math.ceil(Fraction(bits * 10**9, RATE)):
            begin, bits = now, 0
        bits += size * 8
        leg.push(number, size, now)
    last = 0
    while (time := leg.next_timeout()) is not None:
        leg.poll(time)
        last = time
    if load:
        assert last == begin + math.ceil(Fraction(bits * 10**9, RATE))
