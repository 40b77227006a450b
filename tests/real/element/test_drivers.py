"""Drivers of legs and bearers, a detour, and their cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.native import library
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element import drivers
from minitopo_dc.real.element.__main__ import _python_reason
from minitopo_dc.real.element.drivers import LegDriver, TransmitDriver, WireDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.rules import leg_mark
from minitopo_dc.real.element.native import lacking
from minitopo_dc.scenario import Pdcp
from minitopo_dc.scenario.element import ElementSettings
from tests.native.extension import needs_native
from tests.real.element.fake_host import LEGS, RECEIVER, SENDER
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


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "Injector", NoInjector)


def bearer(split: str) -> tuple[TransmitDriver, list[WireDriver]]:
    settings = {"split": split} | ({"batch": 2} if split == "batch" else {})
    wires = [WireDriver(1), WireDriver(2)]
    entity = Pdcp.model_validate(settings).transmitter(2)
    return TransmitDriver(1, entity, sn_format(18), wires, Loop()), wires


def marks(driver: TransmitDriver, count: int) -> list[int]:
    packets = [FakePacket(datagram()) for _ in range(count)]
    for packet in packets:
        driver.on_packet(packet)
    assert {packet.verdict for packet in packets} == {"accept"}
    return [packet.mark for packet in packets]


def test_a_leg_that_is_gone_gets_nothing_until_it_is_back() -> None:
    driver, _ = bearer("batch")
    assert marks(driver, 2) == [leg_mark(1), leg_mark(2)]
    driver.use([True, False])
    assert marks(driver, 2) == [leg_mark(1)] * 2
    driver.use([True, True])
    assert marks(driver, 2) == [leg_mark(1), leg_mark(2)]


def test_duplicates_go_once_over_the_leg_that_is_left() -> None:
    driver, wires = bearer("duplicate")
    driver.use([False, True])
    assert marks(driver, 3) == [leg_mark(2)] * 3
    assert [each.leg.statistics().pushed_packets for each in wires] == [0, 3]


def test_with_no_leg_left_packets_take_the_one_that_is_meant() -> None:
    driver, _ = bearer("batch")
    driver.use([False, False])
    assert marks(driver, 2) == [leg_mark(1), leg_mark(2)]


WIRE = {"leg": 3, "interface": "gnb-eth3"}
HOP = {"leg": 1, "gateway": "10.1.1.2", "link_layer": "00:00:00:00:00:01", "table": 101}
REPORT = {"legs": [{"leg": 1, "source": "10.1.1.1", "destination": "10.1.1.2"}], "port": 9}


def wanted(**fields: Any) -> ElementSettings:
    values = {"host": "gnb", "legs": LEGS, "directory": Path()}
    return ElementSettings.check(values | fields, "test")


def sending(**pdcp: Any) -> dict[str, Any]:
    return {"transmit": [SENDER | {"pdcp": pdcp}]}


@needs_native
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"transmit": [SENDER], "receive": [RECEIVER], "ip_version": 6},
        sending(split="least-delay", numbering="late"),
        {"pcap": "downlink", "transmit": [SENDER], "receive": [RECEIVER]},
        {"legs": [LEGS[0] | {"radio": {"rate_mbps": 10, "outages": [[1, 2]], "jitter_ms": 3}}]},
        {"legs": [LEGS[0] | {"radio": {"rate_mbps": 10, "rlc": {}}}]},
    ],
)
def test_what_c_has_is_native(fields: dict[str, Any]) -> None:
    assert lacking([wanted(**fields)]) is None
    assert _python_reason([wanted(**fields)]) is None


@needs_native
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"backend": "kernel"}, "it has backend: kernel"),
        ({"wires": [WIRE]}, "it has wires"),
        ({"next_hops": [HOP]}, "it has next_hops"),
        (
            {
                "transmit": [
                    SENDER | {"pdcp": {"report_ms": 20, "data_recovery": True}, "report": REPORT}
                ]
            },
            "pdcp has data_recovery",
        ),
    ],
)
def test_what_c_lacks_is_python_s_and_told(fields: dict[str, Any], why: str) -> None:
    assert _python_reason([wanted(**fields)]) == why
    with pytest.raises(SettingsError, match=f"core: native: {why}; allowed: auto, python"):
        _python_reason([wanted(core="native", **fields)])


def test_python_is_chosen_where_settings_say_so() -> None:
    assert _python_reason([wanted(core="python")]) == "the settings say so"


def test_hosts_in_one_process_are_python_s() -> None:
    assert _python_reason([wanted(), wanted(host="ue")]) == "several hosts in one process"


def test_without_the_native_core_auto_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "missing", lambda: "it is not built")
    assert _python_reason([wanted()]) == "it is not built"
