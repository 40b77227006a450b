"""The drivers with packets that are no kernel's: what they do to a packet, and when."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from minitopo_dc.element import drivers as drivers_module
from minitopo_dc.element import loop as loop_module
from minitopo_dc.element.drivers import LegDriver, ReceiveDriver, TransmitDriver
from minitopo_dc.element.loop import Loop
from minitopo_dc.element.rules import leg_mark
from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.settings import PdcpSettings

MS = 1_000_000


class FakePacket:
    """A packet whose verdict is remembered."""

    def __init__(self, payload: bytes, indev: int = 0) -> None:
        self.payload = payload
        self.indev = indev
        self.mark = 0
        self.verdict = ""

    def get_payload(self) -> bytes:
        return self.payload

    def set_payload(self, payload: bytes) -> None:
        self.payload = payload

    def set_mark(self, mark: int) -> None:
        self.mark = mark

    def accept(self) -> None:
        self.verdict = "accept"

    def drop(self) -> None:
        self.verdict = "drop"


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(drivers_module, "clock", clock)
    monkeypatch.setattr(loop_module, "clock", clock)
    return clock


class NoInjector:
    """Stands in for the raw socket, which needs root."""

    sent: list[bytes]

    def __init__(self, leg: int) -> None:
        self.leg = leg
        self.sent = []

    def send(self, datagram: bytes) -> None:
        self.sent.append(datagram)


@pytest.fixture
def legs(monkeypatch: pytest.MonkeyPatch) -> tuple[Loop, list[LegDriver]]:
    monkeypatch.setattr(drivers_module, "Injector", NoInjector)
    loop = Loop()
    parameters = LegParameters(queue_packets=2, delay=ConstantDelay(10 * MS))
    capacity = 8_000_000  # 1 byte a us
    made = [
        LegDriver(
            number, Leg(parameters, make_capacity(capacity, "loop"), random.Random(number)), loop
        )
        for number in (1, 2)
    ]
    return loop, made


def datagram(size: int = 1000) -> bytes:
    """An IPv4/UDP datagram with a right header checksum."""
    head = bytearray(20)
    head[0], head[8], head[9] = 0x45, 64, 17
    head[2:4] = size.to_bytes(2, "big")
    head[12:20] = bytes((10, 0, 0, 2, 10, 2, 1, 2))
    total = sum(int.from_bytes(head[i : i + 2], "big") for i in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    head[10:12] = (0xFFFF - total).to_bytes(2, "big")
    return bytes(head) + bytes(size - 20)


def datagram_ipv6(size: int = 1000) -> bytes:
    """An IPv6/UDP datagram."""
    head = bytes((0x60, 0, 0, 0)) + (size - 40).to_bytes(2, "big") + bytes((17, 64))
    return head + bytes(size - len(head))


def transmitter(loop: Loop, legs: list[LegDriver], **pdcp: object) -> TransmitDriver:
    settings = PdcpSettings.model_validate(pdcp)
    return TransmitDriver(1, settings.transmitter(len(legs)), sn_format(18), legs, loop)


def receiver(loop: Loop) -> ReceiveDriver:
    return ReceiveDriver(1, PdcpSettings().receiver(2), sn_format(18), {11: 0, 12: 1}, loop)


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


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("whole", [datagram(1000), datagram_ipv6(1000)])
def test_a_packet_s_size_is_read_from_its_header(
    whole: bytes, legs: tuple[Loop, list[LegDriver]]
) -> None:
    leg = legs[1][0]
    leg.on_packet(FakePacket(whole[:64]))
    assert leg.leg.statistics().pushed_bytes == 1000


@pytest.mark.usefixtures("clock")
def test_a_packet_that_the_queue_refuses_is_dropped_at_once(
    legs: tuple[Loop, list[LegDriver]],
) -> None:
    packets = [FakePacket(datagram()) for _ in range(3)]
    for packet in packets:
        legs[1][0].on_packet(packet)
    assert [packet.verdict for packet in packets] == ["", "", "drop"]


def test_the_loop_wakes_for_the_earliest_departure(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    loop, (leg, _) = legs
    loop.serve(clock.now)
    leg.on_packet(FakePacket(datagram()))
    assert loop.due == 11 * MS


def test_the_next_packet_lets_go_what_is_due(
    clock: Clock, legs: tuple[Loop, list[LegDriver]]
) -> None:
    _, (leg, _) = legs
    first = FakePacket(datagram())
    leg.on_packet(first)
    clock.now = 12 * MS
    leg.on_packet(FakePacket(datagram()))
    assert first.verdict == "accept"


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


def with_hop_limit(sdu: bytes, offset: int, limit: int) -> bytes:
    return sdu[:offset] + bytes((limit,)) + sdu[offset + 1 :]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("split", ["batch", "duplicate"])
@pytest.mark.parametrize(("sdu", "offset"), [(datagram(), 8), (datagram_ipv6(), 7)])
def test_what_may_not_be_forwarded_goes_to_the_kernel_without_a_number(
    sdu: bytes, offset: int, split: str, legs: tuple[Loop, list[LegDriver]]
) -> None:
    driver = transmitter(*legs, split=split)
    packets = [FakePacket(with_hop_limit(sdu, offset, limit)) for limit in (0, 1)]
    for packet in packets:
        before = packet.payload
        driver.on_packet(packet)
        assert (packet.verdict, packet.payload, packet.mark) == ("accept", before, 0)
    driver.on_packet(FakePacket(with_hop_limit(sdu, offset, 2)))
    assert driver.entity.statistics().sdus == 1


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


@pytest.mark.usefixtures("clock")
def test_a_pdu_in_order_goes_up_at_once_without_its_number(
    legs: tuple[Loop, list[LegDriver]],
) -> None:
    driver = receiver(legs[0])
    packet = FakePacket(append_trailer(datagram(), sn_format(18).encode(0)), indev=11)
    driver.on_packet(packet)
    assert packet.verdict == "accept"
    assert packet.payload == datagram()


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


@pytest.mark.usefixtures("clock")
def test_a_second_copy_of_a_pdu_is_dropped(legs: tuple[Loop, list[LegDriver]]) -> None:
    driver = receiver(legs[0])
    pdu = append_trailer(datagram(), sn_format(18).encode(0))
    copies = [FakePacket(pdu, indev=11), FakePacket(pdu, indev=12)]
    for copy in copies:
        driver.on_packet(copy)
    assert [copy.verdict for copy in copies] == ["accept", "drop"]


@pytest.mark.usefixtures("clock")
def test_what_is_no_pdu_is_dropped_and_counted(legs: tuple[Loop, list[LegDriver]]) -> None:
    driver = receiver(legs[0])
    packet = FakePacket(append_trailer(datagram(), b"\x7f\x00\x00"), indev=11)
    driver.on_packet(packet)
    assert packet.verdict == "drop"
    assert driver.malformed == 1


def test_the_state_file_of_the_kernel_is_read_by_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minitopo_dc.element import kernel_queue

    state = tmp_path / "nfnetlink_queue"
    state.write_text("    0   4242     7 2 65531     3     5      999  1\n")
    monkeypatch.setattr(kernel_queue, "NFQUEUE_STATE", state)
    assert kernel_queue.read_drops() == {0: kernel_queue.QueueDrops(3, 5)}
