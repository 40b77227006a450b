"""The receiver's report: its bytes, how it is made, and what the transmitter makes of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    Feedback,
    LegReception,
    LegReport,
    Pdu,
    PduError,
    ReceivingEntity,
    Report,
    ReportMaker,
    StatusReport,
    Timer,
    TransmittingEntity,
    decode_report,
    make_policy,
    sn_format,
)
from minitopo_dc.pdcp.report import encode_report

MS = 1_000_000
NOTHING = LegReception(0, 0, 0, 0, 0)
u64 = st.integers(1, 2**64 - 1)


@st.composite
def receptions(draw: st.DrawFn) -> LegReception:
    if draw(st.booleans()):
        return NOTHING
    pdus = draw(u64)
    reordered = draw(st.integers(0, pdus))
    return LegReception(draw(u64), pdus, draw(u64), reordered, draw(u64))


reports = st.builds(
    Report,
    st.integers(1, 2**32 - 1),
    st.lists(receptions(), min_size=1, max_size=8).map(tuple),
    st.none() | st.builds(StatusReport, st.integers(0, 2**32 - 1), st.binary(max_size=20)),
)


@given(reports)
def test_a_report_comes_back_from_its_bytes(report: Report) -> None:
    assert decode_report(encode_report(report), len(report.legs)) == report


def test_a_report_has_6_bytes_and_40_a_leg() -> None:
    leg = LegReception(next_count=5, pdus=4, bytes=3, reordered=2, reordering_ns=1)
    expected = bytes([1, 1, 0, 0, 0, 9]) + b"".join(n.to_bytes(8, "big") for n in (5, 4, 3, 2, 1))
    assert encode_report(Report(9, (leg,))) == expected


@given(reports, st.data())
def test_garbage_and_a_report_with_a_byte_changed_are_a_pdu_error_or_a_report(
    report: Report, data: st.DataObject
) -> None:
    whole = bytearray(encode_report(report))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    whole = data.draw(st.sampled_from([whole, bytearray(data.draw(st.binary(max_size=200)))]))
    try:
        decoded = decode_report(bytes(whole), len(report.legs))
    except PduError:
        return
    assert encode_report(decoded) == whole


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "report of 0 bytes: must be 46 for 1 legs"),
        (encode_report(Report(1, (NOTHING, NOTHING))), "report of 86 bytes: must be 46"),
        (b"\2" + encode_report(Report(1, (NOTHING,)))[1:], "status report of 0 bytes"),
        (b"\3" + encode_report(Report(1, (NOTHING,)))[1:], "version 3: must be 1 or 2"),
        (encode_report(Report(1, (NOTHING,))) + bytes(5), "report of 51 bytes: must be 46"),
        (b"\2" + encode_report(Report(1, (NOTHING,)))[1:] + b"\x80" * 5, "begins with 0x80"),
        (b"\1\2" + encode_report(Report(1, (NOTHING,)))[2:], "report of 2 legs: must be 1"),
        (encode_report(Report(0, (NOTHING,))), "report number 0: must be 1 or more"),
        (encode_report(Report(1, (LegReception(1, 0, 0, 0, 0),))), "contradicts itself"),
        (encode_report(Report(1, (LegReception(0, 1, 0, 0, 0),))), "contradicts itself"),
        (encode_report(Report(1, (LegReception(1, 1, 0, 2, 0),))), "contradicts itself"),
    ],
)
def test_what_is_no_report_of_this_bearer_is_told_why(data: bytes, words: str) -> None:
    with pytest.raises(PduError, match=words):
        decode_report(data, 1)


def receiver(legs: int = 2, bits: int = 12) -> tuple[ReceivingEntity[int], ReportMaker]:
    entity = ReceivingEntity[int](sn_format(bits), t_reordering=Timer(100 * MS), legs=legs)
    return entity, ReportMaker(entity, legs=legs, interval=10 * MS)


def test_a_report_is_due_every_interval_and_its_number_tells_which_though_it_is_late() -> None:
    _, maker = receiver()
    assert (maker.next_timeout(), maker.poll(10**12)) == (None, None)
    maker.start(5)
    numbers, due = [], []
    for now in (10 * MS + 4, 10 * MS + 5, 10 * MS + 5, 47 * MS, 50 * MS + 5):
        data = maker.poll(now)
        numbers.append(decode_report(data, 2).number if data is not None else None)
        due.append(maker.next_timeout())
    assert numbers == [None, 1, None, 4, 5]
    assert due == [interval * 10 * MS + 5 for interval in (1, 2, 2, 5, 6)]
    assert maker.made == 3


def test_a_report_says_what_came_by_each_leg_and_what_waited() -> None:
    entity, maker = receiver()
    maker.start(0)
    for sn, leg, now in ((1, 0, 1 * MS), (2, 0, 2 * MS), (0, 1, 5 * MS)):
        pdu = Pdu(sn, 100 + sn, leg=leg, sn=sn)
        entity.note(pdu)
        entity.push(pdu, now)
    data = maker.poll(10 * MS)
    assert data is not None
    ahead = LegReception(next_count=3, pdus=2, bytes=203, reordered=2, reordering_ns=7 * MS)
    behind = LegReception(next_count=1, pdus=1, bytes=100, reordered=0, reordering_ns=0)
    assert decode_report(data, 2) == Report(1, (ahead, behind))


def test_a_pdu_from_before_the_first_count_is_nobody_s() -> None:
    entity, maker = receiver()
    maker.start(0)
    entity.note(Pdu(0, 100, leg=0, sn=4095))
    data = maker.poll(10 * MS)
    assert data is not None
    assert decode_report(data, 2).legs == (NOTHING, NOTHING)


@pytest.mark.parametrize(("sn", "next_count"), [(2048, 2049), (2049, 0)])
def test_a_count_is_less_than_half_the_sn_space_from_the_highest(sn: int, next_count: int) -> None:
    entity, maker = receiver()
    maker.start(0)
    # The next COUNT is 1: those from 1 - 2048 to 1 + 2047 are near.
    entity.note(Pdu(0, 100, leg=0, sn=0))
    entity.note(Pdu(0, 100, leg=1, sn=sn))
    data = maker.poll(10 * MS)
    assert data is not None
    assert decode_report(data, 2).legs[1].next_count == next_count


@pytest.mark.parametrize("delivery", ["in-order", "out-of-order", "off"])
def test_counts_go_on_over_the_wrap_of_the_sn(delivery: str) -> None:
    entity = ReceivingEntity[int](
        sn_format(12),
        t_reordering=Timer(0),
        legs=1,
        delivery=delivery,  # type: ignore[arg-type]
    )
    maker = ReportMaker(entity, legs=1, interval=1)
    maker.start(0)
    for count in range(10_000):
        pdu = Pdu(count, 1, leg=0, sn=count % 4096)
        entity.note(pdu)
        entity.push(pdu, 0)
    data = maker.poll(1)
    assert data is not None
    assert decode_report(data, 1).legs[0].next_count == 10_000


def feedback(*counts: int) -> Feedback:
    """Of a bearer with one leg, which was given these COUNTs."""
    made = Feedback(1)
    for count in counts:
        made.sent(0, count)
    return made


def report(number: int, next_count: int, pdus: int) -> bytes:
    return encode_report(Report(number, (LegReception(next_count, pdus, 10 * pdus, 1, 5),)))


def test_lost_is_what_was_sent_up_to_the_highest_count_and_is_not_there() -> None:
    made = feedback(0, 1, 4, 5, 9)
    made.push(report(1, next_count=6, pdus=3), 42)
    assert made.reports == [
        LegReport(
            at=42,
            highest_count=5,
            delivered_pdus=3,
            delivered_bytes=30,
            lost_pdus=1,
            reordered=1,
            reordering_ns=5,
        )
    ]


def test_an_overtaken_report_and_one_of_a_count_that_was_not_sent_change_nothing() -> None:
    made = feedback(*range(10))
    made.push(encode_report(Report(1, (NOTHING,))), 0)
    assert made.reports == [LegReport(0, None, 0, 0, 0, 0, 0)]
    made.push(report(3, 6, 5), 1)
    before = made.reports
    made.push(report(3, 6, 5), 2)
    made.push(report(2, 3, 3), 3)
    made.push(report(2**32 - 1, 11, 1), 4)
    assert made.reports is before
    assert made.counts() == (2, 2, 1)
    made.push(report(4, 6, 5), 5)
    assert made.counts() == (3, 2, 1)


@given(st.lists(st.binary(max_size=120)))
def test_garbage_is_counted_and_changes_nothing(datagrams: list[bytes]) -> None:
    made = feedback(0, 1)
    made.push(report(7, 2, 2), 1)
    before = made.reports
    for data in datagrams:
        made.push(data, 2)
    assert made.reports is before
    used, *others = made.counts()
    assert (used, sum(others)) == (1, len(datagrams))


def test_without_reports_the_oldest_counts_are_forgotten_and_the_sum_stays_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minitopo_dc.pdcp.transmitting.feedback.MAX_REMEMBERED", 10)
    made = feedback(*range(100))
    made.push(report(1, 96, 90), 1)
    assert made.reports[0] is not None
    assert made.reports[0].lost_pdus == 6


class Bearer:
    """Both entities, two legs that keep their order and lose, and reports on their way."""

    def __init__(self, policy: str, bits: int, rng: Random) -> None:
        split = make_policy(policy, legs=2)
        self.sender = TransmittingEntity[int](sn_format(bits), split, legs=2, reports=True)
        self.entity, self.maker = receiver(bits=bits)
        self.maker.start(0)
        self.rng = rng
        self.now = 0
        self.on_the_leg: list[list[int]] = [[], []]  # SNs
        self.lost, self.arrived = [0, 0], [0, 0]
        self.known = [(0, 0), (0, 0)]  # arrived on each leg, and lost before the last that did
        self.reports: list[tuple[bytes, list[tuple[int, int]]]] = []
        self.heard = 0  # the latest of these, counted from 1

    def send(self) -> None:
        self.sender.push(0, 100, self.now)
        for pdu in self.sender.poll(self.now):
            self.on_the_leg[pdu.leg].append(pdu.sn)

    def arrive(self) -> None:
        leg = self.rng.randrange(2)
        if not self.on_the_leg[leg]:
            return
        sn = self.on_the_leg[leg].pop(0)
        if self.rng.random() < 0.3:
            self.lost[leg] += 1
            return
        self.arrived[leg] += 1
        self.known[leg] = (self.arrived[leg], self.lost[leg])
        pdu = Pdu(0, 100, leg=leg, sn=sn)
        self.entity.note(pdu)
        self.entity.push(pdu, self.now)
        self.entity.poll(self.now)

    def report(self) -> None:
        data = self.maker.poll(self.now)
        assert data is not None
        self.reports.append((data, list(self.known)))

    def hear(self) -> None:
        """One of the reports so far arrives, perhaps not for the first time."""
        if self.reports:
            number = self.rng.randrange(len(self.reports))
            assert self.sender.feedback is not None
            self.sender.feedback.push(self.reports[number][0], self.now)
            self.heard = max(self.heard, number + 1)


steps = st.lists(st.sampled_from(["send", "send", "arrive", "arrive", "report", "hear"]))


@given(st.sampled_from(["batch", "duplicate"]), st.sampled_from([12, 16, 18]), steps, st.integers())
def test_reports_in_any_order_tell_each_leg_s_losses_exactly(
    policy: str, bits: int, steps: list[str], seed: int
) -> None:
    bearer = Bearer(policy, bits, Random(seed))
    for step in steps:
        bearer.now += 10 * MS
        getattr(bearer, step)()
        feedback = bearer.sender.feedback
        assert feedback is not None
        if not bearer.heard:
            assert feedback.reports == [None, None]
            continue
        for leg, (arrived, lost) in zip(
            feedback.reports, bearer.reports[bearer.heard - 1][1], strict=True
        ):
            assert leg is not None
            assert (leg.delivered_pdus, leg.lost_pdus) == (arrived, lost)
            assert leg.delivered_bytes == 100 * arrived
        assert feedback.counts()[2] == 0
