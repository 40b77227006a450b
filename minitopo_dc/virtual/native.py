"""The virtual clock on the native core: its loop, its elements and hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from minitopo_dc.native.library import from_c_time, library, to_c
from minitopo_dc.native.pdcp import NativeTransmitter
from minitopo_dc.router.native import NativeLegDriver, NativeReceiveDriver, NativeTransmitDriver
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.virtual import Sent
from minitopo_dc.scenario.element import Bearer, ElementLeg, TransmitBearer
from minitopo_dc.virtual.element import VirtualElement, driver_of
from minitopo_dc.virtual.host import EndHost
from minitopo_dc.virtual.network import START_NS, Flow, LoopTimer, Packet, Take, VirtualLoop

if TYPE_CHECKING:  # a stack's, which others need not wait for
    from minitopo_dc.runners.sans_io.virtual import StackEndpoint


class VirtualNativeElement(VirtualElement):
    """The legs and bearers of one router host, in C."""

    _loop: Any
    _legs: Any
    _transmit: Any
    _receive: Any
    _peer: Any

    def entrance(self, flow: Flow, *, before: int = 0, after: int = 0) -> Take:
        """Return the function that takes a flow's packets from the end host on this side."""
        bearer = driver_of(flow, self._settings.transmit, self._transmit)
        other = driver_of(flow, self._peer._settings.receive, self._peer._receive)
        return self._take(flow, bearer, self._leg_of_client(flow), other, wires=(before, after))

    def _leg_driver(self, leg: ElementLeg) -> Any:
        return NativeLegDriver(leg, self._loop.router)

    def _transmitter(self, bearer: TransmitBearer) -> Any:
        legs = [self._legs[number] for number in bearer.legs]
        entity = self._transmitting(bearer, NativeTransmitter)
        driver = NativeTransmitDriver(bearer, entity, legs, self._loop.router)
        if driver.entity.asked is not None:
            driver.entity.asked.fail = self._loop.fail
        return driver

    def _receiver(self, bearer: Bearer) -> Any:
        return NativeReceiveDriver(bearer, bearer.legs, self._loop.router)

    def _without_bearer(self, flow: Flow, leg: Any) -> Take:
        return self._take(flow, None, leg, None)

    def _take(
        self,
        flow: Flow,
        bearer: NativeTransmitDriver | None,
        leg: NativeLegDriver,
        other: NativeReceiveDriver | None,
        wires: tuple[int, int] = (0, 0),
    ) -> Take:
        none, loop = library().ffi.NULL, self._loop
        loop.flows[flow] = made = loop.lib.network_flow(
            *(loop.pointer, flow.headers_bytes, flow.ecn),
            *(none if bearer is None else bearer.pointer, leg.pointer),
            *(none if other is None else other.pointer, self._processing, *wires),
        )
        return partial(loop.enter, made)


class VirtualNativeLoop(VirtualLoop):
    """The event loop in C, which also carries packets.

    C knows a packet of Python's by a number, its token, for as long as it may still arrive.
    """

    def __init__(self) -> None:
        """Make the loop of a run, with a network."""
        module = library()
        self._ffi, self.lib = module.ffi, module.lib
        self._error: BaseException | None = None
        self._handles: list[Any] = []
        self.flows: dict[Flow, Any] = {}
        """The flows in C of those that enter it."""
        self._packets: dict[int, Packet] = {}
        self._tokens = 0
        made = self.lib.network_new(START_NS, self.handle(self))
        self.pointer = self._ffi.gc(made, self.lib.network_free)
        """The network in C."""
        self.router = self._ffi.cast("router *", made)
        self._now = self._ffi.cast("int64_t *", made)

    def handle(self, of: object) -> Any:
        """Return C's handle of an object, which is valid for as long as the loop lives."""
        self._handles.append(self._ffi.new_handle(of))
        return self._handles[-1]

    @property
    def now(self) -> int:  # type: ignore[override]  # C has it
        """Return the time in ns."""
        return int(self._now[0])

    def timer(self, fire: Callable[[], None]) -> NativeTimer:
        """Return a timer that is not set yet."""
        return NativeTimer(self, fire)

    def stop(self) -> None:
        """Let `run` end after the current event."""
        self.lib.network_stop(self.pointer, 0)

    def run(self, end: int) -> None:
        """Fire what is due until `stop`, until `end` (ns), or until nothing is left to do."""
        self.lib.network_run(self.pointer, end)
        if self._error is not None:
            raise self._error

    def fail(self, error: BaseException) -> None:
        """Keep the first error, and let C end; `run` raises it."""
        self._error = self._error or error
        self.lib.network_stop(self.pointer, 1)

    def enter(self, flow: Any, packet: Packet) -> None:
        """Let a packet enter a flow of C's."""
        self._tokens += 1
        self._packets[self._tokens] = packet
        self.lib.flow_enter(flow, self._tokens, packet.size, packet.ecn)

    def deliver(self, token: int, ecn: int) -> None:
        """Hand over a packet that has arrived, which may arrive again with another code point."""
        packet = self._packets[token]
        if ecn != packet.ecn:
            packet = copy(packet)
            packet.mark()
        packet.accept()

    def forget(self, token: int) -> None:
        """Forget a packet, which will not arrive any more."""
        del self._packets[token]


class NativeTimer(LoopTimer):
    """A timer at one moment; its `fire` may set it again."""

    __slots__ = ("_at", "_lib", "_pointer", "fail", "fire")

    def __init__(self, loop: VirtualNativeLoop, fire: Callable[[], None]) -> None:
        """Make a timer that is not set."""
        self.fire = fire
        self.fail = loop.fail
        self._lib = loop.lib
        self._pointer = self._lib.network_timer(loop.pointer, loop.handle(self))
        self._at = library().ffi.cast("int64_t *", self._pointer)

    @property
    def at(self) -> int | None:  # type: ignore[override]  # C has it
        """Return when it fires (ns), None if it is not set."""
        return from_c_time(self._at[0])

    def set(self, moment: int | None) -> None:
        """Fire at `moment` (ns) instead of when it was set for before; None: not at all."""
        self._lib.timer_set(self._pointer, to_c(moment))


class NativeHost(EndHost):
    """A host without CPU time, which works like one of the Python core until `join`."""

    _loop: Any

    def __init__(self, loop: VirtualNativeLoop, flows: Sequence[Flow]) -> None:
        """Make a host that sends on `flows`, once `endpoint` is set."""
        super().__init__(loop, flows)
        self.fail = loop.fail
        self._pointer: Any = None
        self._in_c: StackEndpoint[Any]
        self._ways: dict[Any, Any] = {}

    @property
    def received_bytes(self) -> int:
        """Return the IP bytes that reached this host."""
        if self._pointer is None:
            return super().received_bytes
        return int(self._shown.received_bytes)

    def join(self, gets: Iterable[Flow]) -> None:
        """Have C send and read the datagrams of this host's endpoint, to which the flows lead."""
        lib, ffi, flows = self._loop.lib, library().ffi, self._loop.flows
        self._in_c = endpoint = cast("StackEndpoint[Any]", self.endpoint)
        self._pointer = lib.network_host(self._loop.pointer, self._loop.handle(self))
        self._shown = ffi.cast("host_shown *", self._pointer)
        connection = endpoint.session.connection
        number = connection.number
        pointers = (ffi.cast("void *", pointer) for pointer in connection.pointers())
        lib.host_endpoint(self._pointer, *pointers)
        for (source, destination), flow in self._flows.items():
            self._ways[source, destination] = flows[flow]
            numbers = (-1 if source is None else number(source), number(destination))
            lib.host_sends(self._pointer, flows[flow], *numbers)
        for flow in gets:
            numbers = number(flow.source), number(flow.destination)
            lib.host_gets(self._pointer, flows[flow], *numbers)

    def wake(self, moment: int | None) -> None:
        """Let the endpoint act at a moment (ns)."""
        if self._pointer is None:
            super().wake(moment)
        elif moment is not None:
            self._tell_due()
            self._loop.lib.host_wake(self._pointer, moment)

    def send(self, datagrams: Iterable[Sent]) -> None:
        """Send datagrams, one after the other."""
        if self._pointer is None:
            super().send(datagrams)
            return
        lib = self._loop.lib
        for data, source, destination in datagrams:
            lib.flow_send(self._ways[source, destination], data, len(data))

    def step(self, why: int) -> int:
        """Act on what is due or has happened; return when to step again (ns)."""
        lib = self._loop.lib
        if why == lib.STEP_SEND_FAILED:
            raise TransferFailed("prepare_next_packet")
        if why == lib.STEP_NO_WAY:
            raise LookupError("a datagram that no flow of this host takes")
        moment = self._in_c.resume(self.now, has_events=why == lib.STEP_EVENTS)
        self._tell_due()
        return to_c(moment)

    def _tell_due(self) -> None:
        session = self._in_c.session
        self._shown.due, self._shown.ended = to_c(session.due), session.ended
