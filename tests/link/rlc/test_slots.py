"""The grid of slots, and what each of them carries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import Capacity, RlcParameters, make_capacity
from minitopo_dc.link.rlc.harq import Slots
from minitopo_dc.trace import OpportunityTrace, RateTrace

MS = 10**6
GAP = RateTrace("gap", (0, 3 * MS, 1000 * MS), (8_000_000, 0, 4_000_000), 1001 * MS)


def slots(capacity: Capacity, zero: int = 0) -> Slots:
    return Slots(capacity, RlcParameters(), zero)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_the_next_slot_begins_within_a_slot(zero: int, now: int) -> None:
    grid = slots(make_capacity(1000), zero)
    assert now <= grid.following(now) < now + MS
    assert (grid.following(now) - zero) % MS == 0


@given(st.integers(1, 10**10), st.integers(1, 2000))
def test_no_bit_is_lost_between_slots(rate: int, count: int) -> None:
    grid = slots(make_capacity(rate))
    assert sum(grid.bits(number * MS) for number in range(count)) == rate * count // 1000


def test_a_slot_that_carries_a_bit_of_a_slow_capacity_is_the_one_in_which_it_is_complete() -> None:
    grid = slots(make_capacity(100))  # a bit each 10 ms
    carrying = [number for number in range(100) if grid.bits(number * MS)]
    assert carrying == list(range(9, 100, 10))
    assert [grid.carrying(number * MS) for number in (0, 9, 10)] == [9 * MS, 9 * MS, 19 * MS]


@given(st.integers(0, 60))
def test_an_opportunity_is_in_the_slot_that_begins_with_it(number: int) -> None:
    capacity = make_capacity(OpportunityTrace("t", (3, 20)))
    found = slots(capacity).carrying(number * MS)
    later = [at for at in (3, 20, 23, 40, 43, 60, 63) if at >= number]
    assert found == later[0] * MS


def test_a_capacity_that_has_ended_carries_nothing_more() -> None:
    grid = slots(make_capacity(RateTrace("t", (0,), (1_000_000,), 5 * MS), "stop"))
    assert grid.carrying(4 * MS) == 4 * MS
    assert grid.carrying(5 * MS) is None
