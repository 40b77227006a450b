"""What holds for a leg on any traffic, and its counts of losses."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import (
    AnyLeg,
    Bernoulli,
    Capacity,
    CapacityLeg,
    ConstantDelay,
    GilbertElliott,
    LegParameters,
    RlcLeg,
    RlcParameters,
    UniformDelay,
    make_capacity,
    make_leg,
)
from minitopo_dc.runs.element_settings import leg_seed
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import ExpectedCount, expected_count
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.units import QueueLimit

MS = 10**6
RATE = 9_999_991

loads = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 3 * MS)), st.integers(1, 1500)), max_size=40
)
parameters = st.builds(
    LegParameters,
    queue=st.builds(
        QueueLimit,
        st.one_of(st.none(), st.integers(1, 6)),
        st.one_of(st.none(), st.integers(1500, 6000)),
    ),
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
rlcs = st.builds(
    RlcParameters,
    mode=st.sampled_from(["am", "um"]),
    slot_ns=st.sampled_from([MS, MS // 4]),
    block_error=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    harq_rtt_ns=st.sampled_from([MS, 2_500_000, 8 * MS]),
    harq_retransmissions=st.integers(0, 3),
    status_ns=st.sampled_from([0, 5 * MS]),
    max_retx_threshold=st.integers(1, 3),
    in_order=st.booleans(),
    discard_ns=st.sampled_from([None, 3 * MS, 10 * MS + 1]),
)
ACTIONS = ["push", "push", "push", "push", "poll", "down", "up", "start", "retune", "flush"]
steps = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 3 * MS)), st.sampled_from(ACTIONS)), max_size=60
)


class Watched:
    """A leg and all that it has said; packets are their numbers."""

    def __init__(
        self,
        parameters: LegParameters,
        make: Callable[[], Capacity],
        rlc: RlcParameters | None = None,
    ) -> None:
        self.leg: AnyLeg[int] = make_leg(parameters, make(), Random(1), rlc)
        self.keeps_order = not parameters.reorder and (rlc is None or rlc.in_order)
        self._make = make
        self.now = self.pushed = self.size = 0
        self.promised: set[int] = set()
        self.delivered: list[int] = []
        self.gone: list[int] = []
        self.times: list[int] = []

    def poll(self) -> None:
        arrived = self.leg.poll(self.now)
        self.delivered += arrived
        self.times += [self.now] * len(arrived)
        dropped = self.leg.dropped()
        assert isinstance(self.leg, RlcLeg) or not dropped
        self.gone += dropped

    def serve(self, until: int) -> None:
        """Poll whenever the leg says so."""
        while (due := self.leg.next_timeout()) is not None and due <= until:
            self.now = max(self.now, due)
            self.poll()
        self.now = until

    def act(self, action: str) -> None:
        leg, now = self.leg, self.now
        if action == "push":
            size = 100 + self.pushed * 37
            if leg.push(self.pushed, size, now):
                self.promised.add(self.pushed)
            self.pushed += 1
            self.size += size
        elif action == "poll":
            self.poll()
        elif action == "start":
            leg.start(now)
        elif action == "flush":
            self.gone += leg.flush(now)
        elif action == "retune":
            leg.retune(now, capacity=self._make(), delay=ConstantDelay(MS), loss=Bernoulli(0.5))
            if isinstance(leg, RlcLeg):
                leg.retune(now, block_error=0.3)
        else:
            leg.set_up(action == "up", now)


Kinds = st.SearchStrategy[Callable[[Callable[[], Capacity]], Watched]]
"""What makes the same leg over a capacity each time it is called."""
with_and_without_rlc = pytest.mark.parametrize(
    "kinds",
    [
        st.builds(lambda parameters: partial(Watched, parameters), parameters),
        st.builds(lambda parameters, rlc: partial(Watched, parameters, rlc=rlc), parameters, rlcs),
    ],
    ids=["plain", "RLC"],
)


@given(loads, st.integers(1, 5))
def test_departures_and_drops_are_those_of_a_plain_drop_tail_queue(
    load: list[tuple[int, int]], limit: int
) -> None:
    leg: CapacityLeg[int] = CapacityLeg(
        LegParameters(queue=QueueLimit(limit), delay=ConstantDelay(0)),
        make_capacity(RATE),
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


@with_and_without_rlc
@given(st.data(), makers, steps)
def test_every_packet_pushed_is_delivered_dropped_or_inside(
    kinds: Kinds, data: st.DataObject, make: Callable[[], Capacity], steps: list[tuple[int, str]]
) -> None:
    one = data.draw(kinds)(make)
    for gap, action in steps:
        one.now += gap
        one.act(action)
        seen = one.leg.statistics()
        counters = asdict(seen).items()
        dropped = [value or 0 for name, value in counters if name.startswith("dropped_")]
        inside = seen.queue_packets + seen.air_packets
        assert (seen.pushed_packets, seen.pushed_bytes) == (one.pushed, one.size)
        assert one.pushed == seen.delivered_packets + sum(dropped) + inside
        assert seen.delivered_packets == len(one.delivered)
        assert one.leg.served_packets(now=one.now) <= one.leg.joined_packets
    told = [*one.delivered, *one.gone]
    assert len(set(told)) == len(told)
    assert set(told) <= one.promised
    if one.keeps_order:
        assert one.delivered == sorted(one.delivered)


@with_and_without_rlc
@given(st.data(), steps)
def test_all_that_is_promised_is_delivered_or_told_to_be_lost(
    kinds: Kinds, data: st.DataObject, steps: list[tuple[int, str]]
) -> None:
    one = data.draw(kinds)(lambda: make_capacity(RATE))
    for gap, action in steps:
        one.now += gap
        one.act(action)
    one.act("up")
    while (due := one.leg.next_timeout()) is not None:
        one.now = max(one.now, due)
        one.poll()
    assert sorted([*one.delivered, *one.gone]) == sorted(one.promised)
    counters = one.leg.statistics()
    assert counters.queue_packets == counters.air_packets == 0


@with_and_without_rlc
@given(st.data(), makers, steps)
def test_polls_and_questions_beside_the_timeouts_or_only_at_last_change_nothing(
    kinds: Kinds, data: st.DataObject, make: Callable[[], Capacity], steps: list[tuple[int, str]]
) -> None:
    kind = data.draw(kinds)
    plain, eager, lazy = (kind(make) for _ in range(3))
    for gap, action in steps:
        for one in (plain, eager):
            one.serve(one.now + gap)
        lazy.now += gap
        if action == "poll":
            eager.poll()
            eager.leg.backlog_bytes(now=eager.now)
            eager.leg.drain_ns(now=eager.now, more=1500)
            eager.leg.has_room(now=eager.now, size=1500)
            continue
        for one in (plain, eager, lazy):
            one.act(action)
    end = lazy.now + 10_000 * MS
    for one in (plain, eager):
        one.serve(end)
    for one in (plain, eager, lazy):
        one.now = end
        one.poll()
    assert eager.times == plain.times
    for one in (eager, lazy):
        assert one.delivered == plain.delivered
        assert sorted(one.gone) == sorted(plain.gone)
        assert one.promised == plain.promised
        assert one.leg.statistics() == plain.leg.statistics()


@given(parameters, rlcs, steps)
def test_nothing_waits_longer_than_discard_without_being_sent(
    parameters: LegParameters, rlc: RlcParameters, steps: list[tuple[int, str]]
) -> None:
    one = Watched(parameters, lambda: make_capacity(RATE), rlc)
    assert isinstance(one.leg, RlcLeg)
    for gap, action in steps:
        one.serve(one.now + gap)
        one.act(action)
        waiting = [sdu for sdu in one.leg._sdus.queue if not sdu.started]
        if rlc.discard_ns is not None:
            limit = rlc.discard_ns + 2 * rlc.slot_ns
            assert all(one.now - sdu.pushed < limit for sdu in waiting)


SEEDS = 400
PACKETS = 473
FOUR_SIGMA = 4.0


def scenario(mode: str, seed: int, **downlink: Any) -> Scenario:
    leg = {"downlink": {"rate_mbps": 1000, "queue_packets": None, "jitter_ms": 0} | downlink}
    return Scenario.check(
        {"transport": "quic", "mode": mode, "legs": [leg, leg], "seed": seed}, "test"
    )


def lost(made: Scenario) -> list[int]:
    """The numbers of the packets that leg 1's downlink loses."""
    leg = made.legs[0].downlink.build(leg_seed(made, 1, "downlink"))
    leg.start(0)
    for number in range(PACKETS):
        leg.push(number, 1500, 0)
    arrived = set(leg.poll(10**10))
    return [number for number in range(PACKETS) if number not in arrived]


def check(found: list[int], expected: ExpectedCount) -> None:
    error = expected.deviation / SEEDS**0.5
    assert statistics.mean(found) == pytest.approx(expected.mean, abs=FOUR_SIGMA * error)
    assert statistics.stdev(found) == pytest.approx(expected.deviation, rel=0.12)
    within = sum(expected.low <= each <= expected.high for each in found)
    assert 0.93 <= within / SEEDS <= 0.995


def test_bursts_scatter_more_and_by_as_much_as_is_said() -> None:
    model = GilbertElliott(0.002, 0.2)
    expected = expected_count(*model.moments(PACKETS))
    assert expected.deviation > 2 * expected.mean**0.5
    found = []
    for seed in range(SEEDS):
        rng, chain = Random(seed), GilbertElliott(0.002, 0.2)
        found.append(sum(chain.lost(rng) for _ in range(PACKETS)))
    check(found, expected)


def test_all_configurations_of_a_seed_lose_the_same_packets() -> None:
    same = lost(scenario("sc", 7, loss_percent=1))
    assert same
    assert same == lost(scenario("dc", 7, loss_percent=1))
    assert same != lost(scenario("sc", 8, loss_percent=1))
