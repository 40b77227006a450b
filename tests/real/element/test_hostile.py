"""Packets that nobody would send: each is held or has its verdict, and none ends an element."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element.drivers import LegDriver
from minitopo_dc.real.element.kernel.loop import Loop
from tests.real.element.fakes import (
    JUMBOGRAM,
    MS,
    Clock,
    FakePacket,
    datagram,
    datagram_ipv6,
    receiver,
    transmitter,
)

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
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(packets=st.lists(st.one_of(st.binary(max_size=80), hostile()), min_size=1, max_size=5))
def test_no_packet_ends_an_element(
    packets: list[bytes],
    pdcp: dict[str, Any],
    clock: Clock,
    legs: tuple[Loop, list[LegDriver]],
) -> None:
    loop, drivers = legs
    bearer, other_end = transmitter(loop, drivers, **pdcp), receiver(loop)
    for packet in packets:
        clock.now += MS
        for take in (bearer.on_packet, other_end.on_packet, drivers[0].on_packet):
            take(FakePacket(packet, indev=11))
        loop.serve(clock.now)
