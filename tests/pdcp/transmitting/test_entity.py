from __future__ import annotations

from collections.abc import Sequence

import pytest

from minitopo_dc.pdcp import (
    LegView,
    Pdu,
    PolicyError,
    TransmittingEntity,
    make_policy,
    sn_format,
)


class Always:
    """A policy with one answer."""

    def __init__(self, *answer: int) -> None:
        self.answer = answer

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return self.answer


@pytest.mark.parametrize("bits", [12, 16, 18])
def test_counts_ascend_and_the_sn_wraps(bits: int) -> None:
    modulus = 1 << bits
    first = 3 * modulus - 2
    policy = make_policy("batch", legs=2, batch=2)
    entity = TransmittingEntity[str](sn_format(bits), policy, legs=2, first_count=first)
    for sdu in "abcd":
        entity.push(sdu, 100, 0)
    assert entity.poll(0) == [
        Pdu(leg=0, count=first, sn=modulus - 2, sdu="a"),
        Pdu(leg=1, count=first + 1, sn=modulus - 1, sdu="b"),
        Pdu(leg=0, count=first + 2, sn=0, sdu="c"),
        Pdu(leg=1, count=first + 3, sn=1, sdu="d"),
    ]
    assert entity.tx_next == first + 4


def test_the_first_count_is_0() -> None:
    entity = TransmittingEntity[str](sn_format(12), make_policy("batch", legs=1), legs=1)
    assert entity.tx_next == 0
    entity.push("a", 1, 0)
    assert [(pdu.count, pdu.sn) for pdu in entity.poll(0)] == [(0, 0)]


def test_a_duplicated_sdu_is_one_pdu_a_leg_with_the_same_count() -> None:
    entity = TransmittingEntity[str](sn_format(12), make_policy("duplicate", legs=3), legs=3)
    entity.push("a", 1, 0)
    entity.push("b", 1, 0)
    pdus = entity.poll(0)
    assert [(pdu.leg, pdu.count, pdu.sdu) for pdu in pdus] == [
        *((leg, 0, "a") for leg in range(3)),
        *((leg, 1, "b") for leg in range(3)),
    ]


def test_pdus_are_polled_once_and_nothing_is_waited_for() -> None:
    entity = TransmittingEntity[str](sn_format(12), make_policy("batch", legs=2), legs=2)
    entity.push("a", 1, 0)
    assert entity.next_timeout() is None
    assert len(entity.poll(0)) == 1
    assert entity.poll(0) == []


def test_statistics_count_sdus_pdus_and_bytes_per_leg() -> None:
    policy = make_policy("batch", legs=2, batch=3, ratio=[2, 1])
    entity = TransmittingEntity[None](sn_format(18), policy, legs=2, first_count=7)
    for size in (10, 20, 30, 40):
        entity.push(None, size, 0)
    statistics = entity.statistics()
    assert (statistics.sdus, statistics.pdus, statistics.bytes) == (4, (3, 1), (70, 30))


def test_a_leg_without_pdus_is_in_the_statistics() -> None:
    policy = make_policy("batch", legs=2, ratio=[1, 0])
    entity = TransmittingEntity[None](sn_format(18), policy, legs=2)
    entity.push(None, 10, 0)
    assert entity.statistics().pdus == (1, 0)
    duplicating = TransmittingEntity[None](sn_format(18), make_policy("duplicate", legs=2), legs=2)
    duplicating.push(None, 10, 0)
    assert (duplicating.statistics().sdus, duplicating.statistics().bytes) == (1, (10, 10))


def test_an_sdu_that_a_policy_drops_uses_up_its_count() -> None:
    entity = TransmittingEntity[str](sn_format(12), Always(), legs=2)
    entity.push("a", 1, 0)
    assert entity.poll(0) == []
    assert (entity.tx_next, entity.statistics().pdus) == (1, (0, 0))


def test_a_policy_that_names_a_leg_that_does_not_exist_is_told_so() -> None:
    entity = TransmittingEntity[str](sn_format(12), Always(0, 2), legs=2)
    words = r"split policy Always answered \(0, 2\), must be a tuple of legs, each 0 to 1"
    with pytest.raises(PolicyError, match=words):
        entity.push("a", 1, 0)
