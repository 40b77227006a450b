"""Verdicts of an element on packets, hostile and with options, too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitopo_dc.link import (
    AnyLeg,
    Bernoulli,
    ConstantDelay,
    LegParameters,
    RlcParameters,
    make_capacity,
    make_leg,
)
from minitopo_dc.pdcp import (
    TransmittingEntity,
    append_trailer,
    sn_format,
    split_trailer,
)
from minitopo_dc.real.element import packets as packets_module
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.real.element.packets import Datagram, departures
from minitopo_dc.router.drivers import LegDriver
from minitopo_dc.router.ip import may_be_forwarded
from minitopo_dc.units import QueueLimit
from tests.real.element.fakes import (
    JUMBOGRAM,
    LATER,
    MS,
    Clock,
    FakePacket,
    datagram,
    datagram_ipv6,
    departing,
    receiver,
    sender,
    transmitter,
)
from tests.real.element.options import FORWARDED, REFUSED

MALFORMED = {
    "empty": b"",
    "IPv4 header cut": datagram()[:19],
    "IPv6 header cut": datagram_ipv6()[:39],
    "IPv4 cut": datagram()[:999],
    "IPv6 cut": datagram_ipv6()[:999],
    "too long": datagram(65_534),
    "version 7": bytes((0x70,)) + datagram_ipv6()[1:],
    "jumbogram": JUMBOGRAM,
}


NO_SDUS = [
    *(pytest.param("malformed", payload, id=name) for name, payload in MALFORMED.items()),
    *(
        pytest.param("refused_options", datagram(options=options), id=name)
        for name, options in REFUSED.items()
    ),
]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("reason", "payload"), NO_SDUS)
def test_what_cannot_carry_a_number_or_go_on_is_dropped_counted_and_leaves_no_gap(
    reason: str, payload: bytes, legs: tuple[RealLoop, list[LegDriver]]
) -> None:
    driver = transmitter(*legs)
    packets = [FakePacket(sdu) for sdu in (datagram(), payload, datagram())]
    for packet in packets:
        driver.on_packet(packet)
    assert driver.unnumbered == {"malformed": 0, "refused_options": 0, "handed_back": 0} | {
        reason: 1
    }
    assert [packets[1].verdict, packets[1].mark] == ["drop", 0]
    assert driver.driver.entity.statistics().sdus == 2
    numbers = [split_trailer(packets[at].payload, 3)[0] for at in (0, 2)]
    assert numbers == [sn_format(18).encode(number) for number in (0, 1)]


@pytest.mark.usefixtures("clock")
def test_a_packet_for_which_the_policy_names_no_leg_is_dropped_with_its_number(
    legs: tuple[RealLoop, list[LegDriver]],
) -> None:
    class Second:
        """Drops every packet but the second."""

        def __init__(self) -> None:
            self._count = 0

        def legs(self, *_: object, **__: object) -> tuple[int, ...]:
            self._count += 1
            return (0,) if self._count == 2 else ()

    entity = TransmittingEntity[Datagram](sn_format(18), Second(), legs=2)
    driver = sender(legs[0], entity, legs[1], sn_format(18))
    packets = [FakePacket(datagram()) for _ in range(3)]
    for packet in packets:
        driver.on_packet(packet)
    assert [packet.verdict for packet in packets] == ["drop", "", "drop"]
    assert packets[1].payload == append_trailer(datagram(), sn_format(18).encode(1))
    assert entity.statistics().sdus == 3


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "payload",
    [b"", datagram()[:19], datagram_ipv6(41), JUMBOGRAM],
    ids=["empty", "cut", "no room for a number", "jumbogram"],
)
def test_what_is_too_short_for_a_pdu_is_dropped_and_counted(
    payload: bytes, legs: tuple[RealLoop, list[LegDriver]]
) -> None:
    driver = receiver(legs[0])
    packet = FakePacket(payload, indev=11)
    driver.on_packet(packet)
    assert [packet.verdict, driver.counts["malformed"]] == ["drop", 1]
    assert driver.driver.statistics().pdus == (0, 0)


@contextmanager
def lossy_legs(
    rlc: RlcParameters | None = None,
) -> Iterator[tuple[Clock, RealLoop, list[LegDriver]]]:
    """Two legs with short queues that lose a third of their packets; the clock is a test's."""
    clock = Clock()
    parameters = LegParameters(
        queue=QueueLimit(3), delay=ConstantDelay(10 * MS), loss=Bernoulli(0.3)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets_module, "clock", clock)
        loop = RealLoop()

        def leg(number: int) -> AnyLeg[Datagram]:
            return make_leg(parameters, make_capacity(8_000_000), random.Random(number), rlc)

        yield clock, loop, [LegDriver(number, leg(number), loop) for number in (1, 2)]


anything = st.one_of(
    st.builds(datagram, st.integers(20, 1500), ttl=st.integers(0, 255)),
    st.builds(datagram_ipv6, st.integers(40, 1500), hop_limit=st.integers(0, 255)),
    st.sampled_from(list(MALFORMED.values())),
    st.binary(max_size=80),
)
arrivals = st.lists(st.tuples(st.integers(0, 5 * MS), anything), max_size=40)
"""Packets, each with the time since the one before it."""


rlcs = st.sampled_from(
    [
        None,
        RlcParameters(block_error=0.5, discard_ns=10 * MS),
        RlcParameters(block_error=0.5, mode="um", harq_retransmissions=1, in_order=False),
    ]
)


@given(arrivals, st.sampled_from(["batch", "duplicate"]), rlcs)
def test_every_sdu_has_one_verdict_in_the_end(
    sdus: list[tuple[int, bytes]], split: str, rlc: RlcParameters | None
) -> None:
    with lossy_legs(rlc) as (clock, loop, legs):
        driver = transmitter(loop, legs, split=split, batch=2)
        packets = [FakePacket(payload) for _, payload in sdus]
        for (wait, _), packet in zip(sdus, packets, strict=True):
            clock.now += wait
            driver.on_packet(packet)
        clock.serve(loop, clock.now + LATER)
        assert {packet.verdict for packet in packets} <= {"accept", "drop"}
        numbered = sum(bool(packet.mark) for packet in packets)
        assert numbered == driver.driver.entity.statistics().sdus
        handed_back = sum(packet.verdict == "accept" and not packet.mark for packet in packets)
        assert len(packets) == numbered + driver.unnumbered["malformed"] + handed_back


events = st.lists(
    st.tuples(st.integers(0, 20 * MS), anything | st.sampled_from(["down", "up"])), max_size=40
)
"""The same, and the first leg goes down or up."""
LATE = {"numbering": "late"}
RECOVERY = {"data_recovery": True, "report_ms": 20}


@given(
    events,
    st.sampled_from(
        [
            LATE,
            LATE | {"split": "least-delay", "discard_timer_ms": 10},
            RECOVERY,
            LATE | RECOVERY | {"discard_timer_ms": 20},
            LATE | {"flow_control": {"backhaul_ms": 3, "loss_percent": 40}},
            RECOVERY | {"split": "duplicate", "flow_control": {"loss_percent": 40}},
        ]
    ),
)
def test_every_sdu_that_waits_or_is_sent_again_has_one_verdict_in_the_end(
    steps: list[tuple[int, bytes | str]], pdcp: dict[str, Any]
) -> None:
    with lossy_legs() as (clock, loop, legs):
        driver = transmitter(loop, legs, batch=2, **pdcp)
        packets = []
        for wait, event in steps:
            clock.now += wait
            if isinstance(event, bytes):
                packets.append(FakePacket(event))
                driver.on_packet(packets[-1])
            else:
                legs[0].leg.set_up(event == "up", clock.now)
                driver.driver.legs_changed(clock.now)
        legs[0].leg.set_up(True, clock.now)
        driver.driver.legs_changed(clock.now)
        end = clock.now + 1000 * MS
        while clock.now < end:
            clock.serve(loop, max(loop.due, clock.now))
        assert {packet.verdict for packet in packets} <= {"accept", "drop"}
        lossy = "loss_percent" in pdcp.get("flow_control", {})
        numbered = sum(bool(packet.mark) for packet in packets)
        sdus = driver.driver.entity.statistics().sdus
        assert numbered == sdus or (lossy and numbered < sdus)


@given(arrivals, rlcs)
def test_every_packet_without_a_bearer_has_one_verdict_in_the_end(
    sent: list[tuple[int, bytes]], rlc: RlcParameters | None
) -> None:
    with lossy_legs(rlc) as (clock, loop, (leg, _)):
        packets, counts = [FakePacket(payload) for _, payload in sent], dict[str, int]()
        take = departures(leg, loop, counts)
        for (wait, _), packet in zip(sent, packets, strict=True):
            clock.now += wait
            take(packet)
        clock.serve(loop, clock.now + LATER)
        counters = leg.leg.statistics()
        assert counters.pushed_packets + counts["malformed"] == len(packets)
        verdicts = [packet.verdict for packet in packets]
        assert verdicts.count("accept") == counters.delivered_packets
        assert verdicts.count("drop") == len(packets) - counters.delivered_packets


@given(
    st.lists(
        st.tuples(st.integers(0, 100 * MS), st.integers(0, 12), st.sampled_from([11, 12])),
        max_size=30,
    ),
    st.lists(st.binary(max_size=60).map(b"\0".__add__), max_size=5),
)
def test_every_pdu_has_one_verdict_in_the_end_and_goes_up_once(
    pdus: list[tuple[int, int, int]], noise: list[bytes]
) -> None:
    with lossy_legs() as (clock, loop, _):
        driver = receiver(loop)
        packets = []
        for wait, sn, interface in pdus:
            clock.now += wait
            pdu = append_trailer(datagram(100 + sn), sn_format(18).encode(sn))
            packets.append(FakePacket(pdu, interface))
            driver.on_packet(packets[-1])
        for payload in noise:
            driver.on_packet(FakePacket(payload, 11))
        clock.serve(loop, clock.now + LATER)
        assert {packet.verdict for packet in packets} <= {"accept", "drop"}
        up = [len(packet.payload) for packet in packets if packet.verdict == "accept"]
        assert len(set(up)) == len(up) == driver.driver.statistics().delivered
        assert driver.counts["malformed"] == len(noise)


PDU = append_trailer(datagram_ipv6(60), sn_format(18).encode(5))
WHOLE = st.sampled_from([datagram(60), datagram_ipv6(60), JUMBOGRAM, PDU, datagram_ipv6(40)])
DUPLICATION = {"packets": ["handshake", "ack"], "dscp": [1], "retransmissions": True}


@st.composite
def hostile(draw: st.DrawFn) -> bytes:
    """A packet with some bytes of its headers changed, and its end cut."""
    packet = bytearray(draw(WHOLE))
    changes = st.tuples(st.integers(0, len(packet) - 1), st.integers(0, 255))
    for place, value in draw(st.lists(changes, max_size=6)):
        packet[place] = value
    return bytes(packet[: draw(st.integers(0, len(packet)))])


@pytest.mark.parametrize(
    "pdcp", [{}, {"numbering": "late"}, {"duplication": DUPLICATION}, {"report_ms": 20}]
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(packets=st.lists(st.one_of(st.binary(max_size=80), hostile()), min_size=1, max_size=5))
def test_no_packet_ends_an_element(
    packets: list[bytes],
    pdcp: dict[str, Any],
    clock: Clock,
    legs: tuple[RealLoop, list[LegDriver]],
) -> None:
    loop, drivers = legs
    bearer, other_end = transmitter(loop, drivers, **pdcp), receiver(loop)
    for packet in packets:
        clock.now += MS
        for take in (bearer.on_packet, other_end.on_packet, departing(loop, drivers[0])):
            take(FakePacket(packet, indev=11))
        loop.serve(clock.now)


@pytest.mark.parametrize("options", FORWARDED.values(), ids=FORWARDED)
def test_options_that_a_router_forwards_pass(options: bytes) -> None:
    assert may_be_forwarded(datagram(options=options))
