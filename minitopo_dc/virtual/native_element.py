"""The gnb or ue on the native core: legs, bearers and the ways between them are in C."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from minitopo_dc.native.library import library
from minitopo_dc.router import ElementSettings, ReceiveBearer, ReportLeg, TransmitBearer
from minitopo_dc.router.drivers import Way
from minitopo_dc.router.native import (
    NativeLegDriver,
    NativeReceiveDriver,
    NativeTransmitDriver,
    native_transmitter,
)
from minitopo_dc.router.settings import ElementLeg
from minitopo_dc.virtual.element import Element
from minitopo_dc.virtual.packet import Flow, Packet, Take


class NativeElement(Element):
    """The legs and bearers of one router host, in C."""

    _loop: Any
    _legs: Any
    _transmit: Any
    _receive: Any

    def __init__(
        self,
        settings: ElementSettings,
        loop: Any,
        flows: dict[Flow, Any],
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
    ) -> None:
        """Make legs and bearers; each flow that enters is added to `flows`."""
        self._flows = flows
        self._lib = loop.lib
        self._peer = self
        super().__init__(settings, loop, leg_of=leg_of, processing_ns=processing_ns, paths={})

    def connect(self, peer: Element) -> None:
        """Connect this element's legs to `peer`, which takes the PDUs that cross them."""
        assert isinstance(peer, NativeElement)
        self._peer = peer
        for flow in self._report_flows:
            flow.deliver = peer.report_taker(flow.destination[1])

    def entrance(self, flow: Flow) -> Take:
        """Return the function that takes a flow's packets from the end host on this side."""
        addresses = (flow.source[0], flow.destination[0])
        bearer = _driver_of(flow, self._settings.transmit, self._transmit)
        other = _driver_of(flow, self._peer._settings.receive, self._peer._receive)
        leg = self._legs[next(self._leg_of[each] for each in addresses if each in self._leg_of)]
        return self._take(flow, bearer, leg, other)

    def _leg_driver(self, leg: ElementLeg) -> Any:
        driver = NativeLegDriver(leg)
        driver.pointer = self._lib.network_leg(
            self._loop.pointer, driver.leg.pointer, driver.number
        )
        driver.leg.disown()
        return driver

    def _transmitting(self, bearer: TransmitBearer) -> Any:
        legs = [self._legs[number].leg for number in bearer.legs]
        return native_transmitter(self._settings, bearer, legs)

    def _transmitter(self, bearer: TransmitBearer, entity: Any) -> Any:
        driver = NativeTransmitDriver(bearer.bearer, entity)
        if entity.asked is not None:
            entity.asked.failed = self._loop.fail
        pointers = [self._legs[number].pointer for number in bearer.legs]
        driver.pointer = self._lib.network_transmit(
            self._loop.pointer, entity.pointer, pointers, len(pointers)
        )
        entity.disown()
        return driver

    def _received(self, bearer: ReceiveBearer) -> Any:
        driver = NativeReceiveDriver(bearer.bearer, bearer.pdcp, len(bearer.legs))
        driver.pointer = self._lib.network_receive(
            *(self._loop.pointer, driver.entity.pointer, driver.counts),
            *(bearer.legs, len(bearer.legs)),
        )
        driver.disown()
        return driver

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        flow = Flow((str(leg.source), port), (str(leg.destination), port))
        self._report_flows.append(flow)
        driver = self._legs[leg.leg]
        take = self._take(flow, None, driver, None)
        return driver.leg, lambda report, _now: take(Packet(flow, report))

    def _take(
        self,
        flow: Flow,
        bearer: NativeTransmitDriver | None,
        leg: NativeLegDriver,
        other: NativeReceiveDriver | None,
    ) -> Take:
        none = library().ffi.NULL
        self._flows[flow] = made = self._lib.network_flow(
            *(self._loop.pointer, flow.headers_bytes),
            *(none if bearer is None else bearer.pointer, leg.pointer),
            *(none if other is None else other.pointer, self._processing),
        )
        return partial(self._loop.enter, made)


def _driver_of(flow: Flow, bearers: Any, drivers: Any) -> Any:
    """Return the driver of the first bearer whose filter a flow fits; None when there is none."""
    pairs = zip(bearers, drivers, strict=True)
    return next((driver for bearer, driver in pairs if flow.belongs_to(bearer.match)), None)
