"""An element whose packets C carries; Python makes it, changes it, and writes its results.

Packets and their timers never reach Python, all else does. Of captures Python opens the files,
writes their headers, and says what stands before each bearer's PDUs; C adds the records. Packets
that C reads in one turn, or lets go in one turn, have its time in common.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minitopo_dc.capture import CaptureFile, frame_start
from minitopo_dc.fields import IpVersion
from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.library import library
from minitopo_dc.native.pdcp import NativeTransmitter
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.injection import Injector
from minitopo_dc.real.element.loop import MAX_STALLS, ElementError, RealLoop, clock
from minitopo_dc.real.element.packets import UNNUMBERED
from minitopo_dc.real.element.process import RealElement
from minitopo_dc.real.element.queues import WHOLE_PACKET, NetlinkQueues
from minitopo_dc.router.drivers import Send
from minitopo_dc.router.native import NativeLegDriver, NativeReceiveDriver, NativeTransmitDriver
from minitopo_dc.scenario.element import Bearer, Core, ElementLeg, ElementSettings, TransmitBearer

IP_VERSIONS: tuple[IpVersion, ...] = (4, 6)
ROOM = 64
"""Descriptors that C tells of at once."""


class RealNativeLoop(RealLoop):
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
        self.router = self._ffi.cast("router *", made)
        self._files: dict[int, Path] = {}

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
        counted = self.lib.element_loop_counters(self.pointer)
        while not self._stopping:
            count = self.lib.element_run(self.pointer, ready, ROOM)
            if count < 0:
                words, file = os.strerror(-count), counted.failed
                if file in self._files:
                    raise OSError(-count, words, str(self._files[file]))
                raise ElementError(f"packets: {words}")
            now = clock()
            if now >= self.due:
                self.serve(now)
            self._read(ready[0:count], order)
        for bits, count in enumerate(counted.lateness):
            self.lateness[bits] += count
        several = range(counted.stalls)
        stalls = [(counted.stalled_at[i], counted.stalled_for[i]) for i in several]
        self.stalls = sorted([*self.stalls, *stalls])[:MAX_STALLS]

    def close(self) -> None:
        """Unbind the queues of the kernel."""
        self.queues.close()


class NativeCaptures(Captures):
    """The captures of packets that a loop in C carries, which writes them into the files."""

    def __init__(self, settings: ElementSettings, offset: int, loop: RealNativeLoop) -> None:
        super().__init__(settings, offset)
        self._lib = loop.lib
        self._captures = {leg: loop.capture(file) for leg, file in self._files.items()}

    def departures(self, leg: int) -> Any:
        """Return the capture in C of what leaves on a leg, or NULL."""
        return self._captures.get(leg, library().ffi.NULL)

    def frame(self, bearer: Bearer, driver: Any) -> None:
        """Capture the PDUs that leave or arrive for a bearer, whose driver in C this is."""
        for position, leg in enumerate(bearer.legs if self._files else ()):
            start = frame_start(**self.named(leg, bearer))
            if isinstance(bearer, TransmitBearer):
                self._lib.element_transmit_capture(driver, position, start, len(start))
            else:
                to = self._captures[leg]
                self._lib.element_receive_capture(driver, position, to, start, len(start))

    def close(self) -> None:
        """Write what is left; it may be called again."""
        captures, self._captures = self._captures, {}
        errors = {leg: self._lib.element_capture_end(capture) for leg, capture in captures.items()}
        super().close()
        for leg, error in errors.items():
            if error:
                raise OSError(error, os.strerror(error), str(self._files[leg].path))


class RealNativeElement(RealElement):
    """The legs and bearers of one router host, run in C."""

    core: Core = "native"
    _loop: RealNativeLoop
    _captures: Any
    _legs: Any
    _transmit: Any
    _receive: Any

    def close(self) -> None:
        """Unbind the queues; the kernel drops what is still held."""
        super().close()
        self._loop.close()

    def _open_captures(self) -> Any:
        return NativeCaptures(self._settings, self._wall_clock_offset, self._loop)

    def _leg_driver(self, leg: ElementLeg) -> Any:
        driver = NativeLegDriver(leg, self._loop.router)
        self._share(leg, driver.leg, NativeLeg)
        injector = self._injectors[leg.leg] = Injector(leg.leg)
        versions = self._settings.ip_versions
        sockets = [injector.descriptor(n) if n in versions else -1 for n in IP_VERSIONS]
        capture = self._captures.departures(leg.leg)
        self._loop.lib.element_leg_out(driver.pointer, *sockets, capture)
        return driver

    def _departures(self, driver: Any, copy: int) -> int:
        return self._opened(copy, self._loop.lib.QUEUE_LEG, driver)

    def _opened(self, copy: int, of: int, driver: Any) -> int:
        """Open a queue of packets for a driver in C, and return its number."""
        queue = self._loop.queues.add(copy)
        self._queues.append(queue)
        self._loop.lib.element_queue(self._loop.pointer, queue, of, driver.pointer)
        return queue

    def _transmitter(self, bearer: TransmitBearer) -> Any:
        legs = [self._legs[number] for number in bearer.legs]
        entity = self._transmitting(bearer, NativeTransmitter)
        driver = NativeTransmitDriver(bearer, entity, legs, self._loop.router)
        self._captures.frame(bearer, driver.pointer)
        self._admit(bearer, self._opened(WHOLE_PACKET, self._loop.lib.QUEUE_SDUS, driver))
        return driver

    def _receiver(self, bearer: Bearer) -> Any:
        driver = NativeReceiveDriver(bearer, self._indices(bearer), self._loop.router)
        self._captures.frame(bearer, driver.pointer)
        self._admit_pdus(bearer, self._opened(WHOLE_PACKET, self._loop.lib.QUEUE_PDUS, driver))
        return driver

    def _putting(self, number: int) -> Send:
        pointer, send = self._legs[number].pointer, self._loop.lib.element_leg_send
        return lambda data, now: send(pointer, data, len(data), now)

    def _uncarried(self) -> Mapping[tuple[str, int], Mapping[str, int]]:
        return {
            **{("legs", n): counts(driver, UNNUMBERED[:1]) for n, driver in self._legs.items()},
            **{("transmit", it.bearer): counts(it, UNNUMBERED) for it in self._transmit},
            **{("receive", it.bearer): counts(it, UNNUMBERED[:1]) for it in self._receive},
        }

    def _copies_refused(self) -> int:
        return sum(counts(it, ["refused"])["refused"] for it in self._legs.values())


def counts(driver: Any, names: Sequence[str]) -> dict[str, int]:
    """Return what a driver in C has not carried, by the names of the reasons."""
    uncarried = library().ffi.cast("uncarried *", driver.pointer)
    return {name: int(getattr(uncarried, name)) for name in names}
