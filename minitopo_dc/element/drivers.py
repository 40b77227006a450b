"""Thin drivers: each puts real packets through one sans-IO core.

A packet waits in the kernel while a core holds it: to let it go is to give its verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from minitopo_dc.element.delivery import DeliveryStatistics, with_bytes
from minitopo_dc.element.injection import HOP_LIMIT_OFFSET, TTL_OFFSET, Copy, Injector
from minitopo_dc.element.kernel_queue import KernelPacket
from minitopo_dc.element.loop import Loop, clock
from minitopo_dc.element.rules import leg_mark
from minitopo_dc.link import Leg
from minitopo_dc.pdcp import (
    PduError,
    ReceivingEntity,
    SnFormat,
    TransmittingEntity,
    append_trailer,
    split_trailer,
)

IPV6 = 0x60
"""From here on the first byte is IPv6's (RFC 8200, section 3), below it IPv4's (RFC 791)."""


class Held(Protocol):
    """A packet inside a core."""

    def get_payload(self) -> bytes:
        """The IP datagram; of a packet of the kernel's only inside its callback, or once set."""

    def accept(self) -> None:
        """Let it go on."""

    def drop(self) -> None:
        """Discard it."""


class Outlet(Protocol):
    """A leg, as a bearer sees it."""

    @property
    def number(self) -> int:
        """The leg's number."""

    @property
    def injector(self) -> Injector:
        """Sends copies on this leg."""

    def push(self, packet: Held, size: int, now: int) -> None:
        """Put a packet of ``size`` bytes on the leg."""


class LegDriver:
    """One leg: packets without a bearer come from its own queue, PDUs from the bearers."""

    def __init__(self, number: int, leg: Leg[Held], loop: Loop) -> None:
        self.number = number
        self.leg = leg
        self.injector = Injector(number)
        self._loop = loop
        loop.add_timed(self)

    def on_packet(self, packet: Held) -> None:
        """Queue callback of a packet that leaves on this leg without a bearer."""
        now = clock()
        if now >= self._loop.due:
            self._loop.serve(now)
        header = packet.get_payload()
        if header[0] >> 4 == 4:
            size = header[2] << 8 | header[3]
        else:  # IPv6: the length of what follows its header (RFC 8200, section 3)
            size = 40 + (header[4] << 8 | header[5])
        self.push(packet, size, now)

    def push(self, packet: Held, size: int, now: int) -> None:
        """Put a packet of ``size`` bytes on the leg."""
        if self.leg.push(packet, size, now):
            self._loop.wake_at(self.leg.next_timeout())
        else:
            packet.drop()

    def next_timeout(self) -> int | None:
        """When the next packet leaves."""
        return self.leg.next_timeout()

    def handle(self, now: int) -> None:
        """Let go what has crossed the leg."""
        for packet in self.leg.poll(now):
            packet.accept()


class TransmitDriver:
    """The transmitting entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[tuple[KernelPacket, bytes]],
        sn_format: SnFormat,
        legs: Sequence[Outlet],
        loop: Loop,
    ) -> None:
        self.bearer = bearer
        self.entity = entity
        self._format = sn_format
        self._legs = [(leg, leg_mark(leg.number)) for leg in legs]
        self._loop = loop

    def on_packet(self, packet: KernelPacket) -> None:
        """Queue callback of an SDU: number it, and put it on the leg or legs of its policy.

        One that this host must not forward (RFC 1812, section 5.3.1; RFC 8200, section 3) is none.
        """
        now = clock()
        if now >= self._loop.due:
            self._loop.serve(now)
        sdu = packet.get_payload()
        if sdu[TTL_OFFSET if sdu[0] < IPV6 else HOP_LIMIT_OFFSET] < 2:
            packet.accept()  # the kernel answers that its time is exceeded: it is no PDU
            return
        self.entity.push((packet, sdu), len(sdu), now)
        first_copy = True
        for pdu in self.entity.poll(now):
            held, sdu = pdu.sdu
            datagram = append_trailer(sdu, self._format.encode(pdu.sn))
            driver, mark = self._legs[pdu.leg]
            if first_copy:
                held.set_payload(datagram)
                held.set_mark(mark)
                driver.push(held, len(datagram), now)
            else:
                driver.push(Copy(datagram, driver.injector), len(datagram), now)
            first_copy = False


class ReceiveDriver:
    """The receiving entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: ReceivingEntity[KernelPacket],
        sn_format: SnFormat,
        leg_of_interface: Mapping[int, int],
        loop: Loop,
    ) -> None:
        self.bearer = bearer
        self.entity = entity
        self.malformed = 0
        self._delivered_bytes = 0
        self._format = sn_format
        self._leg_of_interface = leg_of_interface
        self._loop = loop
        loop.add_timed(self)

    def on_packet(self, packet: KernelPacket) -> None:
        """Queue callback of a PDU: strip its number, keep it until it is its turn."""
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
        if not self.entity.push(sn, packet, self._leg_of_interface[packet.indev], now):
            packet.drop()
        self.handle(now)
        self._loop.wake_at(self.entity.next_timeout())

    def next_timeout(self) -> int | None:
        """When t-Reordering expires."""
        return self.entity.next_timeout()

    def handle(self, now: int) -> None:
        """Let go what is in order, or has waited long enough."""
        for packet in self.entity.poll(now):
            self._delivered_bytes += len(packet.get_payload())
            packet.accept()

    def statistics(self) -> DeliveryStatistics:
        """The counters so far."""
        return with_bytes(self.entity.statistics(), self._delivered_bytes)
