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
    sn_format,
    split_policy,
)
from minitopo_dc.pdcp.policies.policy import policy_names
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


@pytest.mark.parametrize(
    ("parameters", "leg"),
    [
        *(({"ratio": [1, 0]}, 0), ({"ratio": [0, 1]}, 1), ({"ratio": [0, 0.5, 0]}, 1)),
        *(({"ratio": [1]}, 0), ({"batch": 1, "ratio": [1, 1]}, 0)),
        *(({"batch": 1, "ratio": [2, 3]}, 1), ({"batch": 1, "ratio": [1, 3, 3]}, 1)),
    ],
)
def test_a_ratio_of_zero_and_a_batch_of_one_leave_one_leg(
    parameters: dict[str, Any], leg: int
) -> None:
    policy = make_policy("batch", legs=len(parameters["ratio"]), **parameters)
    assert runs(policy, 250) == [(leg, 250)]


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


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("batch", {"ration": [1, 1]}, r"'batch': .*'ration'; its parameters: batch, ratio"),
        ("duplicate", {"batch": 100}, r"'duplicate': .*'batch'; its parameters: none"),
        ("duplicate", {"legs": 0}, "legs is 0"),
        ("batch", {"batch": 0}, "batch is 0, must be a whole number >= 1"),
        ("batch", {"batch": 2.5}, "batch is 2.5, must be a whole number >= 1"),
        ("batch", {"ratio": [1, 1, 1]}, "list of 2 numbers"),
        ("batch", {"ratio": "91"}, "list of 2 numbers"),
        ("batch", {"ratio": 9}, "list of 2 numbers"),
        ("batch", {"ratio": [1, -1]}, "finite numbers >= 0"),
        ("batch", {"ratio": [1, float("nan")]}, "finite numbers >= 0"),
        ("batch", {"ratio": [1, float("inf")]}, "finite numbers >= 0"),
        ("batch", {"ratio": ["1", "1"]}, "finite numbers >= 0"),
        ("batch", {"ratio": [0, 0]}, "above 0 for at least one leg"),
    ],
)
def test_what_a_policy_does_not_take_is_refused(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        make_policy(name, **{"legs": 2} | parameters)


class Positional:
    def __init__(self, legs: int) -> None: ...

    def legs(self, size: int, now: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return (0,)


class Lacking(Positional):
    def legs(self, *, size: int, now: int) -> tuple[int, ...]:  # type: ignore[override]  # noqa: ARG002
        return (0,)


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (Positional, "can be given by position"),
        (Lacking, "got an unexpected keyword argument 'views'"),
    ],
)
def test_a_policy_whose_method_takes_other_arguments_is_refused_as_it_is_registered(
    policy: Any, fault: str
) -> None:
    words = (
        rf"^split policy 'test-other-arguments': legs\(self, .*{fault}.*must be legs\(self, \*, "
    )
    with pytest.raises(PolicyError, match=words):
        split_policy("test-other-arguments")(policy)
    assert "test-other-arguments" not in policy_names()


def test_a_policy_that_a_function_makes_is_refused_when_it_is_made() -> None:
    def made(legs: int) -> Any:
        return Positional(legs)

    split_policy("test-made-by-a-function")(made)
    with pytest.raises(PolicyError, match=r"must be legs\(self, \*, now"):
        make_policy("test-made-by-a-function", legs=2)


def test_a_class_whose_constructor_takes_nothing_is_told_what_it_gets() -> None:
    @split_policy("bare")
    class Bare:
        def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
            return (1,) if views[0].takes(now=now, size=size) else ()

    with pytest.raises(PolicyError, match=r"'bare': .*def __init__\(self, legs: int\)"):
        make_policy("bare", legs=2)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(PolicyError, match="'duplicate'"):
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
