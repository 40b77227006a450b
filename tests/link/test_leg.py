"""A leg's direction: what happens to it, written down, and what comes out, worked out by hand.

12 Mbit/s: 1500 bytes take 1 ms. Times of scripts are in ms.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    CapacityLeg,
    ConstantDelay,
    GilbertElliott,
    LegParameters,
    LossModel,
    RlcParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.link import make_leg as make_any
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.units import UNLIMITED, QueueLimit

MS = 10**6
SECOND = 10**9
MBPS_12 = 12_000_000
NO_DELAY = ConstantDelay(0)


def make_leg(
    capacity: Capacity | int = MBPS_12, *, seed: int = 1, start: bool = True, **fields: Any
) -> CapacityLeg[int]:
    defaults: dict[str, Any] = {"queue": UNLIMITED, "delay": NO_DELAY}
    parameters = LegParameters(**defaults | fields)
    served = make_capacity(capacity) if isinstance(capacity, int) else capacity
    leg: CapacityLeg[int] = CapacityLeg(parameters, served, Random(seed))
    if start:
        leg.start(0)
    return leg


def drain(leg: CapacityLeg[int], until: int = 10**15) -> list[tuple[int, int]]:
    """(time, packet) of all that comes out, polling only when the leg asks for it."""
    out = []
    while (now := leg.next_timeout()) is not None and now <= until:
        out += [(now, packet) for packet in leg.poll(now)]
    return out


def play(leg: CapacityLeg[int], steps: str, retuned: dict[str, Any]) -> list[tuple[float, int]]:
    """(time in ms, packet) of all that comes out; packets are numbered as they are pushed."""
    out, number = [], 0
    for step in steps.split(", "):
        at, action, *size = step.split()
        now = round(float(at) * MS)
        out += drain(leg, now - 1)
        if action == "push":
            leg.push(number, int(size[0]) if size else 1500, now)
            number += 1
        elif action == "start":
            leg.start(now)
        elif action == "retune":
            leg.retune(now, **copy.deepcopy(retuned))
        else:
            leg.set_up(action == "up", now)
    return [(time / MS, packet) for time, packet in out + drain(leg)]


class Script:
    """Delays in ms that are written down beforehand."""

    mean_ns = 0

    def __init__(self, *delays_ms: int) -> None:
        self.delays = [delay * MS for delay in delays_ms]

    def sample(self, rng: Random) -> int:  # noqa: ARG002
        return self.delays.pop(0)


def falling(at_ms: float) -> dict[str, Any]:
    """A leg that does not start by itself, of 12 and then of 3 Mbit/s."""
    trace = RateTrace("t", (0, round(at_ms * MS)), (MBPS_12, MBPS_12 // 4), SECOND)
    return {"capacity": make_capacity(trace), "start": False}


def opportunities(*times_ms: int) -> Capacity:
    return make_capacity(OpportunityTrace("t", times_ms))


EVERY_SECOND_LOST = GilbertElliott(1.0, 1.0)
"""From the second on."""
LOSSY = {"loss": EVERY_SECOND_LOST}
CURED = {"loss": Bernoulli(1.0), "retuned": {"loss": Bernoulli(0.0)}}
GRANT = {"grant_ns": 8 * MS}
ONE_TWO_THREE = {"capacity": opportunities(1, 2, 3)}
TWICE = {"retuned": {"capacity": make_capacity(2 * MBPS_12)}}
SLOW = {"capacity": 100_000, "retuned": {"capacity": make_capacity(100_000)}}
FARTHER = {"delay": ConstantDelay(10 * MS), "retuned": {"delay": ConstantDelay(20 * MS)}}
CASES: list[tuple[dict[str, Any], str, str]] = [
    # A leg, what happens to it at which time (ms), and when packets 0, 1, ... come out.
    ({"delay": ConstantDelay(10 * MS)}, "0.5 push", "11.5:0"),
    # What finds the queue empty waits for a grant, what is behind it does not; a leg that is down
    # before a grant serves from it on, and keeps the opportunity of its moment.
    (GRANT, "0 push, 4 push, 9.99 push, 20 push", "9:0 10:1 11:2 29:3"),
    (GRANT, "0 push, 2 down, 4 up", "9:0"),
    (ONE_TWO_THREE | {"grant_ns": 2 * MS}, "0 push, 1 down, 1.5 up", "2:0"),
    # With reordering equal times keep the order, and what overtakes the one in service is in time.
    ({"capacity": opportunities(1), "reorder": True}, "0 push 150, 0 push 150", "1:0 1:1"),
    ({"delay": Script(50, 0), "reorder": True}, "0 push, 0 push", "2:1 51:0"),
    ({"delay": Script(50, 0)}, "0 push, 0 push", "51:0 51:1"),
    # A packet lost on the air takes its time of serialisation and holds nobody up.
    (LOSSY | {"delay": Script(0, 50, 0, 0)}, "0 push, 0 push, 0 push, 0 push", "1:0 3:2"),
    # Down keeps the queue, which fills up to its limit, and up goes on where it was. What is in
    # propagation arrives. A used opportunity, half of it packet 1's, does not come back.
    ({}, "0 push, 0 push, 0.25 down, 10 up", "10.75:0 11.75:1"),
    ({"queue": QueueLimit(2)}, "0 down, 1 push, 1 push, 1 push, 7 up", "8:0 9:1"),
    ({"delay": ConstantDelay(10 * MS)}, "0 push, 1 down", "11:0"),
    (ONE_TWO_THREE, "0 push 1000, 0 push 1000, 0 push 1000, 1.1 down, 1.1 up", "1:0 2:1 2:2"),
    # Until the start the first rate holds. It may be in the middle of a packet: then half is
    # through, a quarter at 12, a quarter at 3 Mbit/s.
    (falling(2), "50 push, 60 start, 60 push, 60 push, 60 push", "51:0 61:1 62:2 66:3"),
    (falling(0.25), "0 push, 0.5 start", "1.75:0"),
    # A new capacity serves the rest of the packet and all behind it; at every step, where a packet
    # takes longer than a step, it is as good as a trace; while down it waits for up.
    (TWICE, "0 push, 0 push, 0.5 retune", "0.75:0 1.25:1"),
    (TWICE, "0 push, 0 down, 1 retune, 2 up", "2.5:0"),
    (SLOW, "0 push, 0 push, 100 retune, 200 retune, 300 retune", "120:0 240:1"),
    # A new delay is for what is not serialised, a new loss model for what is pushed from then on.
    (FARTHER, "0 push, 0 push, 1 retune", "11:0 22:1"),
    (CURED, "0 push, 0 retune, 0 push", "2:1"),
]


@pytest.mark.parametrize(("fields", "steps", "expected"), CASES)
def test_what_comes_out_is_what_was_worked_out(
    fields: dict[str, Any], steps: str, expected: str
) -> None:
    made = {name: value for name, value in fields.items() if name != "retuned"}
    out = play(make_leg(**copy.deepcopy(made)), steps, fields.get("retuned", {}))
    assert " ".join(f"{at:g}:{number}" for at, number in out) == expected


@pytest.mark.parametrize("rlc", [None, RlcParameters()])
def test_what_is_larger_than_the_mtu_is_dropped_before_the_queue(rlc: RlcParameters | None) -> None:
    parameters = LegParameters(mtu_bytes=1400, delay=ConstantDelay(0))
    leg = make_any(parameters, make_capacity(12_000_000), Random(1), rlc)
    leg.start(0)
    assert [leg.push(size, size, 0) for size in (1400, 1401, 60)] == [True, False, True]
    assert leg.poll(1000 * MS) == [1400, 60]
    seen = leg.statistics()
    assert (seen.dropped_mtu, seen.dropped_queue, seen.pushed_packets) == (1, 0, 3)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: QueueLimit(0), "packets"),
        (lambda: QueueLimit(bytes=0), "bytes"),
        (lambda: LegParameters(mtu_bytes=0), "mtu_bytes"),
    ],
)
def test_a_queue_or_an_mtu_that_holds_nothing_is_refused(
    make: Callable[[], object], field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        make()


def test_with_reordering_every_packet_has_its_own_delay() -> None:
    leg = make_leg(delay=UniformDelay(0, 20 * MS), reorder=True)
    for number in range(200):
        leg.push(number, 1500, 0)
    out = drain(leg)
    assert sorted(packet for _, packet in out) == list(range(200))
    assert [packet for _, packet in out] != list(range(200))
    delays = [time - (packet + 1) * MS for time, packet in out]
    assert 0 <= min(delays) < 2 * MS
    assert 18 * MS < max(delays) <= 20 * MS


def test_a_packet_lost_on_the_air_is_counted_when_it_has_left_the_queue() -> None:
    leg = make_leg(loss=EVERY_SECOND_LOST)
    assert [leg.push(number, 1500, 0) for number in range(4)] == [True, False, True, False]
    assert (leg.statistics().queue_packets, leg.statistics().dropped_loss) == (4, 0)
    drain(leg)
    assert leg.statistics().dropped_loss == 2


def test_legs_with_the_same_parameters_lose_independently() -> None:
    """The state of the loss model belongs to the leg, not to the parameters."""
    parameters = LegParameters(loss=GilbertElliott(1.0, 1.0))
    legs: list[CapacityLeg[int]] = [
        CapacityLeg(parameters, make_capacity(1000), Random(1)) for _ in range(2)
    ]
    assert [leg.push(0, 100, 0) for leg in legs] == [True, True]
    model = GilbertElliott(1.0, 1.0)
    for leg in legs:
        leg.retune(0, loss=model)
    assert [leg.push(1, 100, 0) for leg in legs] == [True, True]


@pytest.mark.parametrize("reorder", [False, True])
def test_the_same_seed_gives_the_same_run(reorder: bool) -> None:
    def run(seed: int) -> list[tuple[int, int]]:
        leg = make_leg(
            delay=UniformDelay(0, 3 * MS), loss=Bernoulli(0.2), reorder=reorder, seed=seed
        )
        for number in range(100):
            leg.push(number, 1500, 0)
        return drain(leg)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_the_kth_packet_is_lost_whatever_the_timing() -> None:
    def lost(gap: int) -> list[bool]:
        leg = make_leg(loss=Bernoulli(0.3))
        return [leg.push(number, 1500, number * gap) for number in range(200)]

    assert lost(0) == lost(7 * MS)


def test_the_kth_packet_has_its_delay_whatever_the_timing_and_the_losses() -> None:
    def delays(gap: int, loss: LossModel | None) -> dict[int, int]:
        leg = make_leg(delay=UniformDelay(0, 5 * MS), loss=loss, reorder=True)
        out = []
        for number in range(100):
            out += drain(leg) if gap else []
            leg.push(number, 1500, number * gap)
        out += drain(leg)
        return {
            packet: time - packet * gap - (1 if gap else packet + 1) * MS for time, packet in out
        }

    slow, fast, lossy = delays(10 * MS, None), delays(0, None), delays(0, Bernoulli(0.5))
    assert slow == fast
    assert 0 < len(lossy) < 100
    assert all(slow[packet] == delay for packet, delay in lossy.items())


@pytest.mark.parametrize(
    ("flushed", "arrivals"),
    [(1, [(MS, 0), (MS * 3 // 2, 2)]), (0, [(MS * 3 // 2, 1), (2 * MS, 2)])],
)
def test_a_flush_spares_the_packet_in_service_or_lets_the_next_begin_anew(
    flushed: int, arrivals: list[tuple[int, int]]
) -> None:
    leg = make_leg()
    for number, size in enumerate((1500, 1500, 750)):
        leg.push(number, size, 0)
    assert leg.flush(MS // 2, lambda packet: packet == flushed) == [flushed]
    assert drain(leg) == arrivals


def test_down_and_up_at_once_loses_no_time() -> None:
    leg = make_leg(7_654_321)
    plain = make_leg(7_654_321)
    for one in (leg, plain):
        one.push(0, 1500, 0)
    leg.set_up(False, MS)
    leg.set_up(True, MS)
    (time, _), (expected, _) = drain(leg)[0], drain(plain)[0]
    assert expected <= time <= expected + 131  # at most the bit that was interrupted, 130.6 ns


def ending(rate: int = MBPS_12) -> Capacity:
    return make_capacity(RateTrace("t", (0,), (rate,), MS), "stop")


def test_an_ended_capacity_refuses_and_forgets_what_comes_also_what_would_still_fit() -> None:
    late, short = make_leg(ending()), make_leg(ending(8_000_000))  # 1,000 bytes
    assert not late.push(0, 1500, MS)
    assert not late.push(1, 1500, 2 * MS)
    assert [short.push(1, 1500, 0), short.push(2, 100, 0)] == [False, False]
    for leg in (late, short):
        seen = leg.statistics()
        assert (seen.dropped_stop, seen.queue_packets, seen.queue_bytes) == (2, 0, 0)
        assert leg.next_timeout() is None


def test_what_waits_when_the_capacity_ends_stays_in_the_queue() -> None:
    leg = make_leg(ending())
    assert leg.push(0, 1500, 0)
    assert leg.push(1, 1500, 0)
    assert leg.poll(MS) == [0]
    assert not leg.push(2, 1500, MS)
    assert leg.next_timeout() is None
    assert leg.statistics().queue_packets == 1


def test_a_new_capacity_revives_an_ended_leg() -> None:
    leg = make_leg(ending())
    leg.push(0, 1500, 0)
    leg.push(1, 1500, 0)
    leg.poll(5 * MS)
    leg.retune(10 * MS, capacity=make_capacity(MBPS_12))
    assert leg.push(2, 1500, 10 * MS)
    assert drain(leg) == [(11 * MS, 1), (12 * MS, 2)]
