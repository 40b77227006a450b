"""Legs and a clock for the tests of the element."""

from __future__ import annotations

import random

import pytest

from minitopo_dc.link import CapacityLeg, ConstantDelay, LegParameters, make_capacity
from minitopo_dc.real.element import captures as captures_module
from minitopo_dc.real.element import loop as loop_module
from minitopo_dc.real.element import packets as packets_module
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.router.drivers import LegDriver
from minitopo_dc.units import QueueLimit
from tests.real.element.fakes import MS, Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(captures_module, "clock", clock)
    monkeypatch.setattr(packets_module, "clock", clock)
    monkeypatch.setattr(loop_module, "clock", clock)
    return clock


@pytest.fixture
def legs() -> tuple[RealLoop, list[LegDriver]]:
    loop = RealLoop()
    parameters = LegParameters(queue=QueueLimit(2), delay=ConstantDelay(10 * MS))
    capacity = 8_000_000  # 1 byte a us
    made = [
        LegDriver(
            number,
            CapacityLeg(parameters, make_capacity(capacity, "loop"), random.Random(number)),
            loop,
        )
        for number in (1, 2)
    ]
    return loop, made
