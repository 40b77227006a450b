"""The clock of the element's tests, and a machine, for those of the element in C."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minitopo_dc.element import native_element, native_loop
from tests.element.conftest import clock
from tests.element.fake_netlink import FakeNetlinkQueues
from tests.element.fakes import Clock, NoInjector
from tests.native.elements import Sockets

__all__ = ["clock"]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Clock]:
    made: list[Sockets] = []

    def injector(leg: int) -> Sockets:
        made.append(Sockets(leg))
        return made[-1]

    monkeypatch.setattr(native_loop, "NetlinkQueues", FakeNetlinkQueues)
    monkeypatch.setattr(native_element, "Injector", injector)
    monkeypatch.setattr("minitopo_dc.element.drivers.Injector", NoInjector)
    yield clock
    for each in made:
        each.close()
