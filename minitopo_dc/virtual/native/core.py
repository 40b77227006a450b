"""The native core's parts of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minitopo_dc.link import WifiPath
from minitopo_dc.native.network import NativeLoop
from minitopo_dc.router import ElementSettings
from minitopo_dc.runners.virtual import EndpointInC
from minitopo_dc.virtual.element import Element
from minitopo_dc.virtual.host import Host
from minitopo_dc.virtual.loop import START_NS
from minitopo_dc.virtual.native.element import NativeElement
from minitopo_dc.virtual.native.host import NativeHost
from minitopo_dc.virtual.packet import Flow, Packet


class NativeCore:
    """The core in C for all frequent work; hosts with Python endpoints exchange packets with it."""

    def __init__(self, *, observed: bool) -> None:
        """Make a native core; `observed`: each packet has to be seen at the end hosts."""
        self.loop = NativeLoop(START_NS, _arrived)
        self._flows: dict[Flow, Any] = {}
        self._observed = observed

    def element(
        self,
        settings: ElementSettings,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> Element:
        """Return the legs and bearers of one router host."""
        assert not paths
        return NativeElement(
            settings, self.loop, self._flows, leg_of=leg_of, processing_ns=processing_ns
        )

    def host(self, flows: Sequence[Flow], *, cpu_ns: int) -> Host:
        """Return an end host that sends on `flows`."""
        if cpu_ns or self._observed:
            return Host(self.loop, flows, cpu_ns=cpu_ns)
        return NativeHost(self.loop, flows)

    def join(self, ends: Iterable[tuple[Host, Iterable[Flow]]]) -> None:
        """Have C carry the datagrams between hosts, each with the flows that lead to it, if it can.

        It can where no host takes CPU time or is observed, and all endpoints are picoquic's.
        """
        known = [(host, host.endpoint, gets) for host, gets in ends]
        for host, endpoint, _ in known:
            if not (isinstance(host, NativeHost) and isinstance(endpoint, EndpointInC)):
                return
        for host, endpoint, gets in known:
            assert isinstance(host, NativeHost)
            assert isinstance(endpoint, EndpointInC)
            host.join(endpoint, gets, self._flows)


def _arrived(packet: Packet) -> None:
    packet.flow.deliver(packet)
