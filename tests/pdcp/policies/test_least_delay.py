"""Policy least-delay, with legs that are written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import LeastDelayPolicy, PolicyError, make_policy, sees_legs
from tests.pdcp.views import WrittenLeg

legs = st.lists(
    st.builds(
        WrittenLeg,
        backlog=st.integers(0, 10),
        ns_per_byte=st.none() | st.integers(1, 4),
        mean_delay_ns=st.integers(0, 20),
        room=st.booleans(),
    ),
    min_size=1,
    max_size=5,
)


def chosen(*views: WrittenLeg, size: int = 10) -> int:
    (leg,) = make_policy("least-delay", legs=len(views)).legs(now=0, size=size, views=views)
    return leg


def test_it_sees_its_legs_and_has_no_parameters() -> None:
    assert sees_legs(make_policy("least-delay", legs=2))
    with pytest.raises(PolicyError, match=r"'least-delay': .*; its parameters: none"):
        make_policy("least-delay", legs=2, batch=100)


def test_the_leg_with_the_shorter_backlog_is_taken() -> None:
    assert chosen(WrittenLeg(backlog=2), WrittenLeg(backlog=1)) == 1


def test_a_slow_leg_s_own_serialisation_counts() -> None:
    slow, fast = WrittenLeg(ns_per_byte=3), WrittenLeg(ns_per_byte=1, mean_delay_ns=15)
    assert chosen(slow, fast, size=7) == 0  # 21 ns against 22
    assert chosen(slow, fast, size=8) == 1  # 24 ns against 23


def test_the_delay_behind_the_queue_counts() -> None:
    near, far = WrittenLeg(backlog=29), WrittenLeg(mean_delay_ns=30)
    assert chosen(near, far) == 0
    assert chosen(WrittenLeg(backlog=31), far) == 1


def test_of_equals_the_lower_leg_is_taken() -> None:
    assert chosen(WrittenLeg(backlog=1), WrittenLeg(), WrittenLeg()) == 1


def test_a_leg_of_which_no_time_is_known_is_left_out() -> None:
    assert chosen(WrittenLeg(ns_per_byte=None), WrittenLeg(backlog=10**6)) == 1


def test_when_no_time_is_known_of_any_leg_the_first_is_taken() -> None:
    assert chosen(WrittenLeg(ns_per_byte=None, backlog=5), WrittenLeg(ns_per_byte=None)) == 0


def test_a_full_leg_is_taken_only_when_all_are_full() -> None:
    full, later = WrittenLeg(room=False), WrittenLeg(backlog=100)
    assert chosen(full, later) == 1
    assert chosen(full, WrittenLeg(backlog=100, room=False)) == 0


@given(legs, st.integers(1, 10))
def test_no_other_leg_is_expected_to_bring_the_packet_sooner(
    views: list[WrittenLeg], size: int
) -> None:
    (leg,) = LeastDelayPolicy(len(views)).legs(now=0, size=size, views=views)
    known = [view for view in views if view.ns_per_byte is not None]
    candidates = [view for view in known if view.room] or known
    if not candidates:
        assert leg == 0
        return

    def arrival(view: WrittenLeg) -> int:
        drain = view.drain_ns(now=0, more=size)
        assert drain is not None
        return drain + view.mean_delay_ns

    best = min(candidates, key=arrival)
    assert any(view is best for view in views[: leg + 1])
    assert views[leg] is best


def waiting(*views: WrittenLeg, size: int = 10, pending: int = 0) -> tuple[int, ...]:
    for view in views:
        view.may_wait, view.pending_bytes = True, pending
    return make_policy("least-delay", legs=len(views)).legs(now=0, size=size, views=views)


def test_where_sdus_wait_the_best_leg_is_taken_if_it_takes() -> None:
    assert waiting(WrittenLeg(mean_delay_ns=9), WrittenLeg(), pending=10**6) == (1,)


def test_a_farther_leg_is_taken_only_if_the_best_alone_would_end_no_sooner() -> None:
    def legs() -> tuple[WrittenLeg, WrittenLeg]:
        return WrittenLeg(room=False), WrittenLeg(mean_delay_ns=100)  # 10 and 110 ns

    assert waiting(*legs(), pending=0) == ()
    assert waiting(*legs(), pending=99) == ()
    assert waiting(*legs(), pending=100) == (1,)


def test_when_no_leg_takes_the_sdu_waits() -> None:
    assert waiting(WrittenLeg(room=False), WrittenLeg(room=False), pending=10**6) == ()


def test_a_leg_that_equals_the_best_is_taken_at_once() -> None:
    assert waiting(WrittenLeg(room=False), WrittenLeg()) == (1,)


def test_a_leg_of_rate_0_is_not_waited_for() -> None:
    assert waiting(WrittenLeg(ns_per_byte=None), WrittenLeg(mean_delay_ns=999)) == (1,)
    assert waiting(WrittenLeg(ns_per_byte=None), WrittenLeg(ns_per_byte=None)) == (0,)
