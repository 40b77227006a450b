"""Legs that are lost, come back, end or cannot take a packet. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from minitopo_dc.link import CapacityLeg, ConstantDelay, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    BatchPolicy,
    Feedback,
    FlowControl,
    LeastDelayPolicy,
    Recovery,
    TransmittingEntity,
    sn_format,
)
from minitopo_dc.pdcp.codec import Pdu
from minitopo_dc.pdcp.policies.best_leg import ThresholdPolicy
from minitopo_dc.pdcp.report import StatusReport
from minitopo_dc.pdcp.transmitting.legs import BearerLeg, BearerLegs
from minitopo_dc.trace import RateTrace
from tests.pdcp.bearers import MS, SIZE, Answers, Bearer, endless, recovery


def alternating(**fields: Any) -> Bearer:
    """Each second SDU takes the other leg."""
    return Bearer(BatchPolicy(2, batch=2), 12, 12, **fields)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("queue", [20, 100])
def test_what_a_lost_leg_had_is_sent_again_on_the_other(late: bool, queue: int) -> None:
    bearer = alternating(waiting=endless() if late else None, recovery=recovery(), queue=queue)
    bearer.push(*range(40))
    bearer.run(5 * MS if queue == 100 else 0)
    bearer.set_up(0, up=False)
    bearer.run(190 * MS)  # t-Reordering has not ended
    assert bearer.order == list(range(40))
    assert bearer.legs[1].statistics().dropped_queue == 0


def test_without_data_recovery_the_packets_of_a_lost_leg_are_given_up() -> None:
    bearer = alternating()
    bearer.push(*range(40))
    bearer.run(5 * MS)
    bearer.set_up(0, up=False)
    bearer.run(1000 * MS)
    assert bearer.receiver.statistics().missing > 0


def test_a_status_report_tells_which_of_the_rest_is_missing() -> None:
    bearer = alternating(delays_ms=(20, 20), recovery=recovery())
    bearer.push(*range(4))
    bearer.run(4 * MS)  # all are in propagation
    bearer.set_up(0, up=False)
    feedback = bearer.entity.feedback
    assert feedback is not None
    # The first comes too early: the leg's delay is not over.
    for status, after_ms in ((StatusReport.of(0, [1, 3]), 0), (StatusReport.of(2, [3]), 20)):
        assert len(bearer.sent) == 4
        bearer.now += after_ms * MS
        feedback.status, feedback.status_at = status, bearer.now
        bearer.submit()
    assert [(pdu.leg, pdu.count, pdu.sdu) for pdu in bearer.sent[4:]] == [(1, 2, 2)]
    assert bearer.statistics.pdus == (2, 3)


def test_what_is_too_old_or_has_a_copy_on_another_leg_is_not_sent_again() -> None:
    old = alternating(recovery=recovery(10 * MS))
    old.push(*range(40))
    old.run(11 * MS)
    copied = Bearer(Answers(0, 1), 12, 12, recovery=recovery())
    copied.push(*range(20))
    for bearer in (old, copied):
        bearer.set_up(0, up=False)
        assert len(bearer.sent) == 40


def test_what_came_while_no_leg_was_up_takes_the_first_that_is() -> None:
    bearer = alternating(recovery=recovery())
    for leg in (0, 1):
        bearer.set_up(leg, up=False)
    bearer.push(*range(10))
    bearer.run(50 * MS)
    bearer.set_up(1, up=True)
    bearer.run(100 * MS)
    assert bearer.order == list(range(10))


def test_a_leg_that_is_lost_twice_gives_back_what_it_had_twice() -> None:
    bearer = alternating(recovery=recovery(), waiting=endless())
    for begin in (0, 20):
        bearer.push(*range(begin, begin + 20))
        bearer.set_up(0, up=False)
        bearer.set_up(0, up=True)
    bearer.run(190 * MS)
    assert bearer.order == list(range(40))


def test_with_recovery_a_lost_leg_s_node_gets_nothing_until_it_is_up_and_has_said_so() -> None:
    control = [FlowControl(interval=5 * MS, delay=10 * MS)] * 2
    bearer = alternating(waiting=endless(), flow_control=control, recovery=recovery())
    bearer.push(*range(20))
    bearer.run(30 * MS)
    bearer.set_up(0, up=False)
    bearer.run(45 * MS)  # the next status and the backhaul
    given = bearer.statistics.pdus[0]
    bearer.push(*range(20, 40))
    bearer.run(150 * MS)
    assert bearer.statistics.pdus[0] == given
    assert bearer.order == list(range(40))
    bearer.set_up(0, up=True)
    bearer.run(170 * MS)
    bearer.push(*range(40, 60))
    bearer.run(190 * MS)
    assert bearer.statistics.pdus[0] > given


def test_what_was_taken_back_from_a_leg_is_not_outstanding_behind_others_packets() -> None:
    leg = CapacityLeg[str](
        LegParameters(delay=ConstantDelay(0)), make_capacity(12_000_000), Random(1)
    )
    leg.start(0)
    near = BearerLeg(0, leg, BearerLegs[str](1, waiting=endless()))
    leg.push("another's", SIZE, 0)
    near.send(Pdu("own", SIZE, leg=0, count=0), 0)
    assert [pdu.sdu for pdu in near.arrived(0)] == ["own"]
    leg.push("own", SIZE, 0)
    leg.set_up(False, 0)
    assert leg.flush(0, "own".__eq__) == ["own"]
    near.withdraw(0)
    near.settle(0)
    assert near.held == 0


def kept(*legs: int) -> Recovery[int]:
    """PDUs 0, 1, ... on these legs."""
    made = recovery()
    for count, leg in enumerate(legs):
        made.sent(leg, Pdu(count, SIZE, count=count))
    return made


def told(made: Recovery[int], first_missing: int, at: int) -> list[int]:
    """What is sent again, in order, when a status has come."""
    feedback = Feedback(2)
    feedback.status, feedback.status_at = StatusReport.of(first_missing, []), at
    made.take_status(feedback)
    again = []
    while (pdu := made.first(at)) is not None:
        again.append(pdu.count)
        made.pop()
    return again


@pytest.mark.parametrize("delays", [(5, 5), (50, 5), (5, 50)])
def test_one_status_tells_of_all_legs_lost_a_delay_before(delays: Sequence[int]) -> None:
    made = kept(0, 1)
    for leg, delay in enumerate(delays):
        made.leg_lost(leg, (), delay)
    assert told(made, 0, 10) == [leg for leg, delay in enumerate(delays) if delay <= 10]


def test_pdus_of_two_lost_legs_are_sent_again_in_order_but_for_what_is_waited_for_no_more() -> None:
    made = kept(0, 1, 0, 1, 0, 1)
    for leg in (0, 1):
        made.leg_lost(leg, range(6), 0)
    assert told(made, 3, 1) == [3, 4, 5]
    assert (made.take_given_up(), made.not_resent) == ([0, 1, 2], 3)


def test_what_grows_too_old_to_be_sent_again_is_given_back_and_counted() -> None:
    bearer = alternating(recovery=recovery(20 * MS))
    bearer.push(*range(4))
    for leg in (0, 1):
        bearer.set_up(leg, up=False)
    assert bearer.entity.next_timeout() == 20 * MS
    bearer.run(30 * MS)
    assert sorted(bearer.entity.dropped()) == [0, 1, 2, 3]
    assert (bearer.statistics.not_resent, bearer.statistics.resent) == (4, 2)


def test_a_pdu_with_its_header_has_room_in_the_queue_that_takes_it() -> None:
    bearer = Bearer(BatchPolicy(1), 12, queue=None, queue_bytes=2 * SIZE + 3, waiting=endless())
    bearer.push(1, 2)
    bearer.run(100 * MS)
    assert bearer.legs[0].statistics().dropped_queue == 0
    assert bearer.order == [1, 2]


def test_a_packet_that_no_queue_holds_is_dropped_there_and_blocks_none() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, queue=None, queue_bytes=1000, waiting=endless())
    bearer.push(1)
    bearer.run(10 * MS)
    assert bearer.legs[0].statistics().dropped_queue == 1
    assert bearer.statistics.waiting == 0


def test_a_node_that_has_nothing_takes_a_packet_larger_than_it_asks_for() -> None:
    control = FlowControl(interval=5 * MS, delay=0, desired=1)
    bearer = Bearer(BatchPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(1, size=9000)
    bearer.run(10 * MS)
    assert bearer.order == [1]


@pytest.mark.parametrize("control", [(), [FlowControl(5 * MS, 2 * MS)] * 2])
def test_a_leg_that_has_ended_with_a_queue_keeps_no_other_waiting(
    control: Sequence[FlowControl],
) -> None:
    ends = make_capacity(RateTrace("ends", (0,), (12_000_000,), 10 * MS), "stop")
    policy = BatchPolicy(2, batch=2)
    bearer = Bearer(policy, ends, 12, queue=20, waiting=endless(), flow_control=control)
    bearer.push(*range(200))
    bearer.run(1000 * MS)
    assert bearer.statistics.waiting == 0


def test_the_threshold_s_packets_do_not_wait_for_a_primary_leg_that_is_down() -> None:
    bearer = Bearer(ThresholdPolicy(2), 12, 12, waiting=endless())
    bearer.set_up(0, up=False)
    bearer.push(1, 2)
    bearer.run(10 * MS)
    assert bearer.order == [1, 2]


def test_a_copy_for_a_leg_that_is_down_or_full_is_not_waited_for() -> None:
    bearer = Bearer(Answers(0, 1), 12, 1, queue=2, waiting=endless())
    bearer.push(*range(10))
    bearer.run(20 * MS)
    assert bearer.order == list(range(10))
    bearer.set_up(0, up=False)
    bearer.push(10)
    bearer.run(100 * MS)
    assert bearer.order[-1] == 10


def test_what_a_leg_did_to_a_pdu_is_not_sent_again() -> None:
    legs = [
        CapacityLeg[str](
            LegParameters(delay=ConstantDelay(0)), make_capacity(12_000_000), Random(1)
        )
        for _ in range(2)
    ]
    entity = TransmittingEntity[str](
        *(sn_format(12), BatchPolicy(2)),
        legs=2,
        states=legs,
        reports=True,
        recovery=Recovery(2, most=10, discard_timer=None),
    )
    entity.push("unmarked", SIZE, 0)
    [pdu] = entity.poll(0)
    pdu.sdu = "marked"
    legs[0].set_up(False, 0)
    assert entity.lost_legs(0) == [0]
    entity.leg_lost(0, [pdu.sn], 0)
    [again] = entity.poll(0)
    assert (again.sdu, again.count, again.leg) == ("unmarked", pdu.count, 1)
