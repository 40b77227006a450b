"""An element whose packets C carries; Python makes it, changes it, and writes its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minitopo_dc.native.transmit import NativeTransmitter
from minitopo_dc.real.element.drivers import Held, LegDriver
from minitopo_dc.real.element.kernel.injection import Injector
from minitopo_dc.real.element.kernel.queue import WHOLE_PACKET
from minitopo_dc.real.element.native_captures import NativeCaptures
from minitopo_dc.real.element.native_loop import NativeLoop
from minitopo_dc.real.element.process import Element
from minitopo_dc.real.element.reports import ReportOutlet
from minitopo_dc.router import native
from minitopo_dc.router.drivers import Way
from minitopo_dc.router.settings import (
    Core,
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    ReportLeg,
    TransmitBearer,
)


class _Queue(NamedTuple):
    """A kernel queue that the loop owns."""

    number: int

    def close(self) -> None:
        """Do nothing, as the loop closes it."""


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


class NativeLegDriver(native.NativeLegDriver):
    """A leg in C over real packets."""

    def __init__(self, leg: ElementLeg, loop: NativeLoop, versions: Sequence[int]) -> None:
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

    def push(self, packet: Held, size: int, now: int) -> None:
        """Put a datagram of the element's own (a report) on the leg."""
        self._lib.element_leg_send(self.pointer, packet.get_payload(), size, now)


class NativeTransmitDriver(native.NativeTransmitDriver):
    """A transmitting entity in C over real packets."""

    def __init__(
        self,
        bearer: TransmitBearer,
        entity: NativeTransmitter,
        legs: Sequence[NativeLegDriver],
        loop: NativeLoop,
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

    def unnumbered(self) -> dict[str, int]:
        """Count the packets that got no number, by the reason."""
        names = ("malformed", "refused_options", "handed_back")
        return {name: getattr(self._counters, name) for name in names}


class NativeReceiveDriver(native.NativeReceiveDriver):
    """A receiving entity in C over real packets."""

    def __init__(
        self, bearer: ReceiveBearer, loop: NativeLoop, *, indices: Sequence[int], queue: int
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


class NativeElement(Element):
    """The legs and bearers of one router host, run in C."""

    core: Core = "native"
    _loop: NativeLoop
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
        made: Any = NativeLegDriver(leg, self._loop, self._settings.ip_versions)
        self._user_legs[leg.leg] = made
        self._captures.departures(leg.leg, made.pointer)

    def _departures(self, driver: LegDriver, copy: int) -> int:
        queue = self._opened(copy)
        self._loop.lib.element_leg_queue(driver.pointer, queue)  # type: ignore[attr-defined]
        return queue

    def _opened(self, copy: int) -> int:
        number = self._loop.queues.add(copy)
        queue: Any = _Queue(number)
        self._queues.append(queue)
        return number

    def _transmitting(self, bearer: TransmitBearer) -> Any:
        legs = [self._legs[number].leg for number in bearer.legs]
        return native.native_transmitter(self._settings, bearer, legs)

    def _transmitter(self, bearer: TransmitBearer, entity: Any) -> Any:
        legs = [self._legs[number] for number in bearer.legs]
        queue = self._opened(WHOLE_PACKET)
        driver: Any = NativeTransmitDriver(bearer, entity, legs, self._loop, queue)
        self._captures.outbound(bearer, driver.pointer)
        self._admit(bearer, driver, queue)
        return driver

    def _received(self, bearer: ReceiveBearer) -> Any:
        indices = self._indices(bearer)
        queue = self._opened(WHOLE_PACKET)
        self._admit_pdus(bearer, queue)
        driver = NativeReceiveDriver(bearer, self._loop, indices=indices, queue=queue)
        self._captures.arrivals(bearer, driver.pointer)
        return driver

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        driver = self._legs[leg.leg]
        return driver.leg, ReportOutlet(driver, leg, port).send


def lacking(hosts: Sequence[ElementSettings]) -> str | None:
    """Return why the elements of one process cannot be native, None if they can."""
    found = (
        reason(each)
        for each in hosts
        for reason in (_unsupported_setting, native.native_core_obstacle)
    )
    return next((why for why in found if why is not None), None)


def _unsupported_setting(settings: ElementSettings) -> str | None:
    """Return what the settings need that the element in C lacks, beside the cores; or None."""
    lacks: dict[str, Callable[[], object]] = {
        "backend: kernel": lambda: settings.backend == "kernel",
        "wires": lambda: settings.wires,
        "next_hops": lambda: settings.next_hops,
    }
    return next((f"it has {name}" for name, has in lacks.items() if has()), None)
