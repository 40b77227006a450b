"""A bearer whose legs lose their interfaces: what is meant for them takes the others."""

from __future__ import annotations

import pytest

from minitopo_dc.pdcp import sn_format
from minitopo_dc.real.element import drivers
from minitopo_dc.real.element.drivers import TransmitDriver, WireDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.rules import leg_mark
from minitopo_dc.scenario import Pdcp
from tests.real.element.fakes import FakePacket, NoInjector, datagram


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
