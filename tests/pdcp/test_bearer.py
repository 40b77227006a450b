"""A bearer with both its entities, and its timers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    DISCARD_TIMER_MS,
    INFINITE,
    T_REORDERING_MS,
    Pdu,
    ReceivingEntity,
    Timer,
    TransmittingEntity,
    append_trailer,
    make_policy,
    sn_format,
    split_trailer,
)

MS = 1_000_000


DISCARD_TIMER = """
    ms10, ms20, ms30, ms40, ms50, ms60, ms75, ms100, ms150, ms200, ms250, ms300, ms500, ms750,
    ms1500
"""
T_REORDERING_TIMER = """
    ms0, ms1, ms2, ms4, ms5, ms8, ms10, ms15, ms20, ms30, ms40, ms50, ms60, ms80, ms100, ms120,
    ms140, ms160, ms180, ms200, ms220, ms240, ms260, ms280, ms300, ms500, ms750, ms1000, ms1250,
    ms1500, ms1750, ms2000, ms2250, ms2500, ms2750, ms3000
"""
"""The enumerations of TS 38.331 clause 6.3.2, PDCP-Config, but for infinity and spare values."""


@pytest.mark.parametrize(
    ("enumeration", "values"),
    [(T_REORDERING_TIMER, T_REORDERING_MS), (DISCARD_TIMER, DISCARD_TIMER_MS)],
)
def test_the_values_of_timers_are_those_of_the_standard(
    enumeration: str, values: Sequence[int]
) -> None:
    assert [f"ms{value}" for value in values] == enumeration.replace(",", " ").split()


def test_values_of_the_standard_become_nanoseconds() -> None:
    for value in T_REORDERING_MS:
        assert Timer.t_reordering(value) == Timer.t_reordering(float(value)) == Timer(value * MS)
    for value in DISCARD_TIMER_MS:
        assert Timer.discard(value) == Timer(value * MS)
    assert Timer.t_reordering("infinity") == Timer.discard("infinity") == INFINITE == Timer(None)
    assert Timer.t_reordering("adaptive") == Timer(is_adaptive=True) != INFINITE


@pytest.mark.parametrize(
    ("make", "values", "words"),
    [
        (
            Timer.t_reordering,
            (-1, 3, 199, 0.5, "200", "inf"),
            "t-Reordering .* ms: must be one of 0, 1, 2, .*, 3000, infinity, or adaptive",
        ),
        (
            Timer.discard,
            (0, 11, 1501, -1, "adaptive"),
            "discardTimer .* ms: must be one of 10, 20, .*, 1500, infinity$",
        ),
        (Timer, (-1,), "ns = -1 .*0 or more"),
    ],
)
def test_a_timer_of_no_standard_value_is_refused(make: Any, values: Any, words: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=words):
            make(value)


T_REORDERING = 200 * MS

# How long an example takes depends on what else the machine does.
untimed = settings(deadline=None)


def receiver(bits: int, legs: int = 2, first_count: int = 0) -> ReceivingEntity[int]:
    return ReceivingEntity(
        sn_format(bits), t_reordering=Timer(T_REORDERING), legs=legs, first_count=first_count
    )


@pytest.mark.parametrize("bits", [16, 18])
def test_one_lost_pdu_at_25000_a_second_is_exactly_one_missing(bits: int) -> None:
    """Over two seconds, 40 us apart; the kernel's 1,024 packets must not be all there is."""
    entity = receiver(bits)
    lost = 10_000
    delivered: list[int] = []
    for number in range(50_000):
        now = number * 40_000
        if number != lost:
            assert entity.push(Pdu(number, leg=number % 2, sn=number % (1 << bits)), now)
        delivered += entity.poll(now)
    assert delivered == [number for number in range(50_000) if number != lost]
    statistics = entity.statistics()
    assert (statistics.missing, statistics.t_reordering_expiries) == (1, 1)
    assert (statistics.buffered_maximum, statistics.buffered) == (5_000, 0)
    assert (statistics.duplicates, statistics.old) == (0, 0)
    assert statistics.waiting.maximum_ns == T_REORDERING


def carry(
    sender: TransmittingEntity[int],
    receiver: ReceivingEntity[int],
    delays: Sequence[int],
    gaps: Sequence[int],
) -> list[int]:
    """Send one SDU, its number, after each gap (ns) over legs of fixed delays; what comes out."""
    in_flight: list[tuple[int, int, int, int]] = []  # arrival, number, SN, leg
    for number, now in enumerate(itertools.accumulate(gaps)):
        sender.push(number, 1500, now)
        for pdu in sender.poll(now):
            in_flight.append((now + delays[pdu.leg], pdu.sdu, pdu.sn, pdu.leg))
    delivered: list[int] = []
    for arrival, number, sn, leg in sorted(in_flight):
        receiver.push(Pdu(number, leg=leg, sn=sn), arrival)
        delivered += receiver.poll(arrival)
    return delivered


bits = st.sampled_from([12, 16, 18])
first_counts = st.sampled_from([0, 4096 * 64 - 40, 2**32 - 2**18 - 100])
leg_delays = st.lists(st.integers(0, 150 * MS), min_size=2, max_size=3)
send_gaps = st.lists(st.sampled_from([0, 100_000, 600_000, 20 * MS]), max_size=300)


@untimed
@given(bits, first_counts, leg_delays, send_gaps, st.sampled_from(["batch", "duplicate"]))
def test_a_bearer_gives_back_the_original_order_and_every_sdu_once(
    bits: int, first_count: int, delays: list[int], gaps: list[int], policy: str
) -> None:
    legs = len(delays)
    split = make_policy(policy, legs=legs)
    sender = TransmittingEntity[int](sn_format(bits), split, legs=legs, first_count=first_count)
    entity = receiver(bits, legs, first_count)
    assert carry(sender, entity, delays, gaps) == list(range(len(gaps)))
    statistics = entity.statistics()
    copies = len(delays) - 1 if policy == "duplicate" else 0
    assert statistics.duplicates == copies * len(gaps)
    assert statistics.missing == statistics.old == 0
    assert statistics.pdus == sender.statistics().pdus


@pytest.mark.parametrize("bits", [12, 16, 18])
def test_a_datagram_crosses_a_bearer_unchanged(bits: int) -> None:
    sent = bytes.fromhex("450000200001000040114cea0a0000010a000002") + bytes(range(12))
    header_format = sn_format(bits)
    sender = TransmittingEntity[bytes](header_format, make_policy("batch", legs=1), legs=1)
    entity = ReceivingEntity[bytes](header_format, t_reordering=Timer(0), legs=1)
    sender.push(sent, len(sent), 0)
    (pdu,) = sender.poll(0)
    on_the_leg = append_trailer(pdu.sdu, header_format.encode(pdu.sn))
    assert len(on_the_leg) == len(sent) + header_format.size
    header, sdu = split_trailer(on_the_leg, header_format.size)
    entity.push(Pdu(sdu, leg=pdu.leg, sn=header_format.decode(header)), 0)
    assert entity.poll(0) == [sent]
