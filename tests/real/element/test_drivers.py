"""Drivers of legs and bearers, a detour, and their cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.native import library
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element.__main__ import python_reason
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.real.element.packets import Datagram, Wire
from minitopo_dc.real.element.rules import leg_mark
from minitopo_dc.router.drivers import LegDriver
from minitopo_dc.scenario import Pdcp
from minitopo_dc.scenario.element import ElementSettings
from tests.native.extension import needs_native
from tests.real.element.fake_host import LEGS, RECEIVER, SENDER
from tests.real.element.fakes import (
    LATER,
    MS,
    Clock,
    FakePacket,
    Sender,
    datagram,
    datagram_ipv6,
    departing,
    receiver,
    sender,
    transmitter,
)


def pdu(sn: int, sdu: bytes = datagram()) -> bytes:
    return append_trailer(sdu, sn_format(18).encode(sn))


@pytest.mark.usefixtures("clock")
def test_a_pdu_carries_its_number_behind_the_datagram_and_the_mark_of_its_leg(
    legs: tuple[RealLoop, list[LegDriver]],
) -> None:
    loop, both = legs
    driver = transmitter(loop, both, batch=2)
    packets = [FakePacket(datagram()) for _ in range(2)]
    for packet in packets:
        driver.on_packet(packet)
    assert [packet.mark for packet in packets] == [leg_mark(1), leg_mark(2)]
    assert packets[1].payload == pdu(1)


@pytest.mark.parametrize(("sdu", "offset"), [(datagram(), 8), (datagram_ipv6(), 7)])
@pytest.mark.parametrize("verdict", ["accept", "drop"])
def test_a_duplicate_is_sent_anew_on_the_second_leg_whatever_the_first_does(
    sdu: bytes, offset: int, verdict: str, clock: Clock, legs: tuple[RealLoop, list[LegDriver]]
) -> None:
    loop, both = legs
    for _ in range(2 if verdict == "drop" else 0):  # which fill its queue
        departing(loop, both[0])(FakePacket(datagram()))
    packet = FakePacket(sdu)
    made = transmitter(loop, both, split="duplicate")
    made.on_packet(packet)
    clock.serve(loop, LATER)
    assert packet.verdict == verdict
    # The kernel lowers the hop limit of what it forwards; the copy must look the same at the end.
    lowered = bytearray(pdu(0, sdu))
    lowered[offset] -= 1
    assert made.injectors[2].sent == [bytes(lowered)]


def test_a_pdu_out_of_order_waits_for_the_missing_one_or_for_t_reordering(
    clock: Clock, legs: tuple[RealLoop, list[LegDriver]]
) -> None:
    loop = legs[0]
    driver = receiver(loop)
    packets = [FakePacket(pdu(sn, datagram(700 + sn)), indev=12) for sn in (0, 2)]
    for packet in packets:
        driver.on_packet(packet)
    assert driver.driver.statistics().delivered_bytes == 700
    for now, verdict in ((200 * MS - 1, ""), (200 * MS, "accept")):
        clock.serve(loop, now)
        assert packets[1].verdict == verdict


@pytest.mark.parametrize("by", ["leg", "sdu", "pdu"])
def test_a_packet_that_arrives_lets_go_what_is_due_on_a_leg(
    by: str, clock: Clock, legs: tuple[RealLoop, list[LegDriver]]
) -> None:
    loop, (leg, other) = legs
    takers = {
        "leg": departing(loop, other),
        "sdu": transmitter(loop, [other, leg]).on_packet,
        "pdu": receiver(loop).on_packet,
    }
    loop.serve(clock.now)
    due = FakePacket(datagram())
    departing(loop, leg)(due)
    assert loop.due == 11 * MS  # serialisation and delay
    for now, verdict in ((11 * MS - 1, ""), (11 * MS, "accept")):
        clock.now = now
        takers[by](FakePacket(pdu(5) if by == "pdu" else datagram(), indev=11))
        assert due.verdict == verdict


def bearer(**pdcp: Any) -> tuple[Sender, list[Wire]]:
    wires, loop = [Wire(), Wire()], RealLoop()
    legs: list[Any] = wires
    drivers = [LegDriver(number, wire, loop) for number, wire in enumerate(legs, start=1)]
    entity = Pdcp.model_validate(pdcp).transmitter(2)
    return sender(loop, entity, drivers, sn_format(18)), wires


def marks(made: Sender, count: int) -> list[int]:
    packets = [FakePacket(datagram()) for _ in range(count)]
    for packet in packets:
        made.on_packet(packet)
    assert {packet.verdict for packet in packets} == {"accept"}
    return [packet.mark for packet in packets]


@pytest.mark.parametrize(
    ("present", "legs"),
    [((True, False), (1, 1)), ((False, True), (2, 2)), ((False, False), (1, 2))],
)
def test_what_is_meant_for_an_absent_leg_takes_one_that_is_there(
    present: tuple[bool, bool], legs: tuple[int, int]
) -> None:
    made, _ = bearer(split="batch", batch=2)
    for now, taken in (((True, True), (1, 2)), (present, legs), ((True, True), (1, 2))):
        made.driver.use(now)
        assert marks(made, 2) == [leg_mark(leg) for leg in taken]


def test_duplicates_go_once_over_the_leg_that_is_left() -> None:
    made, wires = bearer(split="duplicate")
    made.driver.use([False, True])
    assert marks(made, 3) == [leg_mark(2)] * 3
    assert [wire.statistics().pushed_packets for wire in wires] == [0, 3]


WIRE = {"leg": 3, "interface": "gnb-eth3"}
HOP = {"leg": 1, "gateway": "10.1.1.2", "link_layer": "00:00:00:00:00:01", "table": 101}
REPORT = {"legs": [{"leg": 1, "source": "10.1.1.1", "destination": "10.1.1.2"}], "port": 9}
BOTH = {"transmit": [SENDER], "receive": [RECEIVER]}


def sending(**pdcp: Any) -> dict[str, Any]:
    return {"transmit": [SENDER | {"pdcp": pdcp, "report": REPORT}]}


def leg(**radio: Any) -> dict[str, Any]:
    return {"legs": [LEGS[0] | {"radio": {"rate_mbps": 10} | radio}]}


@needs_native
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (BOTH | {"ip_version": 6, "pcap": "downlink"}, None),
        (sending(split="least-delay", numbering="late"), None),
        (leg(outages=[[1, 2]], jitter_ms=3), None),
        (leg(rlc={}), None),
        ({"backend": "kernel"}, "it has backend: kernel"),
        ({"wires": [WIRE]}, "it has wires"),
        ({"next_hops": [HOP]}, "it has next_hops"),
        (sending(report_ms=20, data_recovery=True), "pdcp has data_recovery"),
    ],
)
def test_what_c_lacks_is_python_s_and_told(fields: dict[str, Any], why: str | None) -> None:
    def reason(**more: Any) -> str | None:
        values = {"host": "gnb", "legs": LEGS, "directory": Path()} | fields | more
        return python_reason([ElementSettings.check(values, "test")])

    assert reason() == why
    assert reason(core="python") == "the settings say so"
    if why is None:
        assert reason(core="native") is None
    else:
        with pytest.raises(SettingsError, match=f"core: native: {why}; allowed: auto, python"):
            reason(core="native")


def test_hosts_in_one_process_and_what_is_not_built_are_python_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = [
        ElementSettings.check({"host": host, "legs": LEGS, "directory": Path()}, "test")
        for host in ("gnb", "ue")
    ]
    assert python_reason(hosts) == "several hosts in one process"
    monkeypatch.setattr(library, "obstacle", lambda: "it is not built")
    assert python_reason(hosts[:1]) == "it is not built"


def test_a_queue_tells_bearers_and_sockets_apart_and_no_pdus_of_one_bearer() -> None:
    first, second, other = (Datagram(datagram(), pdu=pdu) for pdu in ((1, 0), (1, 5), (2, 0)))
    assert first.flow_id == second.flow_id != other.flow_id
    assert Datagram(datagram()).flow_id not in (first.flow_id, other.flow_id)
