"""The clock of the element's tests, and a machine, for those of the element in C."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minitopo_dc.real.element import native
from tests.native.elements import Sockets
from tests.real.element.conftest import clock
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import Clock, NoInjector

__all__ = ["clock"]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Clock]:
    made: list[Sockets] = []

    def injector(leg: int) -> Sockets:
        made.append(Sockets(leg))
        return made[-1]

    monkeypatch.setattr(native, "NetlinkQueues", FakeNetlinkQueues)
    monkeypatch.setattr(native, "Injector", injector)
    monkeypatch.setattr("minitopo_dc.real.element.drivers.Injector", NoInjector)
    yield clock
    for each in made:
        each.close()
