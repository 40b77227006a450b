"""Selective duplication: which SDUs go on all legs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import DuplicationRule, LegReport, PacketFacts, SelectiveDuplication
from minitopo_dc.pdcp.classify import PacketKind, Segment
from minitopo_dc.pdcp.transmitting.duplication import MAX_FLOWS
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from tests.pdcp.views import WrittenLeg

KINDS = {kind: PacketFacts(kind=kind) for kind in PacketKind}
SMALL = {"ack": True, "small_bytes": 90}
LATE = {"deadline_ns": 2000}


@pytest.mark.parametrize(
    ("rule", "facts", "size", "leg", "duplicates"),
    [
        *(
            ({"handshake": True}, facts, 40, WrittenLeg(), kind is PacketKind.HANDSHAKE)
            for kind, facts in KINDS.items()
        ),
        # Acknowledgements are TCP's and small UDP.
        (SMALL, KINDS[PacketKind.ACK], 120, WrittenLeg(), True),
        (SMALL, KINDS[PacketKind.UDP], 90, WrittenLeg(), True),
        (SMALL, KINDS[PacketKind.UDP], 91, WrittenLeg(), False),
        (SMALL, KINDS[PacketKind.OTHER], 40, WrittenLeg(), False),
        (SMALL, KINDS[PacketKind.HANDSHAKE], 40, WrittenLeg(), False),
        ({"below_bytes": 300}, None, 299, WrittenLeg(), True),
        ({"below_bytes": 300}, None, 300, WrittenLeg(), False),
        ({"dscp": frozenset({46})}, PacketFacts(dscp=46), 1500, WrittenLeg(), True),
        ({"dscp": frozenset({46})}, PacketFacts(dscp=45), 1500, WrittenLeg(), False),
        (LATE, None, 1500, WrittenLeg(backlog=400, mean_delay_ns=100), False),
        (LATE, None, 1500, WrittenLeg(backlog=401, mean_delay_ns=100), True),
        (LATE, None, 1500, WrittenLeg(ns_per_byte=None), True),
    ],
)
def test_an_sdu_of_leg_2_is_put_on_both_by_a_rule(
    rule: dict[str, Any], facts: PacketFacts | None, size: int, leg: WrittenLeg, duplicates: bool
) -> None:
    duplication = SelectiveDuplication(DuplicationRule(**rule), 2)
    legs = duplication.legs((1,), now=0, size=size, views=(WrittenLeg(), leg), facts=facts)
    assert legs == ((0, 1) if duplicates else (1,))


def test_of_several_chosen_legs_one_that_is_in_time_is_enough() -> None:
    views = (WrittenLeg(backlog=10**6), WrittenLeg(), WrittenLeg())
    rule = DuplicationRule(deadline_ns=2000)
    for chosen, answer in (((0, 1), (0, 1)), ((0,), (0, 1, 2))):
        duplication = SelectiveDuplication(rule, 3)
        assert duplication.legs(chosen, now=0, size=1500, views=views) == answer


def reported(leg: WrittenLeg, at_ms: int, delivered: int, lost: int) -> None:
    leg.report = LegReport(at_ms * NS_PER_MS, None, delivered, 0, lost, 0, 0)


def test_a_lossy_leg_s_packets_are_duplicated_as_long_as_it_loses() -> None:
    duplication = SelectiveDuplication(DuplicationRule(loss_percent=2), 2)
    good, bad = WrittenLeg(), WrittenLeg()
    assert duplication.legs((1,), now=0, size=1500, views=(good, bad)) == (1,)  # before any report
    reported(good, 20, 100, 0)
    reported(bad, 20, 97, 3)
    assert duplication.legs((1,), now=0, size=1500, views=(good, bad)) == (0, 1)
    assert duplication.legs((0,), now=0, size=1500, views=(good, bad)) == (0,)
    reported(good, 40, 100, 0)
    reported(bad, 40, 197, 3)
    assert duplication.legs((1,), now=0, size=1500, views=(good, bad)) == (1,)  # 1.5 % by now


def test_old_losses_are_forgotten() -> None:
    duplication = SelectiveDuplication(DuplicationRule(loss_percent=2), 1)
    leg = WrittenLeg()
    for second in range(10):
        reported(leg, second * 1000, 10 + second, 100)
        duplication.legs((0,), now=second * NS_PER_S, size=1500, views=(leg,))
    assert duplication._losses.percent(0) < 2


def segment(sequence: int, length: int = 1000, flow: bytes = b"flow") -> PacketFacts:
    return PacketFacts(segment=Segment(flow, sequence % 2**32, length))


@pytest.mark.parametrize("start", [0, 2**32 - 1500])
def test_tcp_segments_that_were_sent_before_are_retransmissions(start: int) -> None:
    duplication = SelectiveDuplication(DuplicationRule(retransmissions=True), 2)

    def again(facts: PacketFacts) -> bool:
        return duplication.legs((0,), now=0, size=1500, views=(), facts=facts) == (0, 1)

    assert [again(segment(start + at)) for at in (0, 1000, 2000)] == [False] * 3
    assert again(segment(start + 1000))
    assert not again(segment(start + 3000))
    assert not again(segment(start + 1000, flow=b"other"))
    assert not again(segment(start + 1000, length=0))  # an acknowledgement
    assert not again(PacketFacts())
    assert again(segment(start + 3500))  # the end of the last one again, and more
    assert not again(segment(start + 4500))


def test_flows_without_number_are_remembered_for_a_while_only() -> None:
    duplication = SelectiveDuplication(DuplicationRule(retransmissions=True), 2)
    for number in range(2 * MAX_FLOWS):
        duplication.legs(
            (0,), now=0, size=1500, views=(), facts=segment(0, flow=number.to_bytes(4, "big"))
        )
    assert len(duplication._sent._next) == MAX_FLOWS


def test_those_on_more_legs_than_the_split_named_are_counted() -> None:
    duplication = SelectiveDuplication(DuplicationRule(below_bytes=1000), 2)
    for chosen, size in (((0,), 100), ((0,), 1500), ((0, 1), 100)):
        duplication.legs(chosen, now=0, size=size, views=())
    assert duplication.duplicated == 1


@pytest.mark.parametrize(
    ("rule", "facts", "legs"),
    [
        ({"handshake": True}, True, False),
        ({"ack": True}, True, False),
        ({"dscp": frozenset({0})}, True, False),
        ({"retransmissions": True}, True, False),
        ({"below_bytes": 100}, False, False),
        ({"loss_percent": 0}, False, True),
        ({"deadline_ns": 1}, False, True),
    ],
)
def test_a_rule_says_what_it_needs(rule: dict[str, Any], facts: bool, legs: bool) -> None:
    made = DuplicationRule(**rule)
    assert (made.needs_facts, made.sees_legs) == (facts, legs)


@given(
    rule=st.builds(
        DuplicationRule,
        handshake=st.booleans(),
        ack=st.booleans(),
        below_bytes=st.none() | st.integers(1, 2000),
        dscp=st.frozensets(st.integers(0, 63)),
        retransmissions=st.booleans(),
        loss_percent=st.none() | st.floats(0, 100),
        deadline_ns=st.none() | st.integers(1, 10**6),
    ),
    up=st.lists(st.booleans(), min_size=3, max_size=3),
    chosen=st.sets(st.integers(0, 2)),
    facts=st.builds(PacketFacts, st.integers(0, 63), st.sampled_from(PacketKind)),
    size=st.integers(20, 1500),
)
def test_an_answer_is_the_chosen_legs_or_these_and_all_that_are_up(
    rule: DuplicationRule, up: list[bool], chosen: set[int], facts: PacketFacts, size: int
) -> None:
    split = tuple(sorted(chosen))
    views = tuple(WrittenLeg(is_up=each) for each in up)
    answer = SelectiveDuplication(rule, 3).legs(split, now=0, size=size, views=views, facts=facts)
    everywhere = tuple(sorted(chosen | {leg for leg in range(3) if up[leg]}))
    assert answer in ({split, everywhere} if split else {()})
