"""Thin drivers, each of which puts real packets through one core without input or output.

A packet waits in the kernel while a core holds it; to let it go is to give its verdict.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from minitopo_dc.link import AnyLeg
from minitopo_dc.pdcp import (
    PduError,
    ReceivingEntity,
    ReportMaker,
    SnFormat,
    split_trailer,
)
from minitopo_dc.real.element.kernel.injection import Injector
from minitopo_dc.real.element.kernel.loop import Loop, clock
from minitopo_dc.real.element.kernel.queue import KernelPacket
from minitopo_dc.router.delivery import DeliveryStatistics, with_bytes

IPV6 = 0x60
"""From here on the first byte is IPv6's (RFC 8200, section 3), below it IPv4's (RFC 791)."""
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
# An IPv4 header's total length; an IPv6 header's payload length and next header. The header must be
# whole.
_total_length = struct.Struct("!2xH16x").unpack_from
_ipv6_fields = struct.Struct("!4xHB33x").unpack_from


class Held(Protocol):
    """A packet inside a core, for which the kernel waits."""

    def get_payload(self) -> bytes:
        """Return the IP datagram; a kernel's packet has it only in its callback, or once set."""

    def accept(self) -> None:
        """Let the packet go on."""

    def drop(self) -> None:
        """Discard the packet for good."""


class Outlet:
    """A leg as a bearer sees it; this one holds nothing back."""

    def __init__(self, number: int, injector: Injector) -> None:
        """Take the leg's number, and the injector that sends copies on it."""
        self.number = number
        self.injector = injector

    def push(self, packet: Held, size: int, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Put a packet of `size` bytes on the leg at `now` (ns), where it goes on at once."""
        packet.accept()

    def flush(self, which: Callable[[Held], bool], now: int) -> Sequence[Held]:  # noqa: ARG002
        """Return no packets, as the queue behind the interface is out of reach."""
        return ()


class LegDriver(Outlet):
    """One leg: packets without a bearer come from its own queue, PDUs from the bearers."""

    def __init__(
        self, number: int, leg: AnyLeg[Held], loop: Loop, *, host: int | None = None
    ) -> None:
        """Take the leg's core; `host` is a process of its host, None for this process' own."""
        super().__init__(number, Injector(number, host))
        self.leg = leg
        self.malformed = 0
        self._loop = loop
        loop.add_timed(self)

    def on_packet(self, packet: Held) -> None:
        """Put a packet that leaves on this leg without a bearer on the leg (queue callback).

        A packet whose header is cut, or whose length leaves no room for it, is dropped and counted.
        So is an IPv6 jumbogram (RFC 2675), whose length is elsewhere.
        """
        now = clock()
        if now >= self._loop.due:
            self._loop.serve(now)
        header = packet.get_payload()
        try:
            if header[0] < IPV6:
                (size,) = _total_length(header)
            else:
                payload, following = _ipv6_fields(header)
                size = IPV6_HEADER_BYTES + payload if payload or following else 0
        except (IndexError, struct.error):
            size = 0
        if size < IPV4_HEADER_BYTES:
            self.malformed += 1
            packet.drop()
            return
        self.push(packet, size, now)

    def push(self, packet: Held, size: int, now: int) -> None:
        """Put a packet of `size` bytes on the leg."""
        if self.leg.push(packet, size, now):
            self._loop.wake_at(self.leg.next_timeout())
        else:
            packet.drop()

    def flush(self, which: Callable[[Held], bool], now: int) -> Sequence[Held]:
        """Take packets out of the leg's queue; the caller has to drop them."""
        return self.leg.flush(now, which)

    def next_timeout(self) -> int | None:
        """Return when the next packet leaves the leg (ns), None if none does."""
        return self.leg.next_timeout()

    def handle(self, now: int) -> None:
        """Let go of packets that have crossed the leg, and drop those that never will."""
        for packet in self.leg.poll(now):
            packet.accept()
        for packet in self.leg.dropped():
            packet.drop()


class ReceiveDriver:
    """Runs the receiving entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: ReceivingEntity[KernelPacket],
        sn_format: SnFormat,
        leg_of_interface: Mapping[int, int],
        loop: Loop,
        *,
        reports: ReportMaker | None = None,
    ) -> None:
        self.bearer = bearer
        self.entity = entity
        self.reports = reports
        self.malformed = 0
        self._delivered_bytes = 0
        self._format = sn_format
        self._leg_of_interface = leg_of_interface
        self._loop = loop
        loop.add_timed(self)

    def on_packet(self, packet: KernelPacket) -> None:
        """Strip a PDU's number and keep it until its turn comes (queue callback)."""
        now = clock()
        if now >= self._loop.due:
            self._loop.serve(now)
        try:
            header, sdu = split_trailer(packet.get_payload(), self._format.size)
            sn = self._format.decode(header)
        except PduError:
            self.malformed += 1
            packet.drop()
            return
        packet.set_payload(sdu)
        leg = self._leg_of_interface[packet.indev]
        if self.reports is not None:
            self.reports.push(sn, len(sdu), leg)
        if not self.entity.push(sn, packet, leg, now):
            packet.drop()
        self.handle(now)
        self._loop.wake_at(self.entity.next_timeout())

    def next_timeout(self) -> int | None:
        """Return when t-Reordering expires (ns), None if it does not run."""
        return self.entity.next_timeout()

    def handle(self, now: int) -> None:
        """Let go of SDUs that are in order, or have waited long enough."""
        for packet in self.entity.poll(now):
            self._delivered_bytes += len(packet.get_payload())
            packet.accept()

    def statistics(self) -> DeliveryStatistics:
        """Return the counters up to now."""
        return with_bytes(self.entity.statistics(), self._delivered_bytes)
