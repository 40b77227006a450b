"""Adaptive t-Reordering: what is learned from gaps, and what the entity does with it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import T_REORDERING_MS, Pdu, ReceivingEntity, Timer, sn_format
from minitopo_dc.pdcp.timers import (
    HIGHEST_NS,
    INITIAL_NS,
    LOWEST_NS,
    MARGIN,
    WINDOW_NS,
    AdaptiveTReordering,
)
from minitopo_dc.scenario import Pdcp

MS = 1_000_000
STANDARD = [value * MS for value in T_REORDERING_MS]
# How long an example takes depends on what else the machine does.
untimed = settings(deadline=None)


def learned(*waits: int, at: int = 0, legs: int = 2) -> AdaptiveTReordering:
    """Of gaps that opened at `at` (ns) and were filled so much later, by the legs in turn."""
    made = AdaptiveTReordering(legs)
    for number, _ in enumerate(waits):
        made.opened(2 * number, 2 * number + 1, at)
    for number, wait in sorted(enumerate(waits), key=lambda each: each[1]):
        made.arrived(2 * number, number % legs, at + wait)
    return made


@pytest.mark.parametrize(("later", "value"), [(0, HIGHEST_NS), (1, INITIAL_NS)])
def test_a_gap_is_remembered_for_the_longest_value(later: int, value: int) -> None:
    made, now = AdaptiveTReordering(1), HIGHEST_NS + later
    made.opened(0, 1, 0)
    made.opened(5, 6, now)
    made.arrived(0, 0, now)
    assert made.value(now) == value


def test_before_anything_is_known_it_is_the_papers_200_ms() -> None:
    assert AdaptiveTReordering(2).value(0) == INITIAL_NS == 200 * MS


def test_it_is_the_longest_wait_with_its_margin_rounded_up_to_the_standard() -> None:
    for waits in ((4, 2), (27, 13), (90, 45), (600, 300), (80, 10), (10, 80)):  # of either leg
        made = learned(*(wait * MS for wait in waits))
        assert made.value(WINDOW_NS) == min(e for e in STANDARD if e >= max(waits) * MS * MARGIN)
    made = learned(5 * MS)  # but not below 200 ms in the first window
    assert [made.value(now) for now in (5 * MS, WINDOW_NS - 1)] == [200 * MS] * 2


def test_a_wait_is_forgotten_a_window_later_and_without_any_it_is_as_at_first() -> None:
    made = learned(50 * MS)
    assert made.value(50 * MS + WINDOW_NS) < 200 * MS
    made.opened(10, 11, WINDOW_NS)
    made.arrived(10, 0, WINDOW_NS + 10 * MS)
    assert made.value(51 * MS + WINDOW_NS) == min(e for e in STANDARD if e >= 10 * MS * MARGIN)
    assert made.value(11 * MS + 2 * WINDOW_NS) == INITIAL_NS


def test_it_stays_in_the_bounds() -> None:
    assert learned(10).value(WINDOW_NS) == LOWEST_NS == 1 * MS
    assert learned(2900 * MS).value(2900 * MS) == HIGHEST_NS == 3000 * MS


def receiver() -> ReceivingEntity[int]:
    return ReceivingEntity(sn_format(18), t_reordering=Timer(is_adaptive=True), legs=2)


# COUNT and time: the first gap opens 1 ms before a window has passed since the first PDU.
FIRST_GAP_LATE = [(0, 0), (2, WINDOW_NS - MS), (1, WINDOW_NS + 4 * MS), (4, WINDOW_NS + 4 * MS)]


@pytest.mark.parametrize("keep_order", [False, True])
def test_the_first_window_begins_with_the_first_gap_and_not_with_a_pdu_in_order(
    keep_order: bool,
) -> None:
    entity = ReceivingEntity[int](
        sn_format(18), t_reordering=Timer(is_adaptive=True), legs=2, legs_keep_order=keep_order
    )
    for count, now in FIRST_GAP_LATE:
        entity.push(Pdu(count, leg=0, sn=count), now)
    assert entity.statistics().t_reordering_ns == INITIAL_NS  # after it the 5 ms make it 10 ms


class Alternating:
    """A receiver of PDUs by two legs in turn, one a ms, leg 1 so much later (ns)."""

    def __init__(self) -> None:
        self.entity = receiver()
        self.now = 0
        self.sent = 0
        self.under_way: list[tuple[int, int]] = []  # time, COUNT
        self.delivered: list[int] = []

    def run(self, pdus: int, later: int) -> None:
        for _ in range(pdus):
            self.under_way.append((self.sent * MS + self.sent % 2 * later, self.sent))
            self.sent += 1
        while self.under_way and min(self.under_way)[0] <= self.sent * MS:
            self.now, count = min(self.under_way)
            self.under_way.remove((self.now, count))
            self.entity.push(Pdu(count, leg=count % 2, sn=count), self.now)
            self.delivered += self.entity.poll(self.now)


def test_the_entity_s_timer_comes_down_to_the_legs_difference() -> None:
    link = Alternating()
    link.run(3000, later=30 * MS)
    statistics = link.entity.statistics()
    assert statistics.t_reordering_ns == 60 * MS  # 29 ms and the margin
    assert (statistics.missing, statistics.old) == (0, 0)
    link.entity.push(Pdu(0, leg=0, sn=link.sent + 10), link.now)
    assert link.delivered == sorted(set(link.delivered))


def test_what_was_too_late_raises_the_timer_at_once() -> None:
    link = Alternating()
    link.run(3000, later=10 * MS)
    assert link.entity.statistics().t_reordering_ns == 20 * MS
    link.run(300, later=100 * MS)
    statistics = link.entity.statistics()
    assert statistics.old > 0
    assert statistics.t_reordering_ns is not None
    assert statistics.t_reordering_ns >= 99 * MS * MARGIN
    old = statistics.old
    link.run(1000, later=100 * MS)
    assert link.entity.statistics().old == old


def test_only_adaptive_statistics_show_the_value() -> None:
    fixed = Pdcp(t_reordering_ms=20).receiver(2).statistics()
    assert fixed.t_reordering_ns is None
    assert Pdcp(t_reordering_ms="adaptive").receiver(2).statistics().t_reordering_ns


steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, MS, 10 * MS, 300 * MS, 2500 * MS, 8000 * MS]),
        st.just(1) | st.integers(-6, 6),
        st.integers(0, 1),
    ),
    max_size=80,
)


@untimed
@given(steps, st.booleans())
def test_on_any_arrivals_order_holds_and_a_loss_blocks_3_s_at_most(
    arrivals: list[tuple[int, int, int]], keep_order: bool
) -> None:
    entity = ReceivingEntity[int](
        sn_format(18),
        t_reordering=Timer(is_adaptive=True),
        legs=2,
        legs_keep_order=keep_order,
    )
    now, newest, blocked = 0, -1, 0
    delivered: list[int] = []
    for later, distance, leg in arrivals:
        now += later
        count = newest + distance
        if count < 0:
            continue
        newest = max(newest, count)
        before = entity.rx_deliv
        delivered += entity.poll(now)
        idle = entity.rx_deliv == entity.rx_next
        entity.push(Pdu(count, leg=leg, sn=count), now)
        delivered += entity.poll(now)
        if before != entity.rx_deliv or idle:
            blocked = now
        if entity.rx_deliv < entity.rx_next:
            end = entity.next_timeout()
            assert end is not None
            assert now < end <= blocked + HIGHEST_NS
        value = entity.statistics().t_reordering_ns
        assert value in STANDARD
    delivered += entity.poll(now + 2 * HIGHEST_NS)
    assert delivered == sorted(set(delivered))
    assert entity.rx_deliv == entity.rx_next


@pytest.mark.parametrize("delivery", ["in-order", "out-of-order"])
def test_it_learns_with_either_delivery(delivery: str) -> None:
    settings = Pdcp.check({"delivery": delivery, "t_reordering_ms": "adaptive"}, "test")
    entity = settings.receiver(2)
    for batch in range(300):
        start, now = 100 * batch, batch * 10 * MS
        for count in (*range(start + 50, start + 100), *range(start, start + 50)):
            entity.push(
                Pdu(None, leg=int(count >= start + 50), sn=count),
                now + (count - start) % 50 * MS // 10,
            )
    assert entity.statistics().t_reordering_ns == 10 * MS  # 4.9 ms and the margin
