"""The element's loop in C: packets and their timers never reach Python, all else does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minitopo_dc.capture import CaptureFile
from minitopo_dc.native.library import library
from minitopo_dc.real.element.kernel.loop import MAX_STALLS, Loop, clock
from minitopo_dc.real.element.kernel.netlink_queues import NetlinkQueues
from minitopo_dc.real.element.kernel.realtime import ElementError

ROOM = 64
"""Descriptors that C tells of at once."""


class NativeLoop(Loop):
    """A loop that comes back to Python for orders, other sources, timed parts and signals.

    Raises:
        ElementError: the kernel has no queues for this process.
    """

    def __init__(self) -> None:
        """Open the socket of the queues, and make the loop in C."""
        super().__init__()
        module = library()
        self._ffi, self.lib = module.ffi, module.lib
        self.queues = NetlinkQueues()
        made = self.lib.element_new(self.queues.fileno())
        self.pointer = self._ffi.gc(made, self.lib.element_free)
        """The element in C."""
        self._kept: list[Any] = []
        self._files: dict[int, Path] = {}

    def counters(self) -> Any:
        """Return counters that C writes, for as long as the loop lives."""
        self._kept.append(self._ffi.new("element_counters *"))
        return self._kept[-1]

    def capture(self, file: CaptureFile) -> Any:
        """Return a capture in C that adds its records to a file; `element_capture_end` ends it."""
        descriptor = file.fileno()
        self._files[descriptor] = file.path
        return self.lib.element_capture(self.pointer, descriptor, file.offset)

    def serve(self, now: int) -> None:
        """Let every part do what is due, Python's parts first, and find the next moment."""
        super().serve(now)
        self.lib.element_python_due(self.pointer, self.due)
        self.lib.element_serve(self.pointer, now)
        self.lib.element_flush(self.pointer)

    def run(self, order: Callable[[str], None]) -> None:
        """Work until `stop` or until standard input ends, with each line of it to `order`.

        Raises:
            ElementError: packets cannot be read, or their verdicts not be given.
            OSError: a capture cannot be written; it names the file.
        """
        for descriptor in self._descriptors():
            self.lib.element_watch(self.pointer, descriptor)
        ready = self._ffi.new("int[]", ROOM)
        with self._counting():
            while not self._stopping:
                found = self.lib.element_run(self.pointer, ready, ROOM)
                if found < 0:
                    self._fail(-found)
                now = clock()
                if now >= self.due:
                    self.serve(now)
                self._read(ready[0:found], order)

    def _fail(self, error: int) -> None:
        file = self._files.get(self.lib.element_failed(self.pointer))
        if file is not None:
            raise OSError(error, os.strerror(error), str(file))
        raise ElementError(f"packets: {os.strerror(error)}")

    def close(self) -> None:
        """Unbind the queues of the kernel."""
        self.queues.close()

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Add what C has counted when the block ends."""
        yield
        found = self.lib.element_loop_counters(self.pointer)
        for bits, count in enumerate(found.lateness):
            self.lateness[bits] += count
        several = range(found.stalls)
        stalls = [(found.stalled_at[i], found.stalled_for[i]) for i in several]
        self.stalls = sorted([*self.stalls, *stalls])[:MAX_STALLS]
