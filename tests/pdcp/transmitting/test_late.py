"""Late numbering over two legs of `minitopo_dc.link`. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    BatchPolicy,
    FlowControl,
    LeastDelayPolicy,
    Recovery,
    SduBuffer,
    SplitPolicy,
    TransmittingEntity,
    sn_format,
)
from minitopo_dc.pdcp.formats.report import StatusReport
from tests.pdcp.late_bearer import MS, SIZE, Bearer, Waits, endless


def test_an_sdu_gets_its_count_when_a_leg_takes_it() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=endless())
    bearer.push(*range(10))
    assert bearer.entity.tx_next == 2  # one in service, one behind it
    bearer.run(3 * MS)
    assert bearer.entity.tx_next == 4
    bearer.run(100 * MS)
    assert bearer.order == list(range(10))


def test_what_is_dropped_before_it_is_numbered_leaves_no_gap() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=SduBuffer(5, None))
    taken = bearer.push(*range(10))
    assert taken == [True] * 5 + [False] * 5
    bearer.run(100 * MS)
    assert bearer.push(10) == [True]
    bearer.run(200 * MS)
    assert bearer.order == [0, 1, 2, 3, 4, 10]
    assert bearer.receiver.statistics().missing == 0
    statistics = bearer.entity.statistics()
    assert (statistics.sdus, bearer.legs[0].statistics().dropped_queue) == (6, 0)


def test_an_sdu_too_old_is_never_numbered() -> None:
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=SduBuffer(None, 10 * MS))
    bearer.push(*range(100))
    bearer.run(50 * MS)
    numbered = bearer.entity.tx_next
    assert 10 <= numbered <= 13
    assert bearer.order == list(range(numbered))
    assert bearer.entity.dropped() == list(range(numbered, 100))
    assert bearer.entity.dropped() == []


def test_a_blind_split_fills_the_queues_of_its_legs() -> None:
    bearer = Bearer(BatchPolicy(2, batch=20), 12, 12, waiting=SduBuffer(200, None))
    bearer.push(*range(100))
    bearer.run(60 * MS)  # 100 packets on two legs of 1,000 a second
    assert bearer.order == list(range(100))


def test_a_policy_may_wait_and_is_asked_again_when_a_leg_serves() -> None:
    policy = Waits()
    bearer = Bearer(policy, 12, 12, waiting=endless())
    bearer.push(1, 2, 3)
    assert (bearer.sent, policy.shown[0].pending_bytes) == ([], 2 * SIZE)
    policy.answer = (1,)
    bearer.push(4)
    assert [leg for leg, _, _ in bearer.sent] == [1, 1]
    assert not policy.shown[1].takes(now=bearer.now, size=SIZE)
    assert policy.shown[0].takes(now=bearer.now, size=SIZE)


@pytest.mark.parametrize(("waited_ms", "marked"), [(9, 0), (11, 1)])
def test_an_sdu_is_marked_for_what_it_waited_before_its_leg_took_it(
    waited_ms: int, marked: int
) -> None:
    policy, marks = Waits(), list[int]()
    entity = TransmittingEntity[Any](
        sn_format(18),
        policy,
        legs=1,
        states=Bearer(policy, 12).legs,
        waiting=SduBuffer(None, None),
        mark_above=10 * MS,
    )
    entity.push(SimpleNamespace(ecn=1, mark=lambda: marks.append(1)), SIZE, 0)
    assert entity.poll(0) == []
    policy.answer = (0,)
    assert len(entity.poll(waited_ms * MS)) == 1
    assert (entity.statistics().marked_sdus, len(marks)) == (marked, marked)


def test_a_leg_that_is_down_is_not_used() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, waiting=endless())
    bearer.set_up(0, up=False)
    bearer.push(*range(10))
    bearer.run(20 * MS)
    assert bearer.order == list(range(10))
    bearer.set_up(1, up=False)
    bearer.push(10)
    bearer.run(30 * MS)
    assert len(bearer.order) == 10
    bearer.set_up(0, up=True)
    bearer.run(40 * MS)
    assert bearer.order[-1] == 10


@pytest.mark.parametrize("late", [False, True])
def test_what_a_lost_leg_had_is_sent_again_on_the_other(late: bool) -> None:
    recovery = Recovery[int](2, most=1 << 17, discard_timer=None)
    bearer = Bearer(
        BatchPolicy(2, batch=2), 12, 12, waiting=endless() if late else None, recovery=recovery
    )
    bearer.push(*range(40))
    bearer.run(5 * MS)
    bearer.set_up(0, up=False)
    bearer.run(190 * MS)  # t-Reordering has not ended
    assert bearer.order == list(range(40))
    assert bearer.receiver.statistics().missing == 0


def test_without_data_recovery_the_packets_of_a_lost_leg_are_given_up() -> None:
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12)
    bearer.push(*range(40))
    bearer.run(5 * MS)
    bearer.set_up(0, up=False)
    bearer.run(1000 * MS)
    assert bearer.receiver.statistics().missing > 0


def test_a_status_report_tells_which_of_the_rest_is_missing() -> None:
    recovery = Recovery[int](2, most=1 << 17, discard_timer=None)
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, delays_ms=(20, 20), recovery=recovery)
    bearer.push(*range(4))
    bearer.run(4 * MS)  # all are in propagation
    bearer.set_up(0, up=False)
    bearer.submit()
    assert len(bearer.sent) == 4
    assert bearer.entity.feedback is not None
    bearer.entity.feedback.status = StatusReport.of(0, [1, 3])
    bearer.entity.feedback.status_at = bearer.now  # too early: the leg's delay is not over
    bearer.submit()
    assert len(bearer.sent) == 4
    bearer.now += 20 * MS
    bearer.entity.feedback.status = StatusReport.of(2, [3])
    bearer.entity.feedback.status_at = bearer.now
    bearer.submit()
    assert bearer.sent[4:] == [(1, 2, 2)]
    assert bearer.entity.statistics().pdus == (2, 3)


def test_what_is_too_old_is_not_sent_again() -> None:
    recovery = Recovery[int](2, most=1 << 17, discard_timer=10 * MS)
    bearer = Bearer(BatchPolicy(2, batch=2), 12, 12, recovery=recovery)
    bearer.push(*range(40))
    bearer.run(11 * MS)
    bearer.set_up(0, up=False)
    assert [leg for leg, _, _ in bearer.sent[40:]] == []


def test_a_copy_on_another_leg_is_not_sent_again() -> None:
    policy = Waits()
    policy.answer = (0, 1)
    recovery = Recovery[int](2, most=1 << 17, discard_timer=None)
    bearer = Bearer(policy, 12, 12, recovery=recovery)
    bearer.push(*range(10))
    bearer.set_up(0, up=False)
    assert len(bearer.sent) == 20


def test_a_node_gets_what_it_wants_and_no_more() -> None:
    control = FlowControl(interval=5 * MS, delay=10 * MS, desired=30 * MS)
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(*range(2000))
    most = 0
    for moment in range(1, 1000):
        bearer.run(moment * MS)
        most = max(most, bearer.legs[0].statistics().queue_packets)
    assert 20 <= most <= 31
    delivered = [moment for moment, _ in bearer.delivered if moment > 100 * MS]
    assert len(delivered) >= 897  # the leg was never idle: 3 bytes of header are 0.2 %


def test_pdus_and_statuses_take_the_backhaul_s_delay() -> None:
    control = FlowControl(interval=5 * MS, delay=10 * MS)
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(1)
    assert bearer.sent == []
    bearer.run(9 * MS)
    assert bearer.sent == []
    bearer.run(10 * MS)
    assert bearer.sent == [(0, 0, 1)]


def test_a_leg_that_went_down_wants_nothing_once_its_node_has_said_so() -> None:
    control = FlowControl(interval=5 * MS, delay=10 * MS)
    bearer = Bearer(LeastDelayPolicy(2), 12, 12, waiting=endless(), flow_control=[control] * 2)
    bearer.push(*range(100))
    bearer.run(30 * MS)
    bearer.set_up(0, up=False)
    bearer.run(50 * MS)
    before = len([leg for leg, _, _ in bearer.sent if leg == 0])
    bearer.push(*range(100, 200))
    bearer.run(1000 * MS)
    assert len([leg for leg, _, _ in bearer.sent if leg == 0]) == before


steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(1, 20)),
        st.tuples(st.just("wait"), st.integers(1, 30)),
        st.tuples(st.just("down"), st.integers(0, 1)),
        st.tuples(st.just("up"), st.integers(0, 1)),
    ),
    max_size=30,
)
policies = st.sampled_from([lambda: BatchPolicy(2, batch=6), lambda: LeastDelayPolicy(2)])


@given(
    steps,
    policies,
    st.sampled_from([None, 20 * MS]),
    st.booleans(),
    st.sampled_from([None, FlowControl(5 * MS, 3 * MS)]),
)
def test_sdus_are_in_one_place_counts_are_used_once_and_none_is_too_old(
    steps: list[tuple[str, int]],
    make: Callable[[], SplitPolicy],
    discard_timer: int | None,
    recovers: bool,
    control: FlowControl | None,
) -> None:
    recovery = Recovery[int](2, most=1 << 17, discard_timer=discard_timer) if recovers else None
    bearer = Bearer(
        make(),
        12,
        6,
        queue=30,
        waiting=SduBuffer(40, discard_timer),
        recovery=recovery,
        flow_control=(control, control) if control else (),
    )
    pushed, discarded = 0, list[int]()
    arrived: dict[int, int] = {}
    for action, number in steps:
        if action == "push":
            arrived.update(dict.fromkeys(range(pushed, pushed + number), bearer.now))
            bearer.push(*range(pushed, pushed + number))
            pushed += number
        elif action == "wait":
            bearer.run(bearer.now + number * MS)
        else:
            bearer.set_up(number, up=action == "up")
        discarded += bearer.entity.dropped()
        seen = bearer.entity.statistics()
        waiting = getattr(seen, "waiting", 0)
        dropped = getattr(seen, "dropped_buffer", 0)
        too_old = getattr(seen, "discarded", 0)
        assert pushed == seen.sdus + waiting + dropped + too_old
        assert len(discarded) == too_old + getattr(seen, "not_resent", 0)
    counts = [count for leg, count, _ in bearer.sent]
    assert recovers or len(set(counts)) == len(counts)
    assert (
        dict(enumerate(sorted({sdu for _, _, sdu in bearer.sent})))
        == {count: sdu for _, count, sdu in bearer.sent}
        or control
    )  # in order of arrival; what a backhaul still carries is not sent yet
    assert recovers or not {sdu for _, _, sdu in bearer.sent} & set(discarded)
    if discard_timer and not control:
        assert all(at - arrived[sdu] < discard_timer for sdu, at in bearer.first_sent.items())
    assert bearer.order == sorted(set(bearer.order))
