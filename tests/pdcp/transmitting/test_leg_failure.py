"""Legs that take packets and lose them all, as the receiver's reports tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from minitopo_dc.link import make_capacity
from minitopo_dc.pdcp import (
    BatchPolicy,
    DuplicatePolicy,
    Feedback,
    FlowControl,
    LeastDelayPolicy,
    LegFailures,
    LegReception,
    ProportionalPolicy,
    Report,
    SplitPolicy,
)
from minitopo_dc.pdcp.report import encode_report
from tests.pdcp.bearers import MS, Answers, Bearer, endless, recovery

FOREVER = 10**9
GAPS = st.integers(2, 30)
"""ms between SDUs; each takes 1 ms on a leg."""
DELAYS = st.tuples(st.integers(0, 60), st.integers(0, 60)) | st.just((5, 5))
WAYS = st.tuples(st.integers(0, 3), st.booleans())
"""Which policy, and whether it numbers late."""
Way = tuple[int, bool]


def failing(
    split: SplitPolicy,
    *dead: tuple[int, float, float],
    delays_ms: Sequence[float] = (10, 10),
    late: bool = False,
    recovers: bool = True,
    **fields: Any,
) -> Bearer:
    """A bearer whose legs (the first of three) lose all from one time in ms to another."""
    values: dict[str, Any] = {"queue": None, "after_ms": 100, "report_ms": 20} | fields
    return Bearer(
        *(split, 12, 12),
        delays_ms=delays_ms,
        loses=lambda leg, now: any(
            leg == lost and begin * MS <= now < end * MS for lost, begin, end in dead
        ),
        waiting=endless() if late else None,
        recovery=recovery() if recovers else None,
        t_reordering_ms=None if recovers else 200,
        **values,
    )


def policy(number: int) -> SplitPolicy:
    policies: list[SplitPolicy] = [
        BatchPolicy(2, batch=2),
        LeastDelayPolicy(2),
        ProportionalPolicy(2),
        DuplicatePolicy(2),
    ]
    return policies[number]


def only(leg: int) -> SplitPolicy:
    """All on one leg."""
    return BatchPolicy(2, batch=1, ratio=[1 - leg, leg])


@given(
    delays=DELAYS,
    arrivals=st.lists(st.sampled_from([0, 1, 2, 10, 50, 400]), min_size=1, max_size=40),
    way=WAYS,
    after=st.integers(20, 200),
    back=st.integers(0, 100),
)
def test_a_leg_that_delivers_never_fails(
    delays: tuple[int, int], arrivals: list[int], way: Way, after: int, back: int
) -> None:
    # The way back is taken for as long as the way forth: `after` has to cover the difference.
    back = min(back, min(delays) + after - 1)
    bearer = failing(policy(way[0]), delays_ms=delays, after_ms=after, back_ms=back, late=way[1])
    for sdu, gap in enumerate(arrivals):
        bearer.run(bearer.now + gap * MS)
        bearer.push(sdu)
    bearer.run(bearer.now + 1000 * MS)
    assert bearer.failures.counts()["failures"] == (0, 0)
    assert bearer.order == list(range(len(arrivals)))


@given(
    arrives=st.integers(1, 8), gap=st.integers(2, 5), after=st.integers(70, 200), late=st.booleans()
)
def test_nor_one_that_delivers_one_in_several(
    arrives: int, gap: int, after: int, late: bool
) -> None:
    count = iter(range(FOREVER))
    bearer = failing(only(0), after_ms=after, late=late, recovers=False)
    bearer.loses = lambda *_: next(count) % arrives > 0
    bearer.push_steadily(gap, 1000)  # at the most 8 x 5 ms and a report's 20 between arrivals
    assert bearer.failures.counts()["failures"] == (0, 0)


@given(
    died=st.integers(0, 300),
    gap=GAPS,
    delays=DELAYS,
    after=st.integers(20, 300),
    interval=st.integers(5, 20),
)
def test_a_dead_leg_has_failed_when_its_silence_has_been_told(
    died: int, gap: int, delays: tuple[int, int], after: int, interval: int
) -> None:
    back = min(delays)
    bearer = failing(
        *(only(0), (0, died, FOREVER)),
        delays_ms=delays,
        after_ms=after,
        report_ms=interval,
        back_ms=back,
        late=bool(gap % 2),
    )
    bearer.push_steadily(gap, died + 1000)
    [(at, leg, failed)] = bearer.changes
    assert (leg, failed) == (0, True)
    # Silence begins with the first PDU that should have come after the last report of some. A leg
    # that is dead from the beginning is silent from its first PDU's arrival on.
    begin = max(died, delays[0] + 1)
    assert at >= (begin + after) * MS
    told = after + interval + back  # `after` is over, the next report is made, and comes
    assert at <= (begin + interval + gap + 1 + told) * MS


@given(
    died=st.integers(0, 300),
    gap=GAPS,
    delays=DELAYS,
    way=WAYS,
    every=st.integers(1, 3),
)
def test_nothing_is_lost_that_the_other_leg_can_deliver_and_all_is_in_order(
    died: int, gap: int, delays: tuple[int, int], way: Way, every: int
) -> None:
    """Also where two of three reports are lost."""
    bearer = failing(
        *(policy(way[0]), (0, died, FOREVER)),
        delays_ms=delays,
        late=way[1],
        back_ms=min(delays),
        report_lost=lambda report: report % every > 0,
    )
    bearer.push_steadily(gap, died + 1000)
    sdus = round((died + 1000) / gap)
    bearer.entity.push(sdus, 1500, bearer.now)
    bearer.run((died + 3000) * MS)
    if bearer.failures.counts()["failures"][0]:
        assert bearer.order == list(range(sdus + 1))
    else:
        assert not bearer.carried(0, (died + 300 + max(delays)) * MS)
    failed_from = next((at for at, _, failed in bearer.changes if failed), FOREVER * MS)
    assert bearer.carried(0, failed_from) <= bearer.carried(1)


@given(
    lasts=st.integers(300, 800),
    gap=GAPS,
    delays=DELAYS,
    way=WAYS,
)
def test_a_leg_that_delivers_again_is_back_as_soon_as_a_report_says_so(
    lasts: int, gap: int, delays: tuple[int, int], way: Way
) -> None:
    back, interval = min(delays), 20
    died = (1, 200, 200 + lasts)
    bearer = failing(policy(way[0]), died, delays_ms=delays, back_ms=back, late=way[1])
    bearer.push_steadily(gap, 1500 + lasts)
    if not bearer.changes:  # a policy that does not use the leg
        return
    assert [failed for _, _, failed in bearer.changes] == [True, False]
    probe = interval + gap  # a copy a report interval, when there is something to copy
    told = delays[1] + 1 + interval + back
    assert bearer.changes[1][0] <= (200 + lasts + probe + told) * MS
    assert bearer.failures.counts()["probes"][1] >= 1
    assert bearer.failures.counts()["probes"][1] <= (lasts + told + probe) / interval
    statistics = bearer.statistics
    assert statistics.failures == (0, 1)
    assert statistics.failed_ns == (0, bearer.changes[1][0] - bearer.changes[0][0])
    assert statistics.probes == bearer.failures.counts()["probes"]


@pytest.mark.parametrize("recovers", [True, False])
def test_data_recovery_sends_again_at_once_what_the_failed_leg_had(recovers: bool) -> None:
    bearer = failing(BatchPolicy(2, batch=2), (0, 100, FOREVER), recovers=recovers)
    bearer.push_steadily(10, 600)
    [(failed, _, _)] = bearer.changes
    assert set(range(failed // (10 * MS) + 1, 60)) <= bearer.carried(1, failed)
    again = {pdu.sdu for pdu in bearer.sent if pdu.leg == 1 and pdu.at == failed}
    bearer.run(700 * MS)
    if recovers:
        assert len(again) >= 5  # 100 ms of every second SDU
        assert bearer.order == list(range(60))
    else:
        assert bearer.statistics.resent == 0


def test_of_legs_that_have_all_failed_the_one_that_delivers_first_is_used() -> None:
    bearer = failing(LeastDelayPolicy(2), (0, 0, 1000), (1, 0, FOREVER), late=True)
    bearer.push_steadily(10, 1500)
    bearer.run(2000 * MS)
    assert bearer.order == list(range(150))
    assert bearer.failures.failed == {1}


def test_a_failed_leg_is_used_while_the_others_are_down() -> None:
    bearer = failing(LeastDelayPolicy(2), (0, 0, 500), late=True)
    bearer.push_steadily(10, 400)
    assert bearer.failures.failed == {0}
    bearer.set_up(1, up=False)
    bearer.run(600 * MS)
    bearer.push_steadily(10, 400, first=40)
    bearer.run(1200 * MS)
    assert bearer.order == list(range(80))
    assert bearer.failures.failed == set()


def test_what_the_last_leg_had_is_sent_again_on_one_that_comes_up() -> None:
    bearer = failing(LeastDelayPolicy(2), (0, 0, FOREVER), late=True)
    bearer.push_steadily(10, 400)
    bearer.set_up(1, up=False)
    bearer.push_steadily(10, 100, first=40)
    bearer.run(600 * MS)
    bearer.set_up(1, up=True)
    bearer.run(800 * MS)
    assert bearer.order == list(range(50))


def test_neither_a_report_before_anybody_looked_nor_none_at_all_makes_a_leg_fail() -> None:
    early = failing(only(0), delays_ms=(5, 5), after_ms=50, back_ms=5)
    early.push(0, 1, 2)
    early.run(1000 * MS)
    none = failing(BatchPolicy(2, batch=2), (0, 0, FOREVER), report_lost=lambda _: True)
    none.push_steadily(10, 2000)
    assert early.changes == none.changes == []


def test_reports_that_are_late_tell_of_the_time_when_they_were_made() -> None:
    """Else a report that waited would tell of a silence that there is not."""
    failures = LegFailures(1, after=50 * MS, interval=20 * MS)
    feedback = Feedback(1)
    feedback.sent(0, 0)

    def report(number: int, at_ms: int) -> None:
        legs = (LegReception(0, 0, 0, 0, 0),)
        feedback.push(encode_report(Report(number, legs)), at_ms * MS)
        failures.take_report(feedback, 10 * MS)

    report(1, 30)
    failures.expect_arrival(0, 35 * MS, 0)
    report(2, 300)
    report(4, 310)
    assert failures.failed == set()  # made at 80 ms
    report(5, 320)
    assert failures.failed == {0}


def test_a_policy_sees_a_failed_leg_as_one_that_is_down() -> None:
    policy = Answers(0)
    bearer = failing(policy, (0, 0, FOREVER))
    bearer.push_steadily(10, 300)
    for view, failed in zip(policy.shown, (True, False), strict=True):
        assert (view.has_failed, view.is_up) == (failed, not failed)
        assert view.takes(now=bearer.now, size=100) is not failed
        assert (view.drain_ns(now=bearer.now) is None) is failed


@pytest.mark.parametrize("late", [False, True])
def test_a_failure_is_told_behind_a_backhaul_too(late: bool) -> None:
    control = [FlowControl(interval=5 * MS, delay=5 * MS)] * 2
    policy = BatchPolicy(2, batch=2)
    bearer = failing(policy, (0, 100, 500), flow_control=control, late=late)
    bearer.push_steadily(10, 1000)
    bearer.run(1200 * MS)
    assert [(leg, failed) for _, leg, failed in bearer.changes] == [(0, True), (0, False)]
    assert bearer.order == list(range(100))


def test_what_waits_in_a_leg_s_queue_is_not_missed() -> None:
    bearer = failing(only(0), after_ms=20)
    bearer.push(*range(10))
    bearer.legs[0].retune(0, capacity=make_capacity(30_000))  # 400 ms each
    bearer.run(5000 * MS)
    assert bearer.changes == []
    assert bearer.order == list(range(10))
