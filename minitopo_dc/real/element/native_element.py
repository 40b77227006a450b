"""An element whose packets C carries; Python makes it, changes it, and writes its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.library import library
from minitopo_dc.native.receive import NativeReceiver
from minitopo_dc.native.transmit import NativeTransmitter
from minitopo_dc.real.element.drivers import Held, LegDriver
from minitopo_dc.real.element.kernel.injection import Injector
from minitopo_dc.real.element.kernel.queue import WHOLE_PACKET
from minitopo_dc.real.element.native_captures import NativeCaptures
from minitopo_dc.real.element.native_loop import NativeLoop
from minitopo_dc.real.element.process import Element
from minitopo_dc.real.element.reports import ReportOutlet
from minitopo_dc.router.drivers import DeliveryStatistics, Way, with_bytes
from minitopo_dc.router.native import (
    NativeReportMaker,
    native_core_obstacle,
    native_receiver,
    native_transmitter,
)
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


class NativeLegDriver:
    """Runs a leg in C; the counterpart of `LegDriver`."""

    def __init__(self, leg: ElementLeg, loop: NativeLoop, versions: Sequence[int]) -> None:
        """Make the leg of these settings and its driver, for these versions of IP."""
        self.number = leg.leg
        made = leg.build({}, make=NativeLeg)
        assert isinstance(made, NativeLeg)
        self.leg = made
        self._counters = loop.counters()
        self.injector = _Injector(leg.leg, versions, self._counters)
        self._lib = loop.lib
        self.pointer = loop.lib.element_add_leg(loop.pointer, made.pointer, leg.leg, self._counters)
        made.disown()
        loop.lib.element_leg_raw(self.pointer, *self.injector.descriptors)

    @property
    def malformed(self) -> int:
        """Return how many packets without a bearer were dropped for their header."""
        return int(self._counters.malformed)

    def rearm(self) -> None:
        """Do nothing, as C asks the leg when it serves."""

    def push(self, packet: Held, size: int, now: int) -> None:
        """Put a datagram of the element's own (a report) on the leg."""
        self._lib.element_leg_send(self.pointer, packet.get_payload(), size, now)


class NativeTransmitDriver:
    """Runs a transmitting entity in C; the counterpart of `TransmitDriver`."""

    def __init__(
        self,
        bearer: TransmitBearer,
        entity: NativeTransmitter,
        legs: Sequence[NativeLegDriver],
        loop: NativeLoop,
        queue: int,
    ) -> None:
        self.bearer = bearer.bearer
        self.entity = entity
        self._counters = loop.counters()
        self._lib = loop.lib
        pointers = [leg.pointer for leg in legs]
        self.pointer = loop.lib.element_add_transmit(
            *(loop.pointer, entity.pointer, pointers, len(pointers)),
            *(bearer.pdcp.sn_bits, queue, self._counters),
        )
        entity.disown()

    def unnumbered(self) -> dict[str, int]:
        """Count the packets that got no number, by the reason."""
        names = ("malformed", "refused_options", "handed_back")
        return {name: getattr(self._counters, name) for name in names}

    def legs_changed(self, now: int) -> None:
        """React to legs that went down or up, or to a report of the receiver."""
        self._lib.element_transmit_changed(self.pointer, now)


class NativeReceiveDriver:
    """Runs a receiving entity in C; the counterpart of `ReceiveDriver`."""

    def __init__(
        self,
        bearer: ReceiveBearer,
        entity: NativeReceiver,
        reports: NativeReportMaker | None,
        loop: NativeLoop,
        *,
        indices: Sequence[int],
        queue: int,
    ) -> None:
        """Take the interfaces by which the legs' PDUs enter, and the one queue for all."""
        self.bearer = bearer.bearer
        self.entity = entity
        self.reports = reports
        self._counters = loop.counters()
        counts = library().ffi.NULL if reports is None else reports.counts.pointer
        self.pointer = loop.lib.element_add_receive(
            *(loop.pointer, entity.pointer, counts, list(indices), len(indices)),
            *(bearer.pdcp.sn_bits, queue, self._counters),
        )
        entity.disown()
        if reports is not None:
            reports.counts.disown()

    @property
    def malformed(self) -> int:
        """Return how many packets were no PDUs."""
        return int(self._counters.malformed)

    def statistics(self) -> DeliveryStatistics:
        """Return the counters up to now."""
        return with_bytes(self.entity.statistics(), self._counters.delivered_bytes)


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
        return native_transmitter(self._settings, bearer, legs)

    def _transmitter(self, bearer: TransmitBearer, entity: Any) -> Any:
        legs = [self._legs[number] for number in bearer.legs]
        queue = self._opened(WHOLE_PACKET)
        driver: Any = NativeTransmitDriver(bearer, entity, legs, self._loop, queue)
        self._captures.outbound(bearer, driver.pointer)
        self._admit(bearer, driver, queue)
        return driver

    def _received(self, bearer: ReceiveBearer) -> Any:
        entity, reports = native_receiver(bearer.pdcp, len(bearer.legs))
        indices = self._indices(bearer)
        queue = self._opened(WHOLE_PACKET)
        self._admit_pdus(bearer, queue)
        driver = NativeReceiveDriver(
            bearer, entity, reports, self._loop, indices=indices, queue=queue
        )
        self._captures.arrivals(bearer, driver.pointer)
        return driver

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        driver = self._legs[leg.leg]
        return driver.leg, ReportOutlet(driver, leg, port).send


def lacking(hosts: Sequence[ElementSettings]) -> str | None:
    """Return why the elements of one process cannot be native, None if they can."""
    found = (
        reason(each) for each in hosts for reason in (_unsupported_setting, native_core_obstacle)
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
