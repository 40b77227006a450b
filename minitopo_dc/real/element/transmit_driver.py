"""A transmitting entity over real packets: SDUs in from the kernel, PDUs out on the legs.

A packet waits in the kernel while the entity or a leg holds it. What goes on a further leg, or is
sent again on another leg, is a copy, as the kernel holds one packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minitopo_dc.pdcp import (
    Pdu,
    PduError,
    SnFormat,
    TransmittingEntity,
    append_trailer,
    classify_datagram,
)
from minitopo_dc.real.element.drivers import IPV6, Held, Outlet
from minitopo_dc.real.element.ipv4_options import may_be_forwarded
from minitopo_dc.real.element.kernel.injection import HOP_LIMIT_OFFSET, TTL_OFFSET, Copy
from minitopo_dc.real.element.kernel.loop import Loop, clock
from minitopo_dc.real.element.kernel.queue import KernelPacket
from minitopo_dc.real.element.kernel.rules import leg_mark


@dataclass(slots=True)
class Sdu:
    """A packet that a bearer carries, and its datagram."""

    packet: KernelPacket | None
    """The kernel's packet; None once it is on a leg."""
    unnumbered: bytes
    """The datagram of the PDU without the PDCP header at its end."""


class OnLeg:
    """A PDU in a leg's queue, which data recovery may take back."""

    __slots__ = ("_held", "bearer", "sn")

    def __init__(self, held: Held, bearer: int, sn: int) -> None:
        self._held = held
        self.bearer = bearer
        self.sn = sn

    def get_payload(self) -> bytes:
        """Return the datagram of the PDU."""
        return self._held.get_payload()

    def accept(self) -> None:
        """Let the PDU go on."""
        self._held.accept()

    def drop(self) -> None:
        """Discard the PDU for good."""
        self._held.drop()


class TransmitDriver:
    """Runs the transmitting entity of one bearer; a timed part that comes before the legs."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Sdu],
        sn_format: SnFormat,
        legs: Sequence[Outlet],
        loop: Loop,
    ) -> None:
        self.bearer = bearer
        self.entity = entity
        self.malformed = 0
        self.refused_options = 0
        self.handed_back = 0
        self._encode = sn_format.encode
        self._blank = bytes(sn_format.size)
        self._legs = [(leg, leg_mark(leg.number)) for leg in legs]
        self._ways = list(self._legs)
        self._loop = loop
        if entity.follows_legs:
            loop.add_timed(self, first=True)

    def on_packet(self, packet: KernelPacket) -> None:
        """Give an SDU to the entity, and its PDUs to the legs (queue callback).

        A packet that this host must not forward (RFC 1812, section 5; RFC 8200, section 3), and one
        that cannot carry a number, is no SDU: it is counted, and leaves no gap in the numbers.
        """
        now = clock()
        if now >= self._loop.due:
            self._loop.serve(now)
        sdu = packet.get_payload()
        unnumbered = self._prepare(sdu, packet)
        if unnumbered is None:
            return
        facts = classify_datagram(sdu) if self.entity.needs_facts else None
        if not self.entity.push(Sdu(packet, unnumbered), len(sdu), now, facts):
            packet.drop()
        if self.entity.follows_legs:
            self.handle(now)
            self._loop.wake_at(self.entity.next_timeout())
        else:
            self._put(self.entity.poll(now), now)

    def unnumbered(self) -> dict[str, int]:
        """Count the packets that got no number, by the reason."""
        return {
            "malformed": self.malformed,
            "refused_options": self.refused_options,
            "handed_back": self.handed_back,
        }

    def _prepare(self, sdu: bytes, packet: KernelPacket) -> bytes | None:
        """Return the datagram of a PDU without its number; None if the packet is no SDU.

        Such a packet has its verdict then. At the end of its time to live it goes back to the
        kernel, which answers that. It is dropped when it is no whole IP datagram or too long, and
        when the kernel would drop it for its options.
        """
        try:
            if sdu[TTL_OFFSET if sdu[0] < IPV6 else HOP_LIMIT_OFFSET] < 2:
                self.handed_back += 1
                packet.accept()
                return None
            unnumbered = append_trailer(sdu, self._blank)[: -len(self._blank)]
        except (IndexError, PduError):
            self.malformed += 1
            packet.drop()
            return None
        if not may_be_forwarded(sdu):
            self.refused_options += 1
            packet.drop()
            return None
        return unnumbered

    def next_timeout(self) -> int | None:
        """Return when a leg may take more, or an SDU has waited too long (ns)."""
        return self.entity.next_timeout()

    def handle(self, now: int) -> None:
        """Put on the legs what they take now."""
        while pdus := self.entity.poll(now):
            self._put(pdus, now)
        for sdu in self.entity.dropped():
            if sdu.packet is not None:
                sdu.packet.drop()

    def legs_changed(self, now: int) -> None:
        """React to legs that went down or up, or to a report of the receiver."""
        if not self.entity.follows_legs:
            return
        for position in self.entity.lost_legs(now):
            self._take_back(position, now)
        self.handle(now)
        self._loop.wake_at(self.entity.next_timeout())

    def use(self, present: Sequence[bool]) -> None:
        """Send what is meant for an absent leg on the next one that is present, from now on.

        If none is present, it goes on the one that is meant. The policy does not notice: the number
        of its legs stays the same.
        """
        legs = self._legs
        for position in range(len(legs)):
            order = (*range(position, len(legs)), *range(position))
            self._ways[position] = legs[next((each for each in order if present[each]), position)]

    def _take_back(self, position: int, now: int) -> None:
        """Take back what waits in the queue of a lost leg, which will not leave it."""
        flushed = self._legs[position][0].flush(self._holds_bearer_pdu, now)
        for held in flushed:
            held.drop()
        numbers = [held.sn for held in flushed if isinstance(held, OnLeg)]
        self.entity.leg_lost(position, numbers, now)

    def _holds_bearer_pdu(self, held: Held) -> bool:
        return isinstance(held, OnLeg) and held.bearer == self.bearer

    def _put(self, pdus: Sequence[Pdu[Sdu]], now: int) -> None:
        if self._ways != self._legs:
            pdus = self._without_merged_copies(pdus)
        for pdu in pdus:
            driver, mark = self._ways[pdu.leg]
            sdu = pdu.sdu
            datagram = sdu.unnumbered + self._encode(pdu.sn)
            packet, sdu.packet = sdu.packet, None
            held: Held
            if packet is None:
                held = Copy(datagram, driver.injector)
            else:
                packet.set_payload(datagram)
                packet.set_mark(mark)
                held = packet
            if self.entity.recovers:
                held = OnLeg(held, self.bearer, pdu.sn)
            driver.push(held, len(datagram), now)

    def _without_merged_copies(self, pdus: Sequence[Pdu[Sdu]]) -> list[Pdu[Sdu]]:
        """Return the PDUs without duplicates whose own leg is absent and that share another leg."""
        first = {(pdu.count, self._ways[pdu.leg][1]): pdu for pdu in reversed(pdus)}
        return [pdu for pdu in pdus if first[pdu.count, self._ways[pdu.leg][1]] is pdu]
