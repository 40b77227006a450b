"""Legs that are lost, come back, end or cannot take a packet. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    BanditPolicy,
    BatchPolicy,
    Feedback,
    FlowControl,
    HoldingStatistics,
    LeastDelayPolicy,
    Recovery,
    SduBuffer,
    SentPdu,
    ThresholdPolicy,
    TransmittingEntity,
    sn_format,
)
from minitopo_dc.pdcp.formats.report import StatusReport
from minitopo_dc.pdcp.transmitting.legs import BearerLeg, BearerLegs
from minitopo_dc.trace import RateTrace
from tests.pdcp.late_bearer import MS, SIZE, Bearer, Waits, endless
from tests.pdcp.views import WrittenLeg


def recovery(discard_timer: int | None = None) -> Recovery[int]:
    return Recovery[int](2, most=1 << 17, discard_timer=discard_timer)


def statistics(bearer: Bearer) -> HoldingStatistics:
    found = bearer.entity.statistics()
    assert isinstance(found, HoldingStatistics)
    return found


def test_what_legs_have_served_since_the_last_look_leaves_room_to_wait() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=SduBuffer(2, None))
    assert bearer.push(1, 2) == [True, True]
    bearer.run(100 * MS)
    assert bearer.push(3) == [True]


def test_what_is_sent_again_does_not_overflow_the_other_leg_s_queue() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, queue=20, recovery=recovery())
    bearer.push(*range(40))
    bearer.set_up(0, up=False)
    bearer.run(190 * MS)
    assert bearer.order == list(range(40))
    assert bearer.legs[1].statistics().dropped_queue == 0


def test_what_came_while_no_leg_was_up_takes_the_first_that_is() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, recovery=recovery())
    for leg in (0, 1):
        bearer.set_up(leg, up=False)
    bearer.push(*range(10))
    bearer.run(50 * MS)
    bearer.set_up(1, up=True)
    bearer.run(100 * MS)
    assert bearer.order == list(range(10))


def test_a_leg_that_is_lost_twice_gives_back_what_it_had_twice() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, recovery=recovery(), waiting=endless())
    for begin in (0, 20):
        bearer.push(*range(begin, begin + 20))
        bearer.set_up(0, up=False)
        bearer.set_up(0, up=True)
    bearer.run(190 * MS)
    assert bearer.order == list(range(40))


def test_with_recovery_a_lost_leg_s_node_gets_nothing_until_it_is_up_and_has_said_so() -> None:
    control = FlowControl(interval=5 * MS, delay=10 * MS)
    bearer = Bearer(
        BatchPolicy(2, batch=2),
        *(12, 12),
        waiting=endless(),
        flow_control=[control] * 2,
        recovery=recovery(),
    )
    bearer.push(*range(20))
    bearer.run(30 * MS)
    bearer.set_up(0, up=False)
    bearer.run(45 * MS)  # the next status and the backhaul
    given = bearer.entity.statistics().pdus[0]
    bearer.push(*range(20, 40))
    bearer.run(150 * MS)
    assert bearer.entity.statistics().pdus[0] == given
    assert bearer.order == list(range(40))
    bearer.set_up(0, up=True)
    bearer.run(170 * MS)
    bearer.push(*range(40, 60))
    bearer.run(190 * MS)
    assert bearer.entity.statistics().pdus[0] > given


def test_what_was_taken_back_from_a_leg_is_not_outstanding_behind_others_packets() -> None:
    leg = Leg[str](LegParameters(delay=ConstantDelay(0)), make_capacity(12_000_000), Random(1))
    leg.start(0)
    (near,) = BearerLegs[str]([leg], BearerLeg, legs=1, waiting=endless()).legs
    leg.push("another's", SIZE, 0)
    near.send("own", now=0, size=SIZE, count=0)
    assert near.arrived(0) == ["own"]
    leg.push("own", SIZE, 0)
    leg.set_up(False, 0)
    assert leg.flush(0, "own".__eq__) == ["own"]
    near.withdraw(0)
    near.settle(0)
    assert near.held == 0


@pytest.mark.parametrize("delays", [(5, 5), (50, 5), (5, 50)])
def test_one_status_tells_of_all_legs_lost_a_delay_before(delays: Sequence[int]) -> None:
    kept, feedback = recovery(), Feedback(2)
    for leg in (0, 1):
        kept.sent(leg, SentPdu(leg, leg, SIZE, 0))
    for leg, delay in enumerate(delays):
        kept.leg_lost(leg, (), delay)
    feedback.status, feedback.status_at = StatusReport.of(0, []), 10
    kept.take_status(feedback)
    found = []
    while (pdu := kept.first(10)) is not None:
        found.append(pdu.count)
        kept.pop()
    assert found == [leg for leg, delay in enumerate(delays) if delay <= 10]


def test_pdus_of_two_lost_legs_are_sent_again_in_order() -> None:
    kept = recovery()
    for count in range(6):
        kept.sent(count % 2, SentPdu(count, count, SIZE, 0))
    for leg in (0, 1):
        kept.leg_lost(leg, range(6), 0)
    found = []
    while (pdu := kept.first(0)) is not None:
        found.append(pdu.count)
        kept.pop()
    assert found == list(range(6))


def test_what_the_receiver_waits_for_no_more_is_not_sent_again() -> None:
    kept, feedback = recovery(), Feedback(2)
    for count in range(4):
        kept.sent(0, SentPdu(count, count, SIZE, 0))
    kept.leg_lost(0, range(4), 0)
    feedback.status, feedback.status_at = StatusReport.of(3, []), 1
    kept.take_status(feedback)
    found = kept.first(1)
    assert found is not None
    assert found.count == 3
    assert (kept.take_given_up(), kept.not_resent) == ([0, 1, 2], 3)


def test_what_grows_too_old_to_be_sent_again_is_given_back_and_counted() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, recovery=recovery(20 * MS))
    bearer.push(*range(4))
    for leg in (0, 1):
        bearer.set_up(leg, up=False)
    assert bearer.entity.next_timeout() == 20 * MS
    bearer.run(30 * MS)
    assert sorted(bearer.entity.dropped()) == [0, 1, 2, 3]
    assert (statistics(bearer).not_resent, statistics(bearer).resent) == (4, 2)


def test_a_pdu_with_its_header_has_room_in_the_queue_that_takes_it() -> None:
    bearer = Bearer(
        BatchPolicy(1), 12, queue=None, queue_bytes=2 * SIZE + 3, waiting=SduBuffer(None, None)
    )
    bearer.push(1, 2)
    bearer.run(100 * MS)
    assert bearer.legs[0].statistics().dropped_queue == 0
    assert bearer.order == [1, 2]


def test_a_packet_that_no_queue_holds_is_dropped_there_and_blocks_none() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, queue=None, queue_bytes=1000, waiting=endless())
    bearer.push(1)
    bearer.run(10 * MS)
    assert bearer.legs[0].statistics().dropped_queue == 1
    assert statistics(bearer).waiting == 0


def test_a_node_that_has_nothing_takes_a_packet_larger_than_it_asks_for() -> None:
    control = FlowControl(interval=5 * MS, delay=0, desired=1)
    bearer = Bearer(BatchPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(1, size=9000)
    bearer.run(10 * MS)
    assert bearer.order == [1]


@pytest.mark.parametrize("control", [None, FlowControl(5 * MS, 2 * MS)])
def test_a_leg_that_has_ended_with_a_queue_keeps_no_other_waiting(
    control: FlowControl | None,
) -> None:
    ends = make_capacity(RateTrace("ends", (0,), (12_000_000,), 10 * MS), "stop")
    parameters = LegParameters(queue_packets=20, delay=ConstantDelay(0))
    legs = [
        Leg[tuple[int, int, int]](parameters, capacity, Random(1))
        for capacity in (ends, make_capacity(12_000_000))
    ]
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, waiting=endless())
    for leg in legs:
        leg.start(0)
    bearer.legs = legs
    bearer.entity = TransmittingEntity[int](
        sn_format(18),
        BatchPolicy(2, batch=2),
        legs=2,
        states=legs,
        waiting=endless(),
        flow_control=[control] * 2 if control else (),
    )
    bearer.push(*range(200))
    bearer.run(1000 * MS)
    assert statistics(bearer).waiting == 0


def test_the_threshold_s_packets_do_not_wait_for_a_primary_leg_that_is_down() -> None:
    bearer = Bearer(ThresholdPolicy(2), 12, 12, waiting=endless())
    bearer.set_up(0, up=False)
    bearer.push(1, 2)
    bearer.run(10 * MS)
    assert bearer.order == [1, 2]


def test_the_bandit_names_a_leg_without_rate_rather_than_one_that_is_down() -> None:
    down = WrittenLeg(ns_per_byte=None, is_up=False, room=False, may_wait=True)
    stands = WrittenLeg(ns_per_byte=None, may_wait=True)
    assert BanditPolicy(2).legs(now=0, size=SIZE, views=[down, stands]) == (1,)
    assert BanditPolicy(2).legs(now=0, size=SIZE, views=[stands, down]) == (0,)


def test_a_copy_for_a_leg_that_is_down_or_full_is_not_waited_for() -> None:
    policy = Waits()
    policy.answer = (0, 1)
    bearer = Bearer(policy, 12, 1, queue=2, waiting=endless())
    bearer.push(*range(10))
    bearer.run(20 * MS)
    assert bearer.order == list(range(10))
    bearer.set_up(0, up=False)
    bearer.push(10)
    bearer.run(100 * MS)
    assert bearer.order[-1] == 10
