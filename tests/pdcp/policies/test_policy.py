"""Split policies: the papers', least delay, a user's own, and their errors."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    LeastDelayPolicy,
    LegView,
    PolicyError,
    SplitPolicy,
    TransmittingEntity,
    make_policy,
    policy_names,
    sees_legs,
    sn_format,
    split_policy,
)
from tests import REPOSITORY
from tests.pdcp.views import WrittenLeg


@split_policy("test-round-robin")
class RoundRobin:
    def __init__(self, legs: int, *, first: int = 0) -> None:
        turns = [((first + turn) % legs,) for turn in range(legs)]
        self._turns = itertools.cycle(turns)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return next(self._turns)


def runs(policy: SplitPolicy, packets: int) -> list[tuple[int, int]]:
    """(leg, packets in a row) for so many packets."""
    legs = [policy.legs(now=now, size=1500, views=()) for now in range(packets)]
    return [(leg, len(list(group))) for (leg,), group in itertools.groupby(legs)]


@pytest.mark.parametrize(
    ("parameters", "cycle"),
    [
        ({}, [50, 50]),
        ({"batch": 100, "ratio": [1, 1]}, [50, 50]),
        ({"batch": 100, "ratio": [9, 1]}, [90, 10]),
        ({"batch": 2}, [1, 1]),
        ({"batch": 500, "ratio": (4, 1)}, [400, 100]),
        ({"batch": 100, "ratio": [1, 1, 2]}, [25, 25, 50]),
        ({"batch": 100, "ratio": [1, 1, 1]}, [34, 33, 33]),
        ({"batch": 100, "ratio": [2.3, 1]}, [70, 30]),  # thesis table 5.4: 70 %
        ({"batch": 100, "ratio": [1, 1.5]}, [40, 60]),  # thesis table 5.4: 40 %
        ({"batch": 10, "ratio": [0.1, 0.3]}, [3, 7]),  # 2.5 and 7.5: the lower leg is rounded up
    ],
)
def test_a_batch_is_one_cycle_over_the_legs(parameters: dict[str, Any], cycle: list[int]) -> None:
    policy = make_policy("batch", legs=len(cycle), **parameters)
    assert runs(policy, 3 * sum(cycle)) == list(enumerate(cycle)) * 3


@pytest.mark.parametrize(("ratio", "leg"), [((1, 0), 0), ((0, 1), 1), ((0, 0.5, 0), 1)])
def test_a_ratio_of_zero_sends_nothing_on_that_leg(ratio: Sequence[float], leg: int) -> None:
    assert runs(make_policy("batch", legs=len(ratio), ratio=ratio), 250) == [(leg, 250)]


@pytest.mark.parametrize(("ratio", "leg"), [((1, 1), 0), ((2, 3), 1), ((1, 3, 3), 1)])
def test_batch_1_stays_on_the_leg_with_the_highest_ratio(ratio: Sequence[int], leg: int) -> None:
    policy = make_policy("batch", legs=len(ratio), batch=1, ratio=ratio)
    assert runs(policy, 20) == [(leg, 20)]


def test_one_leg_gets_everything() -> None:
    assert runs(make_policy("batch", legs=1), 250) == [(0, 250)]


@given(
    st.integers(1, 300),
    st.lists(st.floats(0, 1e6) | st.integers(0, 9), min_size=1, max_size=5).filter(any),
)
def test_shares_add_up_to_the_batch_and_miss_the_ratio_by_less_than_one(
    batch: int, ratio: list[float]
) -> None:
    policy = make_policy("batch", legs=len(ratio), batch=batch, ratio=ratio)
    sent = Counter(policy.legs(now=0, size=1, views=()) for _ in range(batch))
    assert sum(sent.values()) == batch
    for leg, part in enumerate(ratio):
        assert abs(sent[(leg,)] - batch * part / sum(ratio)) < 1 + 1e-6


def test_duplicate_sends_every_packet_on_all_legs() -> None:
    policy = make_policy("duplicate", legs=3)
    assert {policy.legs(now=now, size=40, views=()) for now in range(10)} == {(0, 1, 2)}


def test_a_user_adds_a_policy_by_registering_a_class() -> None:
    policy = make_policy("test-round-robin", legs=3, first=1)
    entity = TransmittingEntity[str](sn_format(18), policy, legs=3)
    for sdu in "abcd":
        entity.push(sdu, 1, 0)
    assert [(pdu.leg, pdu.sdu) for pdu in entity.poll(0)] == [
        (1, "a"),
        (2, "b"),
        (0, "c"),
        (1, "d"),
    ]


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    known = ", ".join(policy_names())
    assert {"batch", "duplicate"} < set(policy_names())
    with pytest.raises(PolicyError, match=f"no split policy 'bacth': must be one of {known}"):
        make_policy("bacth", legs=2)


def test_an_unknown_parameter_is_refused_with_the_policys_own() -> None:
    with pytest.raises(PolicyError, match=r"'batch': .*'ration'; its parameters: batch, ratio"):
        make_policy("batch", legs=2, ration=[1, 1])
    with pytest.raises(PolicyError, match=r"'duplicate': .*'batch'; its parameters: none"):
        make_policy("duplicate", legs=2, batch=100)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"batch": 0}, "batch is 0, must be a whole number >= 1"),
        ({"batch": 2.5}, "batch is 2.5, must be a whole number >= 1"),
        ({"ratio": [1]}, "list of 2 numbers"),
        ({"ratio": [1, 1, 1]}, "list of 2 numbers"),
        ({"ratio": "91"}, "list of 2 numbers"),
        ({"ratio": 9}, "list of 2 numbers"),
        ({"ratio": [1, -1]}, "finite numbers >= 0"),
        ({"ratio": [1, float("nan")]}, "finite numbers >= 0"),
        ({"ratio": [1, float("inf")]}, "finite numbers >= 0"),
        ({"ratio": ["1", "1"]}, "finite numbers >= 0"),
        ({"ratio": [0, 0]}, "above 0 for at least one leg"),
    ],
)
def test_a_batch_or_ratio_that_cannot_be_is_refused(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        make_policy("batch", legs=2, **parameters)


class OfOldKind:
    def __init__(self, legs: int) -> None: ...

    def legs(self, size: int, now: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return (0,)


class Lacking:
    def __init__(self, legs: int) -> None: ...

    def legs(self, *, size: int, now: int) -> tuple[int, ...]:  # noqa: ARG002
        return (0,)


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (OfOldKind, "can be given by position"),
        (Lacking, "got an unexpected keyword argument 'views'"),
    ],
)
def test_a_policy_whose_method_takes_other_arguments_is_refused_as_it_is_registered(
    policy: Any, fault: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        split_policy("test-other-arguments")(policy)
    told = str(caught.value)
    assert told.startswith("split policy 'test-other-arguments': legs(self, ")
    assert fault in told
    assert told.endswith(
        'must be legs(self, *, now, size, views), see "Plugins of version 0.1" in docs/plugins.md'
    )
    assert "test-other-arguments" not in policy_names()


def test_a_policy_that_a_function_makes_is_refused_when_it_is_made() -> None:
    def made(legs: int) -> Any:
        return OfOldKind(legs)

    split_policy("test-made-by-a-function")(made)
    with pytest.raises(PolicyError, match=r'see "Plugins of version 0\.1" in docs/plugins\.md'):
        make_policy("test-made-by-a-function", legs=2)


def test_a_class_whose_constructor_takes_nothing_is_told_what_it_gets() -> None:
    @split_policy("bare")
    class Bare:
        def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
            return (1,) if views[0].takes(now=now, size=size) else ()

    with pytest.raises(PolicyError, match=r"'bare': .*def __init__\(self, legs: int\)"):
        make_policy("bare", legs=2)


def test_a_bearer_has_at_least_one_leg() -> None:
    with pytest.raises(PolicyError, match="legs is 0"):
        make_policy("duplicate", legs=0)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(PolicyError, match="there is a split policy 'duplicate' already"):
        split_policy("duplicate")(RoundRobin)


def test_the_policy_of_the_documentation_works() -> None:
    page = (REPOSITORY / "docs" / "split-policies.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    exec(example, {})
    policy = make_policy("fixed-share", legs=2, percent=70)
    legs = [policy.legs(now=0, size=1500, views=()) for _ in range(10)]
    assert legs.count((0,)) == 7
    assert legs.count((1,)) == 3


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
