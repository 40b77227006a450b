"""Each model of a leg in C against its twin in Python, step by step."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.link import (
    AnyLeg,
    Bernoulli,
    CapacityLeg,
    ConstantDelay,
    GilbertElliott,
    LegParameters,
    NormalDelay,
    RlcLeg,
    RlcMode,
    RlcParameters,
    UniformDelay,
    make_capacity,
    make_leg,
)
from minitopo_dc.link.codel import CoDel
from minitopo_dc.link.discipline import QueueDiscipline, Red, Step
from minitopo_dc.link.pie import DualPi2, Pie
from minitopo_dc.units import UNLIMITED, QueueLimit
from tests.native.driven import DrivenLeg
from tests.native.extension import EXAMPLES, needs_native
from tests.native.legs import (
    MS,
    Numbered,
    block_errors,
    capacities,
    delays,
    losses,
    pairs_of_legs,
    polled,
    rlcs,
    shown,
)

pytestmark = needs_native
gaps = st.one_of(st.just(0), st.integers(0, 3 * MS), st.integers(0, 400 * MS))


def change(data: st.DataObject, leg_of_each: tuple[AnyLeg[Any], DrivenLeg], now: int) -> None:
    """Something but a packet happens to both."""
    kinds = ["start", "up", "delay", "loss", "capacity"]
    has_rlc = isinstance(leg_of_each[0], RlcLeg)
    what = data.draw(st.sampled_from([*kinds, "block_error"] if has_rlc else kinds))
    changed: dict[str, st.SearchStrategy[Any]] = {
        "delay": delays,
        "loss": losses,
        "block_error": block_errors,
    }
    up = data.draw(st.booleans())
    value = data.draw(changed.get(what, capacities()))
    for leg in leg_of_each:
        if what == "start":
            leg.start(now)
        elif what == "up":
            leg.set_up(up, now)
        elif what == "capacity":
            leg.retune(now, capacity=value())
        else:
            leg.retune(now, **{what: value})


@settings(max_examples=EXAMPLES, deadline=None)
@given(pairs_of_legs(), st.data())
def test_a_leg_does_what_its_twin_does(
    pair: tuple[AnyLeg[Numbered], DrivenLeg], data: st.DataObject
) -> None:
    python, native = pair
    now = data.draw(st.integers(0, 10**9))
    for index in range(data.draw(st.integers(1, 60))):
        now += data.draw(gaps)
        what = data.draw(st.sampled_from(["push"] * 8 + ["poll"] * 3 + ["change"] * 4))
        if what == "push":
            size, number = data.draw(st.integers(1, 3000)), 4 * index + data.draw(st.integers(0, 3))
            assert native.push(number, size, now) == python.push(Numbered(number), size, now)
        elif what == "poll":
            moment = python.next_timeout()
            now = max(now, moment) if moment is not None and moment < 2**61 else now
            assert polled(native, now) == polled(python, now)
        else:
            change(data, pair, now)
        assert shown(native, now) == shown(python, now)


@settings(max_examples=EXAMPLES, deadline=None)
@given(rlcs(), rlcs(), st.data())
def test_both_directions_of_a_leg_do_what_their_twins_do(
    down: RlcParameters, up: RlcParameters, data: st.DataObject
) -> None:
    """Each direction's blocks make status reports that the other carries."""
    legs: list[list[Any]] = []
    for make in (make_leg, DrivenLeg):
        parameters = LegParameters(delay=ConstantDelay(MS), queue=UNLIMITED)
        pair: list[Any] = [
            make(parameters, make_capacity(2_000_003), Random(7), rlc) for rlc in (down, up)
        ]
        for way in (0, 1):
            pair[way].pair(pair[1 - way])
            pair[way].start(0)
        legs.append(pair)
    now = 0
    for number in range(data.draw(st.integers(1, 60))):
        now += data.draw(gaps)
        way, size = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 3000))
        if data.draw(st.booleans()):
            assert len({pair[way].push(number, size, now) for pair in legs}) == 1
        else:
            arrived = [polled(pair[way], now) for pair in legs]
            assert arrived[0] == arrived[1]
        seen = [shown(pair[way], now) for pair in legs]
        assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "delay", [NormalDelay(10 * MS, MS), NormalDelay(MS, 5 * MS), UniformDelay(0, 20 * MS)]
)
def test_a_long_run_draws_the_same_delays_and_losses(delay: NormalDelay | UniformDelay) -> None:
    """So many that the Mersenne Twister's state is made anew several times."""
    parameters = LegParameters(delay=delay, loss=GilbertElliott(0.01, 0.2, 0.1, 0.999))
    legs: list[Any] = [
        make(parameters, make_capacity(20_000_007), Random(7)) for make in (CapacityLeg, DrivenLeg)
    ]
    for number in range(4000):
        now = number * 600_000
        pushed, arrived = (
            [leg.push(number, 1500, now) for leg in legs],
            [polled(leg, now) for leg in legs],
        )
        assert pushed[0] == pushed[1]
        assert arrived[0] == arrived[1]
    assert legs[0].statistics() == legs[1].statistics()


@pytest.mark.parametrize("mode", ["am", "um"])
@pytest.mark.parametrize("in_order", [True, False])
def test_a_busy_leg_with_rlc_does_what_its_twin_does(mode: RlcMode, in_order: bool) -> None:
    """Blocks of many SDUs and SDUs of many blocks, half of which fail; outages."""
    rlc = RlcParameters(
        *(mode, MS),
        block_error=0.5,
        harq_retransmissions=1,
        status_ns=20 * MS,
        max_retx_threshold=2,
        in_order=in_order,
        discard_ns=30 * MS,
    )
    parameters = LegParameters(delay=NormalDelay(10 * MS, 3 * MS), loss=Bernoulli(0.01))
    draws = Random(3)
    legs: list[Any] = [
        make(parameters, make_capacity(4_000_007), Random(7), rlc) for make in (make_leg, DrivenLeg)
    ]
    for number in range(1000):
        now, size = number * MS, draws.choice((40, 300, 1500))
        assert len({leg.push(4 * number, size, now) for leg in legs}) == 1
        for leg in legs:
            leg.set_up(number % 100 > 50, now)  # down for longer than discardTimer
        while (due := legs[0].next_timeout()) is not None and due <= now:
            arrived = [polled(leg, now) for leg in legs]
            assert arrived[0] == arrived[1]
        states = [shown(leg, now) for leg in legs]
        assert states[0] == states[1]


@pytest.mark.parametrize(
    "discipline", [Step(), Red(), CoDel(interval_ms=10), Pie(burst_ms=1), DualPi2()]
)
def test_a_full_queue_of_a_discipline_does_what_its_twin_does(discipline: QueueDiscipline) -> None:
    """Half as much again as the leg carries, of all code points."""
    parameters = LegParameters(queue=QueueLimit(400), delay=ConstantDelay(0), discipline=discipline)
    capacity = make_capacity(11_999_993)
    python: AnyLeg[Numbered] = CapacityLeg(parameters, capacity, Random(7))
    native = DrivenLeg(parameters, make_capacity(11_999_993), Random(7))
    for leg in (python, native):
        leg.start(0)
    for index in range(2000):
        now, number = index * MS * 2 // 3, 4 * index + index % 4
        assert python.push(Numbered(number), 1500, now) == native.push(number, 1500, now)
        assert polled(python, now) == polled(native, now)
        assert python.next_timeout() == native.next_timeout()
    seen = python.statistics()
    assert native.statistics() == seen
    assert seen.dropped_early
    assert seen.marked_packets
    waiting = seen.queue_packets + seen.air_packets
    gone = seen.dropped_early + seen.dropped_queue
    assert seen.delivered_packets + waiting + gone == seen.pushed_packets == 2000
