"""A leg's direction, one behaviour at a time. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from random import Random

import pytest

from minitopo_dc.link import (
    Bernoulli,
    Capacity,
    ConstantCapacity,
    ConstantDelay,
    DelayModel,
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


def make_leg(
    capacity: Capacity | int = MBPS_12,
    *,
    delay: DelayModel = NO_DELAY,
    loss: LossModel | None = None,
    queue_packets: int | None = None,
    queue_bytes: int | None = None,
    reorder: bool = False,
    grant_ns: int = 0,
    seed: int = 1,
) -> Leg[int]:
    parameters = LegParameters(queue_packets, queue_bytes, delay, loss, reorder, grant_ns)
    served = make_capacity(capacity) if isinstance(capacity, int) else capacity
    leg: Leg[int] = Leg(parameters, served, Random(seed))
    leg.start(0)
    return leg


def drain(leg: Leg[int]) -> list[tuple[int, int]]:
    """(time, packet) of all that comes out, polling only when the leg asks for it."""
    out = []
    while (now := leg.next_timeout()) is not None:
        out += [(now, packet) for packet in leg.poll(now)]
    return out


def test_a_packet_leaves_after_its_serialisation_and_its_delay() -> None:
    leg = make_leg(delay=ConstantDelay(10 * MS))
    assert leg.push(1, 1500, 5)
    assert leg.next_timeout() == 11 * MS + 5
    assert leg.poll(11 * MS + 4) == []
    assert leg.poll(11 * MS + 5) == [1]
    assert leg.next_timeout() is None


def test_a_packet_that_finds_the_queue_empty_waits_for_a_grant() -> None:
    leg = make_leg(grant_ns=8 * MS)
    leg.push(1, 1500, 0)
    leg.push(2, 1500, 4 * MS)
    assert leg.backlog_bytes(now=5 * MS) == 3000
    assert leg.poll(9 * MS) == [1]
    leg.push(3, 1500, 10 * MS - 1)  # behind one in service: its status report asks for it
    leg.push(4, 1500, 20 * MS)
    assert drain(leg) == [(10 * MS, 2), (11 * MS, 3), (29 * MS, 4)]


def test_a_leg_that_is_taken_down_before_a_grant_serves_from_it_on() -> None:
    leg = make_leg(grant_ns=8 * MS)
    leg.push(1, 1500, 0)
    leg.set_up(False, 2 * MS)
    leg.set_up(True, 4 * MS)
    assert drain(leg) == [(9 * MS, 1)]


def test_an_outage_before_a_grant_leaves_it_the_opportunity_of_its_moment() -> None:
    trace = OpportunityTrace("three", (1, 2, 3))
    leg = make_leg(make_capacity(trace), grant_ns=2 * MS)
    leg.push(1, 1500, 0)
    leg.set_up(False, MS)
    leg.set_up(True, MS + MS // 2)
    assert drain(leg) == [(2 * MS, 1)]


def test_a_queue_limit_in_bytes_drops_what_would_exceed_it() -> None:
    leg = make_leg(queue_bytes=2000)
    assert leg.push(0, 1500, 0)
    assert not leg.push(1, 501, 0)
    assert leg.push(2, 500, 0)
    assert leg.statistics().queue_bytes == 2000


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


def test_with_reordering_equal_times_keep_the_order() -> None:
    leg = make_leg(make_capacity(OpportunityTrace("t", (1,))), reorder=True)
    for number in range(10):
        leg.push(number, 150, 0)
    assert leg.poll(MS) == list(range(10))


def test_a_packet_lost_on_the_air_takes_its_time_of_serialisation() -> None:
    leg = make_leg(loss=GilbertElliott(1.0, 1.0))  # every other packet, from the second on
    told = [leg.push(number, 1500, 0) for number in range(4)]
    assert told == [True, False, True, False]
    assert leg.statistics().queue_packets == 4
    assert leg.statistics().dropped_loss == 0
    assert drain(leg) == [(MS, 0), (3 * MS, 2)]
    assert leg.statistics().dropped_loss == 2


class Script:
    """Delays that are written down beforehand."""

    mean_ns = 0

    def __init__(self, *delays: int) -> None:
        self.delays = list(delays)

    def sample(self, rng: Random) -> int:  # noqa: ARG002
        return self.delays.pop(0)


def test_a_lost_packet_with_a_long_delay_holds_nobody_up() -> None:
    leg = make_leg(loss=GilbertElliott(1.0, 1.0), delay=Script(0, 50 * MS, 0))
    for number in range(3):
        leg.push(number, 1500, 0)
    assert drain(leg) == [(MS, 0), (3 * MS, 2)]


def test_a_packet_that_overtakes_the_one_in_service_is_in_time() -> None:
    leg = make_leg(delay=Script(50 * MS, 0), reorder=True)
    for number in range(2):
        leg.push(number, 1500, 0)
    assert drain(leg) == [(2 * MS, 1), (51 * MS, 0)]


def test_in_order_a_slow_packet_holds_up_the_fast_one_behind_it() -> None:
    leg = make_leg(delay=Script(50 * MS, 0))
    for number in range(2):
        leg.push(number, 1500, 0)
    assert drain(leg) == [(51 * MS, 0), (51 * MS, 1)]


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


def test_down_keeps_the_queue_and_up_goes_on_where_it_was() -> None:
    leg = make_leg()
    leg.push(0, 1500, 0)
    leg.push(1, 1500, 0)
    leg.set_up(False, MS // 4)
    assert leg.next_timeout() is None
    assert leg.poll(5 * MS) == []
    leg.set_up(True, 10 * MS)
    assert drain(leg) == [(10 * MS + MS * 3 // 4, 0), (11 * MS + MS * 3 // 4, 1)]


def test_while_down_the_queue_fills_up_to_its_limit() -> None:
    leg = make_leg(queue_packets=2)
    leg.set_up(False, 0)
    assert [leg.push(number, 1500, 5) for number in range(3)] == [True, True, False]
    leg.set_up(True, 7 * MS)
    assert drain(leg) == [(8 * MS, 0), (9 * MS, 1)]


def test_what_is_in_propagation_arrives_while_down() -> None:
    leg = make_leg(delay=ConstantDelay(10 * MS))
    leg.push(0, 1500, 0)
    leg.set_up(False, MS)
    assert drain(leg) == [(11 * MS, 0)]


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


def test_a_used_opportunity_does_not_come_back_with_the_leg() -> None:
    leg = make_leg(make_capacity(OpportunityTrace("t", (1, 2, 3))))
    for number in range(3):
        leg.push(number, 1000, 0)
    assert leg.poll(MS) == [0]
    leg.set_up(False, MS)  # 500 of packet 1's bytes have passed
    leg.set_up(True, MS)
    assert drain(leg) == [(2 * MS, 1), (2 * MS, 2)]


def test_until_the_start_the_first_rate_holds() -> None:
    trace = RateTrace("t", (0, 2 * MS), (MBPS_12, MBPS_12 // 4), SECOND)
    leg: Leg[int] = Leg(LegParameters(delay=NO_DELAY), make_capacity(trace), Random(1))
    leg.push(0, 1500, 5 * SECOND)
    assert drain(leg) == [(5 * SECOND + MS, 0)]
    leg.start(6 * SECOND)
    for number in range(3):
        leg.push(number, 1500, 6 * SECOND)
    assert drain(leg) == [(6 * SECOND + time * MS, k) for k, time in enumerate((1, 2, 6))]


def test_the_start_in_the_middle_of_a_packet_serves_the_rest_at_the_trace() -> None:
    trace = RateTrace("t", (0, MS // 4), (MBPS_12, MBPS_12 // 4), SECOND)
    leg: Leg[int] = Leg(LegParameters(delay=NO_DELAY), make_capacity(trace), Random(1))
    leg.push(0, 1500, 0)
    leg.start(MS // 2)  # half is through; a quarter at 12, a quarter at 3 Mbit/s
    assert drain(leg) == [(MS // 2 + MS // 4 + MS, 0)]


def test_a_new_capacity_serves_the_rest_of_the_packet_and_all_behind_it() -> None:
    leg = make_leg()
    leg.push(0, 1500, 0)
    leg.push(1, 1500, 0)
    leg.retune(MS // 2, capacity=ConstantCapacity(2 * MBPS_12))
    assert drain(leg) == [(MS * 3 // 4, 0), (MS * 5 // 4, 1)]


def test_retuning_at_every_step_is_as_good_as_a_trace() -> None:
    """A controller at 100 ms and 100 kbit/s, where a packet takes longer than a step."""
    leg = make_leg(100_000)
    for number in range(5):
        leg.push(number, 1500, 0)
    for step in range(1, 6):
        leg.retune(step * 100 * MS, capacity=ConstantCapacity(100_000))
    assert drain(leg) == [(number * 120 * MS, number - 1) for number in range(1, 6)]


def test_a_new_delay_is_for_what_is_not_serialised() -> None:
    leg = make_leg(delay=ConstantDelay(10 * MS))
    leg.push(0, 1500, 0)
    leg.push(1, 1500, 0)
    leg.retune(MS, delay=ConstantDelay(20 * MS))
    assert drain(leg) == [(11 * MS, 0), (22 * MS, 1)]


def test_a_new_loss_model_is_for_what_is_pushed_from_then_on() -> None:
    leg = make_leg(loss=Bernoulli(1.0))
    assert not leg.push(0, 1500, 0)
    leg.retune(0, loss=Bernoulli(0.0))
    assert leg.push(1, 1500, 0)
    assert drain(leg) == [(2 * MS, 1)]


def test_retuning_while_down_waits_for_up() -> None:
    leg = make_leg()
    leg.push(0, 1500, 0)
    leg.set_up(False, 0)
    leg.retune(MS, capacity=ConstantCapacity(2 * MBPS_12))
    assert leg.next_timeout() is None
    leg.set_up(True, 2 * MS)
    assert drain(leg) == [(2 * MS + MS // 2, 0)]


def ending(duration_ns: int) -> Capacity:
    return make_capacity(RateTrace("t", (0,), (MBPS_12,), duration_ns), "stop")


def test_an_ended_capacity_refuses_and_forgets_what_comes() -> None:
    leg = make_leg(ending(MS))
    assert not leg.push(0, 1500, MS)
    assert not leg.push(1, 1500, 2 * MS)
    assert leg.next_timeout() is None
    assert leg.statistics().dropped_stop == 2
    assert leg.statistics().queue_packets == 0
    assert leg.statistics().queue_bytes == 0


def test_what_waits_when_the_capacity_ends_stays_in_the_queue() -> None:
    leg = make_leg(ending(MS))
    assert leg.push(0, 1500, 0)
    assert leg.push(1, 1500, 0)
    assert leg.poll(MS) == [0]
    assert not leg.push(2, 1500, MS)
    assert leg.next_timeout() is None
    assert leg.statistics().queue_packets == 1


def test_a_new_capacity_revives_an_ended_leg() -> None:
    leg = make_leg(ending(MS))
    leg.push(0, 1500, 0)
    leg.push(1, 1500, 0)
    leg.poll(5 * MS)
    leg.retune(10 * MS, capacity=ConstantCapacity(MBPS_12))
    assert leg.push(2, 1500, 10 * MS)
    assert drain(leg) == [(11 * MS, 1), (12 * MS, 2)]


def test_an_ended_capacity_refuses_also_what_would_still_have_fitted() -> None:
    trace = RateTrace("short", (0,), (8_000_000,), MS)  # 1,000 bytes
    leg = Leg[int](LegParameters(delay=ConstantDelay(0)), make_capacity(trace, "stop"), Random(1))
    leg.start(0)
    assert [leg.push(1, 1500, 0), leg.push(2, 100, 0)] == [False, False]
    assert leg.backlog_bytes(now=2 * MS) == 0
