"""An end host on the native core; with picoquic its datagrams stay in C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minitopo_dc.native.library import library
from minitopo_dc.native.models import to_c_time
from minitopo_dc.native.network import NativeLoop
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.virtual import EndpointInC, Sent
from minitopo_dc.virtual.host import Host
from minitopo_dc.virtual.packet import Flow


class NativeHost(Host):
    """A host without CPU time, which works like one of the Python core until `join`."""

    def __init__(self, loop: NativeLoop, flows: Sequence[Flow]) -> None:
        """Make a host that sends on `flows`, once `endpoint` is set."""
        super().__init__(loop, flows, cpu_ns=0)
        self._native = loop
        self._pointer: Any = None
        self._in_c: EndpointInC
        self._ways: dict[Any, Any] = {}

    @property
    def received_bytes(self) -> int:
        """Return the IP bytes that reached this host."""
        if self._pointer is None:
            return super().received_bytes
        return int(self._native.lib.host_received_bytes(self._pointer))

    def join(self, endpoint: EndpointInC, gets: Iterable[Flow], flows: Mapping[Flow, Any]) -> None:
        """Have C send and read this host's datagrams.

        Args:
            endpoint: the host's endpoint.
            gets: the flows that lead to this host.
            flows: all flows in C.
        """
        lib, ffi = self._native.lib, library().ffi
        self._in_c = endpoint
        self._pointer = lib.network_host(self._native.pointer, self._native.handle(self))
        parts = endpoint.in_c()
        pointers = (ffi.cast("void *", part) for part in parts.pointers)
        lib.host_endpoint(self._pointer, *pointers)
        for (source, destination), flow in self._flows.items():
            self._ways[source, destination] = flows[flow]
            numbers = (-1 if source is None else parts.number(source), parts.number(destination))
            lib.host_sends(self._pointer, flows[flow], *numbers)
        for flow in gets:
            numbers = parts.number(flow.source), parts.number(flow.destination)
            lib.host_gets(self._pointer, flows[flow], *numbers)

    def wake(self, moment: int | None) -> None:
        """Let the endpoint act at a moment (ns)."""
        if self._pointer is None:
            super().wake(moment)
        elif moment is not None:
            self._tell_due()
            self._native.lib.host_wake(self._pointer, moment)

    def send(self, datagrams: Iterable[Sent]) -> None:
        """Send datagrams, one after the other."""
        if self._pointer is None:
            super().send(datagrams)
            return
        lib = self._native.lib
        for data, source, destination in datagrams:
            lib.host_send(self._pointer, self._ways[source, destination], data, len(data))

    def step(self, why: int) -> int:
        """Act on what is due or has happened; return when to step again (ns)."""
        lib = self._native.lib
        if why == lib.STEP_SEND_FAILED:
            raise TransferFailed("prepare_next_packet")
        if why == lib.STEP_NO_WAY:
            raise LookupError("a datagram that no flow of this host takes")
        moment = self._in_c.resume(self.now, has_events=why == lib.STEP_EVENTS)
        self._tell_due()
        return to_c_time(moment)

    def fail(self, error: BaseException) -> None:
        """Record an error of `step` in the native core."""
        self._native.fail(error)

    def _tell_due(self) -> None:
        due = to_c_time(self._in_c.due)
        self._native.lib.host_due(self._pointer, due, self._in_c.ended)
