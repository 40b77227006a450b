"""Legs that keep their order: what every leg has passed is lost, and given up at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import INFINITE, Delivery, Pdu, ReceivingEntity, Timer, sn_format

MS = 1_000_000
# How long an example takes depends on what else the machine does.
untimed = settings(deadline=None)


def receiver(
    legs: int = 2,
    t_reordering: int | None = None,
    delivery: Delivery = "in-order",
    first_count: int = 0,
) -> ReceivingEntity[int]:
    """Whose SDUs are their COUNTs."""
    return ReceivingEntity(
        sn_format(12),
        t_reordering=Timer(t_reordering),
        legs=legs,
        delivery=delivery,
        first_count=first_count,
        legs_keep_order=True,
    )


def push(entity: ReceivingEntity[int], count: int, leg: int, now: int = 0) -> list[int]:
    entity.push(Pdu(count, leg=leg, sn=count % 4096), now)
    return entity.poll(now)


def test_a_lost_pdu_is_given_up_when_the_last_leg_delivers_a_higher_count() -> None:
    entity = receiver()
    assert push(entity, 1, leg=0) == []
    assert push(entity, 3, leg=0) == []
    assert push(entity, 2, leg=1) == [1, 2, 3]
    assert not entity.push(Pdu(0, leg=0, sn=0), 0)
    statistics = entity.statistics()
    assert (statistics.missing, statistics.missing_by_order, statistics.old) == (1, 1, 1)
    assert (statistics.t_reordering_expiries, entity.next_timeout()) == (0, None)


def test_while_a_leg_is_silent_what_is_sent_again_on_another_is_in_time() -> None:
    entity = receiver()
    assert push(entity, 0, leg=1) == [0]
    for count in (1, 4, 5):  # 2 and 3 were on leg 1, which has gone down
        push(entity, count, leg=0)
    assert push(entity, 2, leg=0) == [2]
    assert push(entity, 3, leg=0) == [3, 4, 5]
    assert push(entity, 8, leg=1) == []
    assert push(entity, 7, leg=0) == [7, 8]  # 6 is lost
    statistics = entity.statistics()
    assert (statistics.missing, statistics.old) == (1, 0)


@pytest.mark.parametrize("first_count", [0, 4090, 3 * 4096 - 5])
def test_counts_go_on_over_the_wrap_of_the_sn(first_count: int) -> None:
    entity = receiver(first_count=first_count)
    sent = [count for count in range(first_count, first_count + 9000) if count % 10]
    assert [got for count in sent for got in push(entity, count, leg=count % 2)] == sent


def test_without_the_option_no_leg_s_order_tells_anything() -> None:
    entity = ReceivingEntity[int](sn_format(12), t_reordering=INFINITE, legs=1)
    assert push(entity, 1, leg=0) == push(entity, 2, leg=0) == []
    assert entity.statistics().missing_by_order is None


@dataclass
class Arrivals:
    """What each leg delivers, ascending, and whose turn it is."""

    legs: list[list[int]]
    turns: list[int]

    def in_turn(self) -> list[tuple[int, int]]:
        """(COUNT, leg), until all legs are empty."""
        left = [list(leg) for leg in self.legs]
        turns = [turn % len(left) for turn in self.turns] + sorted(
            leg for leg, counts in enumerate(left) for _ in counts
        )
        return [(left[leg].pop(0), leg) for leg in turns if left[leg]]


counts = st.sets(st.integers(0, 60), max_size=40).map(sorted)
arrivals = st.builds(
    Arrivals,
    st.lists(counts, min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=100),
)


def told(received: Sequence[tuple[int, int]], legs: int) -> int:
    """The first COUNT that neither came nor was passed by every leg."""
    here = {count for count, _ in received}
    passed = min(
        max((count + 1 for count, leg in received if leg == each), default=0)
        for each in range(legs)
    )
    return next(count for count in range(100) if count not in here and count >= passed)


@untimed
@given(arrivals, st.sampled_from(["in-order", "out-of-order"]))
def test_a_count_is_given_up_exactly_when_every_leg_has_passed_it(
    wanted: Arrivals, delivery: Delivery
) -> None:
    entity = receiver(legs=len(wanted.legs), delivery=delivery)
    received: list[tuple[int, int]] = []
    delivered: list[int] = []
    for now, (count, leg) in enumerate(wanted.in_turn()):
        received.append((count, leg))
        delivered += push(entity, count, leg, now)
        here = {count for count, _ in received}
        deliv = told(received, len(wanted.legs))
        assert entity.rx_deliv == deliv
        assert entity.statistics().missing == len(set(range(deliv)) - here)
        if delivery == "in-order":
            assert delivered == sorted(here & set(range(deliv)))


@untimed
@given(
    arrivals,
    st.sampled_from([0, 3, 50]),
    st.lists(st.integers(0, 5), min_size=160, max_size=160),
)
def test_no_count_comes_twice_or_descends_and_a_loss_blocks_t_reordering_at_most(
    wanted: Arrivals, t_reordering: int, later: list[int]
) -> None:
    entity = receiver(legs=len(wanted.legs), t_reordering=t_reordering)
    now = 0
    blocked = 0  # since when RX_DELIV is waited for
    delivered: list[int] = []
    for (count, leg), step in zip(wanted.in_turn(), later, strict=False):
        now += step
        before = entity.rx_deliv
        delivered += entity.poll(now)
        idle = entity.rx_deliv == entity.rx_next
        delivered += push(entity, count, leg, now)
        if before != entity.rx_deliv or idle:
            blocked = now
        if entity.rx_deliv < entity.rx_next:
            end = entity.next_timeout()
            assert end is not None
            assert now < end <= blocked + t_reordering
    delivered += entity.poll(now + 2 * t_reordering)
    assert delivered == sorted(set(delivered))
    assert entity.rx_deliv == entity.rx_next
