"""A leg with RLC and HARQ under random loads: what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    ConstantDelay,
    LegParameters,
    RlcLeg,
    RlcParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.trace import OpportunityTrace, RateTrace

MS = 10**6
RATE = 4_999_991
Step = tuple[int, str]

parameters = st.builds(
    LegParameters,
    queue_packets=st.one_of(st.none(), st.integers(1, 6)),
    delay=st.sampled_from([ConstantDelay(0), ConstantDelay(3 * MS), UniformDelay(0, 4 * MS)]),
    loss=st.sampled_from([None, Bernoulli(0.3)]),
    reorder=st.booleans(),
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
makers: st.SearchStrategy[Callable[[], Capacity]] = st.sampled_from(
    [
        lambda: make_capacity(RATE),
        lambda: make_capacity(RateTrace("t", (0, MS, 2 * MS), (RATE, 0, 3 * RATE), 3 * MS)),
        lambda: make_capacity(RateTrace("t", (0,), (RATE,), 20 * MS), "stop"),
        lambda: make_capacity(OpportunityTrace("t", (0, 1, 1, 14)), "stop"),
    ]
)
ACTIONS = ["push", "push", "push", "push", "poll", "down", "up", "start", "retune", "flush"]
steps = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 3 * MS)), st.sampled_from(ACTIONS)), max_size=50
)


class Watched:
    """A leg and all that it has said."""

    def __init__(
        self, parameters: LegParameters, rlc: RlcParameters, make: Callable[[], Capacity]
    ) -> None:
        self.leg: RlcLeg[int] = RlcLeg(parameters, rlc, make(), Random(1))
        self._make = make
        self.now = self.pushed = 0
        self.promised: set[int] = set()
        self.delivered: list[int] = []
        self.gone: list[int] = []

    def poll(self) -> None:
        self.delivered += self.leg.poll(self.now)
        self.gone += self.leg.dropped()

    def serve(self, until: int) -> None:
        """Poll whenever the leg says so."""
        while (due := self.leg.next_timeout()) is not None and due <= until:
            self.now = max(self.now, due)
            self.poll()
        self.now = until

    def act(self, action: str) -> None:
        leg, now = self.leg, self.now
        if action == "push":
            if leg.push(self.pushed, 100 + self.pushed * 37, now):
                self.promised.add(self.pushed)
            self.pushed += 1
        elif action == "poll":
            self.poll()
        elif action == "start":
            leg.start(now)
        elif action == "flush":
            self.gone += leg.flush(now)
        elif action == "retune":
            leg.retune(now, capacity=self._make(), delay=ConstantDelay(MS), block_error=0.3)
        else:
            leg.set_up(action == "up", now)


@given(parameters, rlcs, makers, steps)
def test_every_packet_pushed_is_delivered_dropped_or_inside(
    parameters: LegParameters,
    rlc: RlcParameters,
    make: Callable[[], Capacity],
    steps: list[Step],
) -> None:
    one = Watched(parameters, rlc, make)
    for gap, action in steps:
        one.now += gap
        one.act(action)
        seen = one.leg.statistics()
        dropped = (
            *(seen.dropped_queue, seen.dropped_loss, seen.dropped_stop, seen.dropped_flush),
            *(seen.dropped_discard, seen.dropped_radio),
        )
        inside = seen.queue_packets + seen.air_packets
        assert one.pushed == seen.pushed_packets
        assert one.pushed == seen.delivered_packets + sum(dropped) + inside
        assert seen.delivered_packets == len(one.delivered)
        assert one.leg.served_packets(now=one.now) <= one.leg.joined_packets
    assert len(set(one.delivered)) == len(one.delivered)
    assert {*one.delivered, *one.gone} <= one.promised
    if rlc.in_order and not parameters.reorder:
        assert one.delivered == sorted(one.delivered)


@given(parameters, rlcs, makers, steps)
def test_when_a_leg_is_polled_changes_nothing(
    parameters: LegParameters,
    rlc: RlcParameters,
    make: Callable[[], Capacity],
    steps: list[Step],
) -> None:
    eager, lazy = Watched(parameters, rlc, make), Watched(parameters, rlc, make)
    for gap, action in steps:
        eager.serve(eager.now + gap)
        eager.leg.backlog_bytes(now=eager.now)
        lazy.now += gap
        for one in (eager, lazy):
            if action != "poll":
                one.act(action)
    end = lazy.now + 10_000 * MS
    eager.serve(end)
    eager.poll()
    lazy.now = end
    lazy.poll()
    assert eager.delivered == lazy.delivered
    assert sorted(eager.gone) == sorted(lazy.gone)
    assert eager.promised == lazy.promised
    assert eager.leg.statistics() == lazy.leg.statistics()


@given(parameters, rlcs, steps)
def test_all_that_is_promised_is_delivered_or_told_to_be_lost(
    parameters: LegParameters, rlc: RlcParameters, steps: list[Step]
) -> None:
    one = Watched(parameters, rlc, lambda: make_capacity(RATE))
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


@given(parameters, rlcs, steps)
def test_nothing_waits_longer_than_discard_without_being_sent(
    parameters: LegParameters, rlc: RlcParameters, steps: list[Step]
) -> None:
    one = Watched(parameters, rlc, lambda: make_capacity(RATE))
    for gap, action in steps:
        one.serve(one.now + gap)
        one.act(action)
        waiting = [sdu for sdu in one.leg._queue if not sdu.started]
        if rlc.discard_ns is not None:
            limit = rlc.discard_ns + 2 * rlc.slot_ns
            assert all(one.now - sdu.pushed < limit for sdu in waiting)
