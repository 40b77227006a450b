"""Cells: shares by formula, conservation, priorities, and independence of when they are polled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.errors import InputError
from minitopo_dc.link import (
    AnyLeg,
    Capacity,
    ConstantDelay,
    LegParameters,
    RlcLeg,
    RlcParameters,
    make_capacity,
)
from minitopo_dc.link.cell import (
    Background,
    Cell,
    Load,
    full_buffer,
    on_off_periods,
    poisson_downloads,
)
from minitopo_dc.link.cell_scheduler import (
    CellScheduler,
    CellUser,
    make_scheduler,
)
from minitopo_dc.trace import RateTrace
from minitopo_dc.units import NS_PER_MS, NS_PER_S

PACKET = 1500
DOWNLOAD = 2500
"""Bytes of a background download."""
ALWAYS = ((0, 1 << 60),)
NO_DELAY = LegParameters(delay=ConstantDelay(0))


def full(mbps: float, *, periods: Sequence[tuple[int, int]] = ALWAYS, priority: int = 1) -> Any:
    """Return a background user that always has something to send while it is active."""
    return user(full_buffer(iter(periods)), mbps, priority=priority)


def user(load: Load, mbps: float, *, priority: int = 1) -> Background:
    """Return a background user of a constant rate."""
    return Background(load, round(mbps * 1e6), priority=priority)


def alternating(half_ms: int, first: int, second: int) -> Capacity:
    """Return a capacity that is the first and the second rate (Mbit/s) in turn, for so long."""
    times = (0, half_ms * NS_PER_MS)
    rates = (first * 1_000_000, second * 1_000_000)
    return make_capacity(RateTrace("alternating", times, rates, 2 * half_ms * NS_PER_MS))


def saturate(legs: Sequence[AnyLeg[int]], seconds: float) -> None:
    """Keep the queues of legs full from 0 on, and poll each when it says."""
    for leg in legs:
        leg.start(0)
    now = 0
    while now < seconds * NS_PER_S:
        for leg in legs:
            while leg.push(0, PACKET, now):
                pass
        now = min(moment for leg in legs if (moment := leg.next_timeout()) is not None)
        for leg in legs:
            leg.poll(now)


def mbps(cell: Cell, seconds: float) -> list[float]:
    """Return what each user of a cell was served, in Mbit/s."""
    return [count * 8 / seconds / 1e6 for count in cell.statistics().served_bytes]


@pytest.mark.parametrize("scheduler", ["round-robin", "proportional-fair", "priority"])
def test_full_buffers_of_constant_rates_have_the_same_share_of_the_time(scheduler: str) -> None:
    """A user's throughput is its own rate over the number of users, with either scheduler."""
    cell = Cell(make_scheduler(scheduler, {}), NS_PER_MS, [full(10), full(60)])
    leg = cell.leg(NO_DELAY, make_capacity(30_000_000), Random(1))
    saturate([leg], 5)
    assert mbps(cell, 5) == pytest.approx([10, 10 / 3, 20], rel=0.01)


@pytest.mark.parametrize(
    ("scheduler", "each_mbps"), [("round-robin", 7.5), ("proportional-fair", 8.75)]
)
def test_proportional_fair_serves_users_when_they_are_good(
    scheduler: str, each_mbps: float
) -> None:
    """Two users alternate between 20 and 10 Mbit/s, in all four combinations for the same time.

    In turn each has half of 15. By proportional fairness the better one has all where they differ:
    (20 + 0 + 20 / 2 + 10 / 2) / 4.
    """
    cell = Cell(make_scheduler(scheduler, {}), NS_PER_MS)
    capacities = alternating(10, 20, 10), alternating(20, 20, 10)
    legs = [cell.leg(NO_DELAY, capacity, Random(1)) for capacity in capacities]
    saturate(legs, 8)
    assert mbps(cell, 8) == pytest.approx([each_mbps, each_mbps], rel=0.01)


def test_proportional_fair_gives_a_newcomer_the_time_that_others_had_before() -> None:
    """A user that begins is served alone until it has had what others have on average.

    Its average grows as 1 - exp(-t / T), that of the other falls as exp(-t / T): they meet after
    T ln 2.
    """
    averaging_ms = 200.0
    begin = 2 * NS_PER_S
    scheduler = make_scheduler("proportional-fair", {"averaging_ms": averaging_ms})
    cell = Cell(scheduler, NS_PER_MS, [full(10, periods=[(begin, 1 << 60)])])
    leg = cell.leg(NO_DELAY, make_capacity(10_000_000), Random(1))
    saturate([leg], (begin + averaging_ms * NS_PER_MS) / NS_PER_S)
    alone_ms = averaging_ms * 0.6931
    expected_ms = alone_ms + (averaging_ms - alone_ms) / 2
    assert cell.statistics().served_ns[1] / NS_PER_MS == pytest.approx(expected_ms, rel=0.02)


def test_priority_serves_others_only_with_what_the_first_leaves() -> None:
    """The leg has all but the recorded 4 of 10 Mbit/s of the first user; the last has nothing."""
    offered = make_capacity(4_000_000)
    users = [user(partial(offered.bits_between, 0), 10, priority=1), full(10, priority=3)]
    cell = Cell(make_scheduler("priority", {}), NS_PER_MS, users)
    leg = cell.leg(NO_DELAY, make_capacity(10_000_000), Random(1), priority=2)
    saturate([leg], 5)
    assert mbps(cell, 5) == pytest.approx([6, 4, 0], rel=0.01, abs=0.02)
    assert leg.rate_bps(now=5 * NS_PER_S) == pytest.approx(6e6, rel=0.05)


def test_a_leg_without_others_is_a_leg_with_rlc() -> None:
    """Nobody shares, so all that a leg counts in a cell is as with RLC alone."""
    cell = Cell(make_scheduler("round-robin", {}), NS_PER_MS)
    rlc, rate = RlcParameters(block_error=0.1), 10_000_000
    shared = cell.leg(NO_DELAY, make_capacity(rate), Random(1), rlc)
    alone: RlcLeg[int] = RlcLeg(NO_DELAY, rlc, make_capacity(rate), Random(1))
    saturate([shared], 2)
    saturate([alone], 2)
    assert shared.statistics() == alone.statistics()
    assert shared.rate_bps(now=2 * NS_PER_S) == rate


def test_the_rate_of_a_leg_follows_the_users_that_compete() -> None:
    """Three full buffers begin after 1 s: the rate falls to a quarter within some 100 ms."""
    others = [full(10, periods=[(NS_PER_S, 1 << 60)]) for _ in range(3)]
    cell = Cell(make_scheduler("round-robin", {}), NS_PER_MS, others)
    leg = cell.leg(NO_DELAY, make_capacity(20_000_000), Random(1))
    leg.start(0)
    assert leg.rate_bps(now=NS_PER_S) == pytest.approx(20e6, rel=0.001)
    assert leg.rate_bps(now=2 * NS_PER_S) == pytest.approx(5e6, rel=0.01)


def test_downloads_come_as_a_poisson_process() -> None:
    """The mean is what was asked for, and the variance of counts is their mean."""
    size, rng, counts, before = 1000, Random(3), [], 0
    load = poisson_downloads(rng, size, 10 * NS_PER_MS)
    for second in range(1, 401):
        bits = load(second * NS_PER_S)
        counts.append((bits - before) // size)
        before = bits
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    assert mean == pytest.approx(100, rel=0.02)
    assert variance == pytest.approx(mean, rel=0.2)


def test_on_off_users_are_active_for_their_share_of_the_time() -> None:
    """With means of 1 and 3 s a user is active for a quarter of the time."""
    load = full_buffer(on_off_periods(Random(2), NS_PER_S, 3 * NS_PER_S))
    active = [load(moment * NS_PER_S // 10) > 0 for moment in range(100_000)]
    assert sum(active) / len(active) == pytest.approx(0.25, abs=0.02)


Pushes = list[tuple[int, int, int]]
pushes = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 1), st.integers(40, 1500)), max_size=60
)
schedulers = st.sampled_from(["round-robin", "proportional-fair", "priority"])


def play(name: str, events: Pushes, *, every_ns: int) -> tuple[list[AnyLeg[int]], Cell, list[Any]]:
    """Push packets (ms later than the last, leg, bytes) and poll at least every so many ns."""
    users = [
        user(poisson_downloads(Random(5), DOWNLOAD * 8, 20 * NS_PER_MS), 5),
        full(3, periods=[(50 * NS_PER_MS, 400 * NS_PER_MS)], priority=2),
    ]
    cell = Cell(make_scheduler(name, {}), NS_PER_MS, users)
    legs: list[AnyLeg[int]] = [
        cell.leg(NO_DELAY, make_capacity(4_000_000), Random(1), RlcParameters(block_error=0.2)),
        cell.leg(NO_DELAY, alternating(7, 6, 1), Random(2), priority=2),
    ]
    arrived: list[Any] = []
    for leg in legs:
        leg.start(0)
    now = number = 0
    for gap_ms, place, size in [*events, (1000, 0, 40)]:
        until = now + gap_ms * NS_PER_MS
        for moment in steps(now, until, every_ns):
            arrived += [(index, packet) for index in (0, 1) for packet in legs[index].poll(moment)]
        now, number = until, number + 1
        legs[place].push(number, size, now)
    return legs, cell, sorted(arrived)


def steps(now: int, until: int, every_ns: int) -> Iterator[int]:
    """Yield moments up to `until`, which is the last."""
    yield from range(now + every_ns, until, every_ns)
    yield until


@given(schedulers, pushes)
def test_bytes_and_time_are_conserved(name: str, events: Pushes) -> None:
    """Legs lose nothing without a count, and users have at most the time of all slots."""
    legs, cell, _ = play(name, events, every_ns=10 * NS_PER_MS)
    counted = cell.statistics()
    for place, leg in enumerate(legs):
        now = leg.statistics()
        gone = now.delivered_packets + now.queue_packets + now.air_packets + now.dropped_queue
        assert now.pushed_packets == gone
        assert counted.served_bytes[place] >= now.delivered_bytes - 1
    slots = 1_000_000 * (1 + sum(gap for gap, *_ in events) + 1000)
    assert sum(counted.served_ns) <= slots
    offered = counted.served_bytes[2] + counted.waiting_bytes[2]
    assert abs(offered - DOWNLOAD * round(offered / DOWNLOAD)) <= 1


@given(schedulers, pushes)
def test_polling_late_changes_nothing(name: str, events: Pushes) -> None:
    """What arrived and what was counted are the same, however often the legs are polled."""
    often, rarely = (play(name, events, every_ns=step * 100_000) for step in (3, 10_000))
    assert often[1].statistics() == rarely[1].statistics()
    assert often[2] == rarely[2]


def test_a_choice_that_is_none_is_an_error() -> None:
    """A scheduler of the user's that names no user is named."""

    class Wrong(CellScheduler):
        def choose(self, users: Sequence[CellUser], now: int) -> int:  # noqa: ARG002
            return len(users)

    cell = Cell(Wrong(), NS_PER_MS, [full(1)])
    leg = cell.leg(NO_DELAY, make_capacity(1_000_000), Random(1))
    leg.start(0)
    with pytest.raises(InputError, match=r"Wrong .*user 1 of 1; allowed: "):
        leg.poll(NS_PER_S)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("rr", {}, "no cell scheduler 'rr'.*round-robin, priority, proportional-fair"),
        ("round-robin", {"averaging_ms": 1}, "its parameters: none"),
        ("proportional-fair", {"averaging_ms": 0}, "averaging_ms is 0, must be a number > 0"),
    ],
)
def test_wrong_schedulers_are_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    """One error names the scheduler and what is allowed."""
    with pytest.raises(InputError, match=words):
        make_scheduler(name, parameters)
