"""What a leg tells of itself. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given

from minitopo_dc.link import (
    Capacity,
    CapacityLeg,
    ConstantDelay,
    DelayModel,
    LegParameters,
    NormalDelay,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.units import QueueLimit
from tests.link.test_leg_properties import loads, makers, parameters

MS = 10**6
SECOND = 10**9
RATE = 12_000_000
AT_ONCE = ConstantDelay(0)


def make_leg(
    capacity: Capacity | int = RATE,
    *,
    delay: DelayModel = AT_ONCE,
    queue_packets: int | None = None,
    queue_bytes: int | None = None,
) -> CapacityLeg[int]:
    served = make_capacity(capacity) if isinstance(capacity, int) else capacity
    leg: CapacityLeg[int] = CapacityLeg(
        LegParameters(QueueLimit(queue_packets, queue_bytes), delay), served, Random(1)
    )
    leg.start(0)
    return leg


@pytest.mark.parametrize(
    ("delay", "mean"), [(ConstantDelay(7), 7), (NormalDelay(9, 100), 9), (UniformDelay(4, 9), 6)]
)
def test_the_mean_delay_is_the_configured_one(delay: DelayModel, mean: int) -> None:
    leg = make_leg(delay=ConstantDelay(1))
    leg.retune(0, delay=delay)
    assert make_leg(delay=delay).mean_delay_ns == leg.mean_delay_ns == mean


def test_an_idle_leg_has_no_backlog_and_takes_a_packet_s_own_time() -> None:
    leg = make_leg()
    assert leg.backlog_bytes(now=0) == leg.drain_ns(now=0) == 0
    assert leg.drain_ns(now=0, more=1500) == MS
    assert make_leg(7_000_000).drain_ns(now=0, more=1) == 1143  # 1142.86: not too early


def test_the_backlog_is_the_queue_less_what_is_through_of_its_first_packet() -> None:
    leg = make_leg()
    for number in range(3):
        leg.push(number, 1500, 0)
    moments = (0, 1, MS // 4, MS, 5 * MS // 4, 3 * MS - 1, 3 * MS)  # a part of a byte counts as one
    assert [leg.backlog_bytes(now=now) for now in moments] == [4500, 4500, 4125, 3000, 2625, 1, 0]


def test_a_leg_that_is_down_keeps_its_backlog_and_knows_no_time() -> None:
    leg = make_leg()
    for number in range(2):
        leg.push(number, 1500, 0)
    leg.set_up(False, MS // 2)
    assert (leg.backlog_bytes(now=9 * MS), leg.drain_ns(now=9 * MS)) == (2250, None)
    assert leg.service_end(now=9 * MS) is None
    leg.set_up(True, 9 * MS)
    assert leg.drain_ns(now=9 * MS) == 3 * MS // 2


def test_the_time_is_at_the_rate_of_now_whatever_the_trace_has_next() -> None:
    trace = RateTrace("t", (0, 10 * MS, 20 * MS), (RATE, 0, 2 * RATE), 30 * MS)
    leg = make_leg(make_capacity(trace))
    assert leg.drain_ns(now=9 * MS, more=15_000) == 10 * MS
    assert leg.drain_ns(now=10 * MS, more=15_000) is None
    assert leg.drain_ns(now=20 * MS, more=15_000) == 5 * MS


def test_opportunities_have_the_rate_of_the_last_100_ms() -> None:
    leg = make_leg(make_capacity(OpportunityTrace("t", tuple(range(1, 1001, 2)))))
    assert leg.drain_ns(now=500 * MS, more=1500) == 2 * MS


def test_a_leg_that_has_ended_knows_no_time() -> None:
    leg = make_leg(make_capacity(OpportunityTrace("t", (1, 2)), "stop"))
    leg.push(0, 1500, 0)
    leg.push(1, 1600, 0)
    assert not leg.push(2, 1500, 3 * MS)
    assert leg.drain_ns(now=3 * MS) is None
    rate = make_leg(make_capacity(RateTrace("t", (0,), (RATE,), MS), "stop"))
    assert (rate.drain_ns(now=0), rate.drain_ns(now=MS)) == (0, None)


@given(parameters, makers, loads)
def test_what_has_room_is_not_dropped_at_the_queue_and_the_rest_is(
    parameters: LegParameters, make: Callable[[], Capacity], load: list[tuple[int, int]]
) -> None:
    leg: CapacityLeg[int] = CapacityLeg(parameters, make(), Random(1))
    now = 0
    for number, (gap, size) in enumerate(load):
        now += gap
        room, dropped = leg.has_room(now=now, size=size), leg.statistics().dropped_queue
        leg.push(number, size, now)
        assert (leg.statistics().dropped_queue == dropped) == room


@given(loads)
def test_on_a_constant_rate_the_time_to_drain_is_when_the_last_packet_is_through(
    load: list[tuple[int, int]],
) -> None:
    leg = make_leg(9_999_991)
    now = 0
    for number, (gap, size) in enumerate(load):
        now += gap
        leg.push(number, size, now)
    drain = leg.drain_ns(now=now)
    assert drain is not None
    last = now
    while (time := leg.next_timeout()) is not None:
        leg.poll(time)
        last = time
    # A byte, of which the backlog may count one too many, takes 800 ns; ns are rounded up.
    assert -1 <= now + drain - last <= 802 or (drain == 0 and last <= now)


def test_packets_are_numbered_as_they_join_and_leave_the_queue() -> None:
    leg = make_leg(queue_packets=2)
    assert (leg.joined_packets, leg.served_packets(now=0), leg.service_end(now=0)) == (0, 0, None)
    for packet in range(3):
        leg.push(packet, 1500, 0)
    assert leg.joined_packets == 2  # the third found the queue full
    assert leg.service_end(now=0) == MS
    assert leg.served_packets(now=MS - 1) == 0
    assert leg.served_packets(now=MS) == 1
    assert leg.service_end(now=MS) == 2 * MS
    assert leg.served_packets(now=2 * MS) == 2
    assert leg.service_end(now=2 * MS) is None


def test_flushed_packets_are_told_once_and_what_is_in_propagation_arrives() -> None:
    leg = make_leg(delay=ConstantDelay(10 * MS))
    for packet in range(3):
        leg.push(packet, 1500, 0)
    assert leg.flush(MS) == [1, 2]
    assert leg.flush(MS) == []
    assert (leg.served_packets(now=MS), leg.joined_packets) == (3, 3)
    leg.push(3, 1500, 2 * MS)
    assert leg.poll(SECOND) == [0, 3]
    assert leg.statistics().dropped_flush == 2


def test_served_is_what_left_with_all_before_it_though_others_were_taken_out_behind() -> None:
    leg = make_leg()
    for packet in range(6):
        leg.push(packet, 1500, 0)
    assert leg.flush(0, lambda packet: packet % 2 == 1) == [1, 3, 5]
    served = [leg.served_packets(now=time * MS) for time in range(4)]
    assert served == [0, 2, 4, 6]  # numbers 1, 3 and 5 were left
    leg.push(6, 1500, 3 * MS)
    assert (leg.joined_packets, leg.served_packets(now=3 * MS)) == (7, 6)
