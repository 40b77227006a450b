"""The clock of the element's tests, and a machine, for those of the element in C."""

from __future__ import annotations

import pytest

from minitopo_dc.real.element import native
from tests.real.element.conftest import clock
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import Clock

__all__ = ["clock"]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Clock:
    monkeypatch.setattr(native, "NetlinkQueues", FakeNetlinkQueues)
    return clock
