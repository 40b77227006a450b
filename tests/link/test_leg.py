"""A leg's direction: what happens to it, written down, and what comes out, worked out by hand.

12 Mbit/s: 1500 bytes take 1 ms. Times of scripts are in ms.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    ConstantCapacity,
    ConstantDelay,
    GilbertElliott,
    Leg,
    LegParameters,
    LossModel,
    RlcParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.link import make_leg as make_any
from minitopo_dc.trace import OpportunityTrace, RateTrace

MS = 10**6
SECOND = 10**9
MBPS_12 = 12_000_000
NO_DELAY = ConstantDelay(0)
Step = tuple[Any, ...]
"""When (ms); "push" (of 1500 bytes or so many), "down", "up", "start", or "retune" with fields."""


def make_leg(
    capacity: Capacity | int = MBPS_12, *, seed: int = 1, start: bool = True, **fields: Any
) -> Leg[int]:
    parameters = LegParameters(**{"queue_packets": None, "delay": NO_DELAY} | fields)
    served = make_capacity(capacity) if isinstance(capacity, int) else capacity
    leg: Leg[int] = Leg(parameters, served, Random(seed))
    if start:
        leg.start(0)
    return leg


def drain(leg: Leg[int], until: int = 10**15) -> list[tuple[int, int]]:
    """(time, packet) of all that comes out, polling only when the leg asks for it."""
    out = []
    while (now := leg.next_timeout()) is not None and now <= until:
        out += [(now, packet) for packet in leg.poll(now)]
    return out


def play(leg: Leg[int], *steps: Step) -> list[tuple[float, int]]:
    """(time in ms, packet) of all that comes out; packets are numbered as they are pushed."""
    out, number = [], 0
    for at, action, *values in steps:
        now = round(at * MS)
        out += drain(leg, now - 1)
        if action == "push":
            leg.push(number, values[0] if values else 1500, now)
            number += 1
        elif action == "start":
            leg.start(now)
        elif action == "retune":
            leg.retune(now, **values[0])
        else:
            leg.set_up(action == "up", now)
    return [(time / MS, packet) for time, packet in out + drain(leg)]


class Script:
    """Delays that are written down beforehand."""

    mean_ns = 0

    def __init__(self, *delays: int) -> None:
        self.delays = list(delays)

    def sample(self, rng: Random) -> int:  # noqa: ARG002
        return self.delays.pop(0)


def stepping(*steps: tuple[float, int]) -> Capacity:
    """A rate in bit/s from each time in ms on."""
    times = tuple(round(at * MS) for at, _ in steps)
    return make_capacity(RateTrace("t", times, tuple(rate for _, rate in steps), SECOND))


def opportunities(*times_ms: int) -> Capacity:
    return make_capacity(OpportunityTrace("t", times_ms))


EVERY_SECOND_LOST = GilbertElliott(1.0, 1.0)
"""From the second on."""
TWICE = {"capacity": ConstantCapacity(2 * MBPS_12)}
CASES: dict[str, tuple[dict[str, Any], list[Step], list[tuple[float, int]]]] = {
    "a packet takes its serialisation and its delay": (
        {"delay": ConstantDelay(10 * MS)},
        [(0.5, "push")],
        [(11.5, 0)],
    ),
    "what finds the queue empty waits for a grant, what is behind it does not": (
        {"grant_ns": 8 * MS},
        [(0, "push"), (4, "push"), (9.99, "push"), (20, "push")],
        [(9, 0), (10, 1), (11, 2), (29, 3)],
    ),
    "a leg that is taken down before a grant serves from it on": (
        {"grant_ns": 8 * MS},
        [(0, "push"), (2, "down"), (4, "up")],
        [(9, 0)],
    ),
    "an outage before a grant leaves it the opportunity of its moment": (
        {"capacity": opportunities(1, 2, 3), "grant_ns": 2 * MS},
        [(0, "push"), (1, "down"), (1.5, "up")],
        [(2, 0)],
    ),
    "with reordering equal times keep the order": (
        {"capacity": opportunities(1), "reorder": True},
        [(0, "push", 150)] * 10,
        [(1, number) for number in range(10)],
    ),
    "a packet lost on the air takes its time of serialisation and holds nobody up": (
        {"loss": EVERY_SECOND_LOST, "delay": Script(0, 50 * MS, 0, 0)},
        [(0, "push")] * 4,
        [(1, 0), (3, 2)],
    ),
    "a packet that overtakes the one in service is in time": (
        {"delay": Script(50 * MS, 0), "reorder": True},
        [(0, "push")] * 2,
        [(2, 1), (51, 0)],
    ),
    "in order a slow packet holds up the fast one behind it": (
        {"delay": Script(50 * MS, 0)},
        [(0, "push")] * 2,
        [(51, 0), (51, 1)],
    ),
    "down keeps the queue and up goes on where it was": (
        {},
        [(0, "push"), (0, "push"), (0.25, "down"), (10, "up")],
        [(10.75, 0), (11.75, 1)],
    ),
    "while down the queue fills up to its limit": (
        {"queue_packets": 2},
        [(0, "down"), (1, "push"), (1, "push"), (1, "push"), (7, "up")],
        [(8, 0), (9, 1)],
    ),
    "what is in propagation arrives while down": (
        {"delay": ConstantDelay(10 * MS)},
        [(0, "push"), (1, "down")],
        [(11, 0)],
    ),
    "a used opportunity does not come back with the leg": (  # 500 of packet 1's bytes have passed
        {"capacity": opportunities(1, 2, 3)},
        [(0, "push", 1000)] * 3 + [(1.0001, "down"), (1.0001, "up")],
        [(1, 0), (2, 1), (2, 2)],
    ),
    "until the start the first rate holds": (
        {"capacity": stepping((0, MBPS_12), (2, MBPS_12 // 4)), "start": False},
        [(5000, "push"), (6000, "start"), *[(6000, "push")] * 3],
        [(5001, 0), (6001, 1), (6002, 2), (6006, 3)],
    ),
    # Half is through; a quarter at 12, a quarter at 3 Mbit/s.
    "the start in the middle of a packet serves the rest at the trace": (
        {"capacity": stepping((0, MBPS_12), (0.25, MBPS_12 // 4)), "start": False},
        [(0, "push"), (0.5, "start")],
        [(1.75, 0)],
    ),
    "a new capacity serves the rest of the packet and all behind it": (
        {},
        [(0, "push"), (0, "push"), (0.5, "retune", TWICE)],
        [(0.75, 0), (1.25, 1)],
    ),
    "retuning at every step is as good as a trace": (  # where a packet takes longer than a step
        {"capacity": ConstantCapacity(100_000)},
        [(0, "push")] * 5
        + [
            (step, "retune", {"capacity": ConstantCapacity(100_000)})
            for step in range(100, 600, 100)
        ],
        [(number * 120, number - 1) for number in range(1, 6)],
    ),
    "a new delay is for what is not serialised": (
        {"delay": ConstantDelay(10 * MS)},
        [(0, "push"), (0, "push"), (1, "retune", {"delay": ConstantDelay(20 * MS)})],
        [(11, 0), (22, 1)],
    ),
    "a new loss model is for what is pushed from then on": (
        {"loss": Bernoulli(1.0)},
        [(0, "push"), (0, "retune", {"loss": Bernoulli(0.0)}), (0, "push")],
        [(2, 1)],
    ),
    "retuning while down waits for up": (
        {},
        [(0, "push"), (0, "down"), (1, "retune", TWICE), (2, "up")],
        [(2.5, 0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_what_was_worked_out(name: str) -> None:
    fields, steps, expected = CASES[name]
    assert play(make_leg(**fields), *steps) == expected


@pytest.mark.parametrize("rlc", [None, RlcParameters()])
def test_what_is_larger_than_the_mtu_is_dropped_before_the_queue(rlc: RlcParameters | None) -> None:
    parameters = LegParameters(mtu_bytes=1400, delay=ConstantDelay(0))
    leg = make_any(parameters, ConstantCapacity(12_000_000), Random(1), rlc)
    leg.start(0)
    assert [leg.push(size, size, 0) for size in (1400, 1401, 60)] == [True, False, True]
    assert leg.poll(1000 * MS) == [1400, 60]
    seen = leg.statistics()
    assert (seen.dropped_mtu, seen.dropped_queue, seen.pushed_packets) == (1, 0, 3)


@pytest.mark.parametrize("limits", [{"queue_packets": 0}, {"queue_bytes": 0}, {"mtu_bytes": 0}])
def test_a_queue_that_holds_nothing_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        LegParameters(**limits)  # type: ignore[arg-type]


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
    legs: list[Leg[int]] = [Leg(parameters, make_capacity(1000), Random(1)) for _ in range(2)]
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
    leg.retune(10 * MS, capacity=ConstantCapacity(MBPS_12))
    assert leg.push(2, 1500, 10 * MS)
    assert drain(leg) == [(11 * MS, 1), (12 * MS, 2)]
