"""The transmitting entity, and what a policy sees of its legs."""

from __future__ import annotations

from typing import ClassVar

import pytest

from minitopo_dc.pdcp import (
    DuplicationRule,
    LegReception,
    PacketFacts,
    Pdu,
    PolicyError,
    Recovery,
    Report,
    SduBuffer,
    SelectiveDuplication,
    TransmittingEntity,
    make_policy,
    sn_format,
)
from minitopo_dc.pdcp.classify import PacketKind
from minitopo_dc.pdcp.report import encode_report
from tests.pdcp.bearers import Answers
from tests.pdcp.views import WrittenLeg


class Blind(Answers):
    """It does not say that it looks."""

    sees_legs: ClassVar[bool] = False


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


def test_a_duplicated_sdu_is_one_pdu_a_leg_with_the_same_count() -> None:
    entity = TransmittingEntity[str](sn_format(12), make_policy("duplicate", legs=3), legs=3)
    entity.push("a", 1, 0)
    entity.push("b", 1, 0)
    pdus = entity.poll(0)
    assert [(pdu.leg, pdu.count, pdu.sdu) for pdu in pdus] == [
        *((leg, 0, "a") for leg in range(3)),
        *((leg, 1, "b") for leg in range(3)),
    ]


def test_statistics_count_sdus_pdus_and_bytes_per_leg() -> None:
    policy = make_policy("batch", legs=3, batch=3, ratio=[2, 1, 0])
    entity = TransmittingEntity[None](sn_format(18), policy, legs=3, first_count=7)
    for size in (10, 20, 30, 40):
        entity.push(None, size, 0)
    statistics = entity.statistics()
    assert (statistics.sdus, statistics.pdus, statistics.bytes) == (4, (3, 1, 0), (70, 30, 0))
    assert entity.next_timeout() is None
    assert [len(entity.poll(0)) for _ in range(2)] == [4, 0]


@pytest.mark.parametrize("waits", [False, True])
def test_an_sdu_that_a_rule_names_goes_on_all_legs(waits: bool) -> None:
    rule = SelectiveDuplication(DuplicationRule(below_bytes=300, handshake=True), 2)
    entity = TransmittingEntity[str](
        sn_format(12),
        make_policy("batch", legs=2, batch=10),
        legs=2,
        states=[WrittenLeg(), WrittenLeg()],
        waiting=SduBuffer() if waits else None,
        duplication=rule,
    )
    handshake = PacketFacts(kind=PacketKind.HANDSHAKE)
    for sdu, size, facts in (("big", 300, None), ("small", 299, None), ("begin", 300, handshake)):
        entity.push(sdu, size, 0, facts)
    sent = []
    while pdus := entity.poll(0):
        sent += [(pdu.sdu, pdu.leg, pdu.count) for pdu in pdus]
    assert sent == [
        *(("big", 0, 0), ("small", 0, 1), ("small", 1, 1)),
        *(("begin", 0, 2), ("begin", 1, 2)),
    ]
    assert entity.needs_facts


def test_only_a_rule_about_headers_needs_facts() -> None:
    plain = TransmittingEntity[str](sn_format(12), make_policy("duplicate", legs=2), legs=2)
    small = TransmittingEntity[str](
        sn_format(12),
        make_policy("duplicate", legs=2),
        legs=2,
        duplication=SelectiveDuplication(DuplicationRule(below_bytes=300), 2),
    )
    assert not plain.needs_facts
    assert not small.needs_facts


def test_data_recovery_keeps_the_latest_pdus_of_a_leg() -> None:
    recovery = Recovery[str](2, most=2, discard_timer=None)
    for count, sdu in enumerate("abc"):
        recovery.sent(1, Pdu(sdu, 100, count=count))
    recovery.leg_lost(1, {0, 1, 2}, 0)
    again = []
    while (first := recovery.first(0)) is not None:
        again.append(first.sdu)
        recovery.pop()
    assert (again, recovery.resent, recovery.has_more) == (["b", "c"], 2, False)


def test_a_pdu_is_sent_again_until_its_discard_timer_ends() -> None:
    recovery = Recovery[str](2, most=2, discard_timer=10)
    recovery.sent(1, Pdu("a", 100, count=0, arrived=8))
    recovery.leg_lost(1, {0}, 0)
    first = recovery.first(17)
    assert first is not None
    assert first.sdu == "a"
    assert recovery.first(18) is None
    assert recovery.not_resent == 1


def test_an_sdu_that_a_policy_drops_uses_up_its_count() -> None:
    entity = TransmittingEntity[str](sn_format(12), Blind(), legs=2)
    entity.push("a", 1, 0)
    assert entity.poll(0) == []
    assert (entity.tx_next, entity.statistics().pdus) == (1, (0, 0))


def test_a_policy_that_names_a_leg_that_does_not_exist_is_told_so() -> None:
    entity = TransmittingEntity[str](sn_format(12), Blind(0, 2), legs=2)
    words = r"split policy Blind answered \(0, 2\), must be a tuple of legs, each 0 to 1"
    with pytest.raises(PolicyError, match=words):
        entity.push("a", 1, 0)


def bearer(policy: Answers, *states: WrittenLeg, reports: bool = False) -> TransmittingEntity[str]:
    return TransmittingEntity(sn_format(12), policy, legs=2, states=states, reports=reports)


def test_a_policy_is_shown_each_leg_as_it_is_now() -> None:
    policy, legs = Answers(1), (WrittenLeg(mean_delay_ns=5), WrittenLeg(ns_per_byte=2))
    entity = bearer(policy, *legs)
    entity.push("a", 100, 0)
    shown = first, second = policy.shown
    assert (first.mean_delay_ns, second.mean_delay_ns) == (5, 0)
    assert (second.drain_ns(now=0), second.drain_ns(now=0, more=100)) == (0, 200)
    legs[1].backlog, legs[1].is_up, legs[1].room = 7, False, False
    assert (second.backlog_bytes(now=0), second.drain_ns(now=0)) == (7, 14)
    assert (first.is_up, second.is_up) == (True, False)
    assert (first.has_room(now=0, size=100), second.has_room(now=0, size=100)) == (True, False)
    entity.push("a", 50, 0)
    assert policy.shown is shown
    assert [(view.sent_pdus, view.sent_bytes) for view in shown] == [(0, 0), (2, 150)]
    assert entity.feedback is None
    assert [view.report for view in shown] == [None, None]


def test_a_policy_that_does_not_look_is_shown_nothing() -> None:
    policy = Blind(1)
    bearer(policy, WrittenLeg(), WrittenLeg()).push("a", 100, 0)
    assert policy.shown == ()


def test_a_policy_that_looks_is_refused_where_legs_cannot_be_seen() -> None:
    with pytest.raises(PolicyError, match=r"Answers .*2, 0"):
        bearer(Answers(1))


def test_a_view_has_the_latest_report_and_none_before_the_first() -> None:
    policy = Answers(1)
    entity = bearer(policy, WrittenLeg(), WrittenLeg(), reports=True)
    for _ in range(3):
        entity.push("a", 100, 0)
    view = policy.shown[1]
    assert view.report is None
    assert entity.feedback is not None
    nothing, some = LegReception(0, 0, 0, 0, 0), LegReception(3, 2, 200, 1, 9)
    entity.feedback.push(encode_report(Report(1, (nothing, some))), 77)
    assert view.report is not None
    assert (view.report.at, view.report.delivered_pdus, view.report.lost_pdus) == (77, 2, 1)


@pytest.mark.parametrize(("policy", "made"), [("batch", 1), ("duplicate", 2)])
def test_an_sdu_is_made_a_pdu_once_for_each_leg(policy: str, made: int) -> None:
    sizes: list[int] = []

    def make(sdu: str, size: int) -> Pdu[str]:
        sizes.append(size)
        return Pdu(sdu, size)

    entity = TransmittingEntity[str](
        sn_format(12), make_policy(policy, legs=2), legs=2, make_pdu=make
    )
    entity.push("a", 100, 0)
    assert [(pdu.sdu, pdu.count) for pdu in entity.poll(0)] == [("a", 0)] * made
    assert sizes == [100] * made
