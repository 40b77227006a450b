"""An element whose packets C carries; Python makes it, changes it, and writes its results.

Packets and their timers never reach Python, all else does. Of captures Python opens the files,
writes their headers, and says what stands before each bearer's PDUs; C adds the records. Packets
that C reads in one turn, or lets go in one turn, have its time in common.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minitopo_dc.capture import CaptureFile, frame_start
from minitopo_dc.fields import Direction
from minitopo_dc.native.library import library
from minitopo_dc.native.transmit import NativeTransmitter
from minitopo_dc.real.element.captures import OPPOSITE, capture_files, close_all
from minitopo_dc.real.element.drivers import RealLegDriver, VerdictPacket
from minitopo_dc.real.element.kernel.injection import Injector
from minitopo_dc.real.element.kernel.loop import MAX_STALLS, RealLoop, clock
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.queues import WHOLE_PACKET, NetlinkQueues
from minitopo_dc.real.element.process import RealElement
from minitopo_dc.real.element.reports import report_sender
from minitopo_dc.router import native
from minitopo_dc.router.drivers import Way
from minitopo_dc.scenario.element import (
    Core,
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    ReportLeg,
    TransmitBearer,
)

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
        while not self._stopping:
            count = self.lib.element_run(self.pointer, ready, ROOM)
            if count < 0:
                words, file = os.strerror(-count), self.lib.element_failed(self.pointer)
                if file in self._files:
                    raise OSError(-count, words, str(self._files[file]))
                raise ElementError(f"packets: {words}")
            now = clock()
            if now >= self.due:
                self.serve(now)
            self._read(ready[0:count], order)
        counted = self.lib.element_loop_counters(self.pointer)
        for bits, count in enumerate(counted.lateness):
            self.lateness[bits] += count
        several = range(counted.stalls)
        stalls = [(counted.stalled_at[i], counted.stalled_for[i]) for i in several]
        self.stalls = sorted([*self.stalls, *stalls])[:MAX_STALLS]

    def close(self) -> None:
        """Unbind the queues of the kernel."""
        self.queues.close()


class NativeCaptures:
    """The captures of one element; it has none if its settings want none.

    Args:
        settings: the element's.
        offset: from the element's clock to the wall clock, ns.
        loop: the element's, in C.

    Raises:
        OSError: a file cannot be written.
    """

    def __init__(self, settings: ElementSettings, offset: int, loop: RealNativeLoop) -> None:
        self._outbound = settings.pcap
        self._lib = loop.lib
        self._files = capture_files(settings, offset)
        self._captures = {leg: loop.capture(file) for leg, file in self._files.items()}

    def departures(self, leg: int, driver: Any) -> None:
        """Capture what leaves on a leg, whose driver in C this is."""
        if self._outbound is not None:
            self._lib.element_leg_capture(driver, self._captures[leg])

    def outbound(self, bearer: TransmitBearer, driver: Any) -> None:
        """Let PDUs that leave be known for a bearer's, whose driver in C this is."""
        if self._outbound is None:
            return
        for position, leg in enumerate(bearer.legs):
            start = _start(leg, bearer, self._outbound)
            self._lib.element_transmit_capture(driver, position, start, len(start))

    def arrivals(self, bearer: ReceiveBearer, driver: Any) -> None:
        """Capture the PDUs that arrive for a bearer, whose driver in C this is."""
        if self._outbound is None:
            return
        for position, leg in enumerate(bearer.legs):
            start = _start(leg, bearer, OPPOSITE[self._outbound])
            to = self._captures[leg]
            self._lib.element_receive_capture(driver, position, to, start, len(start))

    def close(self) -> None:
        """Write what is left; it may be called again."""
        captures, self._captures = self._captures, {}
        errors = {leg: self._lib.element_capture_end(capture) for leg, capture in captures.items()}
        close_all(self._files)
        for leg, error in errors.items():
            if error:
                raise OSError(error, os.strerror(error), str(self._files[leg].path))


def _start(leg: int, bearer: TransmitBearer | ReceiveBearer, direction: Direction) -> bytes:
    return frame_start(
        leg=leg, bearer=bearer.bearer, direction=direction, sn_bits=bearer.pdcp.sn_bits
    )


class _Injector:
    """The sockets for what is sent on a leg besides the kernel's packets."""

    def __init__(self, leg: int, versions: Sequence[int], counters: Any) -> None:
        self._sockets = Injector(leg)
        self._counters = counters
        self.descriptors = [self._sockets.descriptor(n) if n in versions else -1 for n in (4, 6)]

    @property
    def refused(self) -> int:
        """Return how many datagrams the kernel did not send."""
        return int(self._counters.refused)

    def close(self) -> None:
        """Close the sockets of both IP versions."""
        self._sockets.close()


class RealNativeLegDriver(native.NativeLegDriver):
    """A leg in C over real packets."""

    def __init__(self, leg: ElementLeg, loop: RealNativeLoop, versions: Sequence[int]) -> None:
        """Make the leg of these settings and its driver, for these versions of IP."""
        super().__init__(leg)
        self._counters = loop.counters()
        self.injector = _Injector(leg.leg, versions, self._counters)
        self.pointer = self._lib.element_add_leg(
            loop.pointer, self.leg.pointer, leg.leg, self._counters
        )
        self.leg.disown()
        self._lib.element_leg_raw(self.pointer, *self.injector.descriptors)

    @property
    def malformed(self) -> int:
        """Return how many packets without a bearer were dropped for their header."""
        return int(self._counters.malformed)

    def push(self, packet: VerdictPacket, size: int, now: int) -> None:
        """Put a datagram of the element's own (a report) on the leg."""
        self._lib.element_leg_send(self.pointer, packet.get_payload(), size, now)


class RealNativeTransmitDriver(native.NativeTransmitDriver):
    """A transmitting entity in C over real packets."""

    def __init__(
        self,
        bearer: TransmitBearer,
        entity: NativeTransmitter,
        legs: Sequence[RealNativeLegDriver],
        loop: RealNativeLoop,
        queue: int,
    ) -> None:
        super().__init__(bearer.bearer, entity)
        self._counters = loop.counters()
        pointers = [leg.pointer for leg in legs]
        self.pointer = self._lib.element_add_transmit(
            *(loop.pointer, entity.pointer, pointers, len(pointers)),
            *(bearer.pdcp.sn_bits, queue, self._counters),
        )
        entity.disown()

    @property
    def unnumbered(self) -> dict[str, int]:
        """Return how many packets got no number, by the reason."""
        names = ("malformed", "refused_options", "handed_back")
        return {name: getattr(self._counters, name) for name in names}


class RealNativeReceiveDriver(native.NativeReceiveDriver):
    """A receiving entity in C over real packets."""

    def __init__(
        self, bearer: ReceiveBearer, loop: RealNativeLoop, *, indices: Sequence[int], queue: int
    ) -> None:
        """Take the interfaces by which the legs' PDUs enter, and the one queue for all."""
        super().__init__(bearer.bearer, bearer.pdcp, len(bearer.legs))
        self._counters = loop.counters()
        self.pointer = self._lib.element_add_receive(
            *(loop.pointer, self.entity.pointer, self.counts, list(indices), len(indices)),
            *(bearer.pdcp.sn_bits, queue, self._counters),
        )
        self.disown()

    @property
    def malformed(self) -> int:
        """Return how many packets were no PDUs."""
        return int(self._counters.malformed)


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

    def _add_leg(self, leg: ElementLeg) -> None:
        made: Any = RealNativeLegDriver(leg, self._loop, self._settings.ip_versions)
        self._user_legs[leg.leg] = made
        self._captures.departures(leg.leg, made.pointer)

    def _departures(self, driver: RealLegDriver, copy: int) -> int:
        queue = self._opened(copy)
        self._loop.lib.element_leg_queue(driver.pointer, queue)  # type: ignore[attr-defined]
        return queue

    def _opened(self, copy: int) -> int:
        self._queues.append(self._loop.queues.add(copy))
        return self._queues[-1]

    def _transmitting(self, bearer: TransmitBearer) -> Any:
        legs = [self._legs[number].leg for number in bearer.legs]
        return native.native_transmitter(self._settings, bearer, legs)

    def _transmitter(self, bearer: TransmitBearer, entity: Any) -> Any:
        legs = [self._legs[number] for number in bearer.legs]
        queue = self._opened(WHOLE_PACKET)
        driver: Any = RealNativeTransmitDriver(bearer, entity, legs, self._loop, queue)
        self._captures.outbound(bearer, driver.pointer)
        self._admit(bearer, queue)
        return driver

    def _received(self, bearer: ReceiveBearer) -> Any:
        indices = self._indices(bearer)
        queue = self._opened(WHOLE_PACKET)
        self._admit_pdus(bearer, queue)
        driver = RealNativeReceiveDriver(bearer, self._loop, indices=indices, queue=queue)
        self._captures.arrivals(bearer, driver.pointer)
        return driver

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        driver = self._legs[leg.leg]
        return driver.leg, report_sender(driver, leg, port)
