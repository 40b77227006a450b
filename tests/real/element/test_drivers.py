"""The drivers with packets that are no kernel's: what they do to a packet, and when."""

from __future__ import annotations

import pytest

from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element.drivers import LegDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.rules import leg_mark
from tests.real.element.fakes import (
    LATER,
    MS,
    Clock,
    FakePacket,
    NoInjector,
    datagram,
    datagram_ipv6,
    receiver,
    transmitter,
)


def test_a_packet_leaves_the_leg_after_serialisation_and_delay(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, (leg, _) = legs
    packet = FakePacket(datagram())
    leg.on_packet(packet)
    clock.now = 11 * MS - 1
    loop.serve(clock.now)
    assert packet.verdict == ""
    clock.now = 11 * MS
    loop.serve(clock.now)
    assert packet.verdict == "accept"


def test_the_loop_wakes_for_the_earliest_departure(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, (leg, _) = legs
    loop.serve(clock.now)
    leg.on_packet(FakePacket(datagram()))
    assert loop.due == 11 * MS


@pytest.mark.usefixtures("clock")
def test_a_pdu_carries_its_number_behind_the_datagram_and_the_mark_of_its_leg(
    legs: tuple[Loop, list[LegDriver]],
) -> None:
    loop, both = legs
    driver = transmitter(loop, both, batch=2)
    packets = [FakePacket(datagram()) for _ in range(2)]
    for packet in packets:
        driver.on_packet(packet)
    assert [packet.mark for packet in packets] == [leg_mark(1), leg_mark(2)]
    assert packets[1].payload == append_trailer(datagram(), sn_format(18).encode(1))


@pytest.mark.parametrize(("sdu", "offset"), [(datagram(), 8), (datagram_ipv6(), 7)])
def test_a_duplicate_is_sent_anew_on_the_second_leg(
    sdu: bytes, offset: int, clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, both = legs
    packet = FakePacket(sdu)
    transmitter(loop, both, split="duplicate").on_packet(packet)
    clock.now = 20 * MS
    loop.serve(clock.now)
    assert packet.verdict == "accept"
    injector = both[1].injector
    assert isinstance(injector, NoInjector)
    assert len(injector.sent) == 1
    # The kernel lowers the hop limit of what it forwards; the copy must look the same at the end.
    lowered = bytearray(packet.payload)
    lowered[offset] -= 1
    assert injector.sent == [bytes(lowered)]


def test_a_pdu_out_of_order_waits_for_the_missing_one_or_for_t_reordering(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop = legs[0]
    driver = receiver(loop)
    packet = FakePacket(append_trailer(datagram(), sn_format(18).encode(1)), indev=12)
    driver.on_packet(packet)
    clock.now = 200 * MS - 1
    loop.serve(clock.now)
    assert packet.verdict == ""
    clock.now = 200 * MS
    loop.serve(clock.now)
    assert packet.verdict == "accept"


def test_a_copy_goes_although_the_first_leg_drops_the_packet(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, both = legs
    for _ in range(2):
        both[0].on_packet(FakePacket(datagram()))
    packet = FakePacket(datagram())
    transmitter(loop, both, split="duplicate").on_packet(packet)
    clock.serve(loop, LATER)
    injector = both[1].injector
    assert isinstance(injector, NoInjector)
    assert [packet.verdict, len(injector.sent)] == ["drop", 1]


@pytest.mark.usefixtures("clock")
def test_delivered_bytes_are_those_of_the_sdus(legs: tuple[Loop, list[LegDriver]]) -> None:
    driver = receiver(legs[0])
    for sn, sdu in ((0, datagram(700)), (1, datagram_ipv6(800)), (3, datagram(900))):
        driver.on_packet(FakePacket(append_trailer(sdu, sn_format(18).encode(sn)), indev=12))
    assert driver.statistics().delivered_bytes == 1500


@pytest.mark.parametrize("by", ["leg", "sdu", "pdu"])
def test_a_packet_that_arrives_lets_go_what_is_due_on_a_leg(
    by: str, clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, (leg, other) = legs
    takers = {
        "leg": other.on_packet,
        "sdu": transmitter(loop, [other, leg]).on_packet,
        "pdu": receiver(loop).on_packet,
    }
    due = FakePacket(datagram())
    leg.on_packet(due)
    loop.serve(clock.now)
    pdu = append_trailer(datagram(), sn_format(18).encode(5))
    for now, verdict in ((11 * MS - 1, ""), (11 * MS, "accept")):
        clock.now = now
        takers[by](FakePacket(pdu if by == "pdu" else datagram(), indev=11))
        assert due.verdict == verdict
