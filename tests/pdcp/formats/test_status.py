"""The PDCP status report: its bytes, what the entity says in it, what the transmitter hears."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    INFINITE,
    Delivery,
    Feedback,
    LegReception,
    Pdu,
    PduError,
    ReceivingEntity,
    Report,
    ReportMaker,
    StatusReport,
    Timer,
    decode_report,
    sn_format,
)
from minitopo_dc.pdcp.report import decode_status, encode_report, encode_status

MS = 1_000_000
# How long an example takes depends on what else the machine does.
untimed = settings(deadline=None)


def test_the_pdu_is_the_clause_s_bit_by_bit() -> None:
    status = StatusReport.of(0x01020304, [0x01020305, 0x01020307, 0x0102030D])
    assert encode_status(status) == bytes([0, 1, 2, 3, 4, 0b10100000, 0b10000000])
    assert encode_status(StatusReport.of(7, [])) == bytes([0, 0, 0, 0, 7])


@given(st.binary(max_size=60) | st.binary(min_size=4, max_size=60).map(b"\0".__add__))
def test_garbage_is_a_pdu_error_or_a_status_and_nothing_else(data: bytes) -> None:
    try:
        status = decode_status(data)
    except PduError:
        return
    assert encode_status(status) == data


@pytest.mark.parametrize("first", [0x10, 0x80, 0x01])
def test_another_control_pdu_a_data_pdu_and_reserved_bits_are_refused(first: int) -> None:
    with pytest.raises(PduError, match=f"begins with {first:#04x}: must be 0x00"):
        decode_status(bytes([first, 0, 0, 0, 0]))


@given(st.sets(st.integers(1, 300)))
def test_each_count_is_said_as_it_is(ahead: set[int]) -> None:
    status = StatusReport.of(1000, [1000 + offset for offset in ahead])
    for count in range(990, 1400):
        assert status.received(count) == (count < 1000 or count - 1000 in ahead)


def test_a_limit_cuts_the_bitmap_and_what_is_beyond_is_not_said_to_be_received() -> None:
    status = StatusReport.of(0, range(1, 100), limit=8)
    assert len(encode_status(status)) == 8
    assert [count for count in range(1, 100) if status.received(count)] == list(range(1, 25))


def test_no_status_is_longer_than_the_clause_s_9000_bytes() -> None:
    assert len(encode_status(StatusReport.of(0, [1, 100_000], limit=20_000))) == 6
    assert len(encode_status(StatusReport.of(0, [71_960, 71_961], limit=20_000))) == 9000


@pytest.mark.parametrize("fmc", [0, 5, 2**32 - 1, 2**32, 2**33 + 17])
def test_counts_beyond_32_bits_are_told_from_those_that_were_sent(fmc: int) -> None:
    status = decode_status(encode_status(StatusReport.of(fmc, [fmc + 2])))
    for further in (0, 1, 100_000):
        whole = status.near(fmc + further)
        assert whole.fmc == fmc
        assert (whole.received(fmc + 1), whole.received(fmc + 2)) == (False, True)


def test_a_count_that_was_not_sent_is_none_of_this_bearer() -> None:
    with pytest.raises(PduError, match="FMC 6: "):
        StatusReport(6).near(5)


def receiver(delivery: Delivery = "in-order", legs: int = 1) -> ReceivingEntity[int]:
    timer = Timer(100 * MS)
    return ReceivingEntity(sn_format(12), t_reordering=timer, legs=legs, delivery=delivery)


@untimed
@given(
    st.sampled_from(["in-order", "out-of-order"]),
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50 * MS))),
)
def test_the_entity_says_exactly_what_it_waits_for(
    delivery: Delivery, arrivals: list[tuple[int, int]]
) -> None:
    entity = receiver(delivery)
    here: set[int] = set()
    now = 0
    for count, later in arrivals:
        now += later
        if entity.push(Pdu(count, leg=0, sn=count), now):
            here.add(count)
        entity.poll(now)
        status = entity.status()
        assert status.fmc == entity.rx_deliv
        assert len(status.bitmap) == -(-max(0, entity.rx_next - entity.rx_deliv - 1) // 8)
        for each in range(110):
            assert status.received(each) == (each < entity.rx_deliv or each in here)


def maker_of(entity: ReceivingEntity[int], legs: int = 1) -> ReportMaker:
    made = ReportMaker(entity, legs=legs, interval=10 * MS, with_status=True)
    made.start(0)
    return made


def test_a_report_with_a_status_is_version_2_and_else_the_same() -> None:
    entity = receiver()
    maker = maker_of(entity)
    for sn in (0, 2):
        pdu = Pdu(sn, 100, leg=0, sn=sn)
        entity.note(pdu)
        entity.push(pdu, 0)
    data = maker.poll(10 * MS)
    assert data is not None
    leg = LegReception(next_count=3, pdus=2, bytes=200, reordered=0, reordering_ns=0)
    assert data == b"\2" + encode_report(Report(1, (leg,)))[1:] + bytes([0, 0, 0, 0, 1, 0x80])
    assert decode_report(data, 1).status == StatusReport(1, b"\x80")


def test_a_report_fits_into_a_datagram_of_1500_bytes() -> None:
    entity = ReceivingEntity[int](sn_format(18), t_reordering=INFINITE, legs=2)
    for count in range(1, 100_000):
        entity.push(Pdu(count, leg=0, sn=count), 0)
    maker = ReportMaker(entity, legs=2, interval=1, with_status=True)
    maker.start(0)
    data = maker.poll(1)
    assert data is not None
    assert len(data) == 1500 - 40 - 8
    status = decode_report(data, 2).status
    assert status is not None
    assert status.received(10_888)
    assert not status.received(10_889)


def test_with_too_many_legs_for_a_bitmap_fmc_is_said() -> None:
    data = maker_of(receiver(legs=40), 40).poll(10**8)
    assert data is not None
    assert decode_report(data, 40).status == StatusReport(0)


def told(number: int, status: StatusReport | None) -> bytes:
    return encode_report(Report(number, (LegReception(1, 1, 1, 0, 0),), status))


def feedback(sent: int) -> Feedback:
    made = Feedback(1)
    for count in range(sent):
        made.sent(0, count)
    return made


def test_the_transmitter_keeps_the_latest_and_when_it_came() -> None:
    made = feedback(10)
    assert (made.status, made.status_at) == (None, None)
    made.push(told(1, StatusReport(3, b"\x80")), 42)
    assert (made.status, made.status_at) == (StatusReport(3, b"\x80"), 42)
    made.push(told(3, StatusReport(5)), 50)
    made.push(told(2, StatusReport(4)), 60)  # overtaken
    made.push(told(4, None), 70)
    assert (made.status, made.status_at) == (StatusReport(5), 50)


def test_what_was_sent_again_on_a_leg_makes_no_report_malformed() -> None:
    made = feedback(10)
    made.sent(0, 4)
    leg = LegReception(next_count=10, pdus=11, bytes=11, reordered=0, reordering_ns=0)
    made.push(encode_report(Report(1, (leg,), StatusReport(10))), 42)
    assert made.status == StatusReport(10)
    assert made.reports[0] is not None
    assert made.reports[0].lost_pdus == 0


def test_a_status_of_what_was_not_sent_changes_nothing() -> None:
    made = feedback(10)
    made.push(told(1, StatusReport(11)), 42)
    assert (made.status, made.reports) == (None, [None])
    assert made.counts()[2] == 1
