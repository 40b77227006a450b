"""What an element finds on its host, without a kernel: queues, legs, rules, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.link import LegStatistics
from minitopo_dc.real.element import loop as loop_module
from minitopo_dc.real.element import process
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.real.element.native import RealNativeElement, RealNativeLoop
from minitopo_dc.real.element.packets import Wire
from minitopo_dc.real.element.process import RealElement
from minitopo_dc.router.native import native_obstacle
from minitopo_dc.router.recorder import Recorder, Series
from minitopo_dc.scenario import LegDirection
from minitopo_dc.scenario.element import ElementSettings, wifi_paths
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import MS, FakePacket

RADIO = {"rate_mbps": 1000, "delay_ms": 0, "jitter_ms": 0}
LEGS = [{"leg": n, "interface": f"gnb-leg{n}", "seed": "1", "radio": RADIO} for n in (1, 2)]
SENDER = {"bearer": 1, "interface": "gnb-core", "legs": [1, 2]}
RECEIVER = {"bearer": 2, "legs": [1, 2]}
REFUSED = ["real-time scheduling: Operation not permitted"]


class FakeQueue:
    """A queue with the packets that tests put into it, each read once."""

    def __init__(self, number: int, callback: Callable[[FakePacket], None], copy: int) -> None:
        self.number, self.callback, self.copy = number, callback, copy
        self.closed = False
        self._packets: list[FakePacket] = []
        self._descriptor = os.eventfd(0)

    def fileno(self) -> int:
        return self._descriptor

    def put(self, payload: bytes, indev: int = 0) -> FakePacket:
        self._packets.append(FakePacket(payload, indev))
        os.eventfd_write(self._descriptor, 1)
        return self._packets[-1]

    def read(self) -> None:
        os.eventfd_read(self._descriptor)
        while self._packets:
            self.callback(self._packets.pop(0))

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        self.closed = True


class FakeKernelLeg(Wire):
    """A leg of the kernel's that says when it is started."""

    def __init__(self, interface: str, radio: LegDirection) -> None:
        super().__init__()
        self.interface, self.radio = interface, radio
        self.started: list[int] = []
        self.closed = False

    def start(self, now: int) -> None:
        self.started.append(now)

    def statistics(self) -> LegStatistics:
        return LegStatistics(*[5] * 12)

    def lateness_ms(self) -> dict[str, float]:
        return {"changes": 2, "mean_ms": 1.5, "max_ms": 2.0}

    def close(self) -> None:
        self.closed = True


class Ending:
    """A timed part that looks each millisecond whether it is time to stop."""

    def __init__(self, until: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._until, self._stop = until, stop
        self._next = 0
        self._patience = 2_000

    def next_timeout(self) -> int:
        return self._next

    def handle(self, now: int) -> None:
        self._next = now + MS
        self._patience -= 1
        assert self._patience, "what was waited for did not happen"
        if self._until():
            self._stop()


class Host:
    """What an element finds on its host, and what it does there."""

    def __init__(self, directory: Path, *, native: bool = False) -> None:
        self.directory = directory
        self.queues: list[Any] = []
        self.loops: list[RealNativeLoop] = []
        self.is_native = native
        self.kernel_legs: list[FakeKernelLeg] = []
        self.rules: list[list[str]] = []
        self.handlers: dict[int, Callable[..., None]] = {}
        self.elements: list[RealElement] = []
        self.series: list[Series] = []

    def element(self, **fields: Any) -> RealElement:
        values = {"host": "gnb", "legs": LEGS, "directory": self.directory}
        settings = ElementSettings.check(values | fields, "test")
        kind, loop = RealElement, RealLoop()
        if self.is_native and native_obstacle([settings]) is None:
            kind, loop = RealNativeElement, RealNativeLoop()
            assert isinstance(loop.queues, FakeNetlinkQueues)
            loop.queues.opens_into(self.queues, loop)
            self.loops.append(loop)
        self.elements.append(kind(settings, loop, paths=wifi_paths([settings])))
        return self.elements[-1]

    def run(
        self,
        element: RealElement,
        orders: str = "",
        until: Callable[[], bool] = lambda: True,
        by: signal.Signals = signal.SIGTERM,
    ) -> None:
        """Give the element these orders; end it by a signal when `until` holds."""
        reading, writing = os.pipe()
        os.write(writing, orders.encode())

        def stop() -> None:
            self.handlers[by]()

        element._loop.add_timed(Ending(until, stop))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop_module, "ORDERS", reading)
            try:
                process.run([element], element._loop)
            finally:
                os.close(reading)
                os.close(writing)

    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads((self.directory / "gnb-summary.json").read_text())
        return summary

    def queue(self, number: int, callback: Callable[[FakePacket], None], copy: int) -> FakeQueue:
        queue = FakeQueue(number, callback, copy)
        self.queues.append(queue)
        return queue

    def kernel_leg(self, interface: str, radio: LegDirection) -> FakeKernelLeg:
        self.kernel_legs.append(FakeKernelLeg(interface, radio))
        return self.kernel_legs[-1]

    def recorder(self, series: list[Series], interval_ms: int, now: int) -> Recorder:
        self.series = series
        return Recorder(series, interval_ms, now)

    def iptables(self, words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.rules.append(words)
        return subprocess.CompletedProcess(words, 0, "", "not here")

    def queued(self) -> list[int]:
        """The numbers of the queues that rules name, in order."""
        return sorted({int(words[-1]) for words in self.rules if "NFQUEUE" in words})
