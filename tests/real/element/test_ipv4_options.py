"""What a router does not forward for its IPv4 options gets no number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import sn_format, split_trailer
from minitopo_dc.real.element.drivers import LegDriver
from minitopo_dc.real.element.ipv4_options import may_be_forwarded
from minitopo_dc.real.element.kernel.loop import Loop
from tests.real.element.fakes import FakePacket, datagram, transmitter
from tests.real.element.options import FORWARDED, REFUSED


@pytest.mark.parametrize("options", FORWARDED.values(), ids=FORWARDED)
def test_options_that_a_router_forwards_pass(options: bytes) -> None:
    assert may_be_forwarded(datagram(options=options))


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_options_that_a_router_refuses_do_not_pass(options: bytes) -> None:
    assert not may_be_forwarded(datagram(options=options))


@given(st.binary(min_size=4, max_size=40).map(lambda raw: raw[: len(raw) // 4 * 4]))
def test_any_bytes_pass_or_do_not(options: bytes) -> None:
    assert may_be_forwarded(datagram(options=options)) in (True, False)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_what_the_kernel_would_drop_behind_the_queue_leaves_no_gap(
    options: bytes, legs: tuple[Loop, list[LegDriver]]
) -> None:
    driver = transmitter(*legs)
    packets = [FakePacket(each) for each in (datagram(), datagram(options=options), datagram())]
    for packet in packets:
        driver.on_packet(packet)
    assert [packets[1].verdict, packets[1].mark] == ["drop", 0]
    assert [driver.refused_options, driver.malformed, driver.entity.statistics().sdus] == [1, 0, 2]
    numbers = [split_trailer(packets[at].payload, 3)[0] for at in (0, 2)]
    assert numbers == [sn_format(18).encode(number) for number in (0, 1)]
