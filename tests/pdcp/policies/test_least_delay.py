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


def test_it_sees_its_legs_and_has_no_parameters() -> None:
    assert sees_legs(make_policy("least-delay", legs=2))
    with pytest.raises(PolicyError, match=r"'least-delay': .*; its parameters: none"):
        make_policy("least-delay", legs=2, batch=100)


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
