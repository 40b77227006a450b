"""One flow in virtual time whose end hosts are in a guest: a Linux kernel on the loop's clock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address
from typing import Literal

from minitopo_dc.linux_guest.guest import Frame, Guest
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.virtual import GuestFlow
from minitopo_dc.scenario import ResolvedFlow, VirtualSettings
from minitopo_dc.virtual.connection import AnyConnection, cpu_ns
from minitopo_dc.virtual.core import Core
from minitopo_dc.virtual.element import VirtualElement, delayed
from minitopo_dc.virtual.host import GuestHost
from minitopo_dc.virtual.network import Flow, Packet, Take

DESTINATION = {4: slice(16, 20), 6: slice(24, 40)}
"""The place of the destination address in an IP packet (RFC 791, RFC 8200)."""


class GuestConnection(AnyConnection):
    """A flow with both hosts in one guest: the server has card 0, the client one card per leg.

    A proxy, if there is one, has the card behind these.
    """

    in_guest = True
    ends: GuestFlow
    client_host: GuestHost

    def _make_hosts(self, virtual: VirtualSettings, flow: ResolvedFlow, core: Core) -> None:
        transport = get_runner(flow.transport).guest()
        assert transport is not None  # `run_obstacle` has asked
        self.ends = transport(self.facts)
        loop = core.loop
        self._guest: Guest | None = None
        self._timer = loop.timer(self._run)
        client_cpu, server_cpu = cpu_ns(virtual)
        self.client_host = GuestHost(loop, client_cpu, self._inject)
        self._server = GuestHost(loop, server_cpu, self._inject)
        self._proxy = GuestHost(loop, server_cpu, self._inject)
        self._last_card = len(self.uplinks) + (self.facts.proxy_address is not None)
        self._destination = DESTINATION[ip_address(self.facts.server_address).version]
        self._ways: dict[tuple[int, bytes], Flow] = {}
        far = 0 if self.facts.proxy_address is None else self._last_card
        for card, (down, up) in enumerate(zip(self.downlinks, self.uplinks, strict=True), start=1):
            self._ways[far, ip_address(down.destination[0]).packed] = down
            self._ways[card, ip_address(up.destination[0]).packed] = up

    def takers(self, host: Literal["client", "server"]) -> Sequence[Take]:
        """Return the functions that put packets on the host's cards, one for each flow."""
        cards = range(1, len(self.uplinks) + 1)
        if host == "client":
            return [partial(self.client_host.receive, card) for card in cards]
        if self.facts.proxy_address is not None:
            return [partial(self._proxy.receive, self._last_card) for _ in cards]
        return [partial(self._server.receive, 0) for _ in cards]

    def attach(self, gnb: VirtualElement, ue: VirtualElement) -> None:
        """Connect the hosts to the routers, and a proxy, if there is one, to the server."""
        super().attach(gnb, ue)
        proxy, server, card = self.facts.proxy, self.facts.server, self._last_card
        if proxy is None:
            return
        for start, way, take in (
            (card, (proxy, server), partial(self._server.receive, 0)),
            (0, (server, proxy), partial(self._proxy.receive, card)),
        ):
            flow = self._flow(*way)
            flow.enter = delayed(self.loop, self.facts.wire_ns, take)
            self._ways[start, ip_address(way[1][0]).packed] = flow

    def start(self) -> None:
        """Boot the guest, whose client begins to connect now.

        Raises:
            GuestError: the guest did not boot.
        """
        self._guest = Guest(
            self.directory,
            cards=1 + self._last_card,
            files=self.ends.files(),
            seed=self.facts.seed,
            begin=self.facts.begin_ns,
        )
        booted = self._guest.boot()  # packets of before time zero have no legs
        self._take(self._guest, [frame for frame in booted if frame.is_report])

    def close(self) -> None:
        """End the guest, if it is still there."""
        self._timer.set(None)
        if self._guest is not None:
            self._guest.close()
            self._guest = None
        self.ends.close()

    def _inject(self, card: int, data: bytes) -> None:
        if self._guest is not None:
            self._guest.inject(card, data)
            self._timer.bring_forward(self.loop.now)

    def _run(self) -> None:
        """Let the guest act; put its packets into the network, and pass on its messages."""
        if self._guest is not None:
            self._take(self._guest, self._guest.run(self.loop.now))

    def _take(self, guest: Guest, frames: Sequence[Frame]) -> None:
        moment = None if guest.next is None else max(guest.next, self.loop.now)
        self._timer.set(moment)  # before a wire without a delay brings it forward
        for card, is_report, data in frames:
            if not is_report:
                self._send(card, data)
            elif self.ends.take(data.decode(errors="surrogateescape")):
                self._guest = None
                guest.close()
                self.end()
                return

    def _send(self, card: int, data: bytes) -> None:
        flow = self._ways.get((card, data[self._destination]))
        if flow is None:
            return  # a word of the kernel's to all neighbours, of which there are none
        hosts = (self._server, *[self.client_host] * len(self.uplinks), self._proxy)
        hosts[card].send(Packet(flow, data))
