"""The drivers of legs and bearers (`minitopo_dc.router.drivers`) over real packets.

A packet waits in the kernel while a core holds it; to let it go is to give its verdict. What goes
on a further leg, or is sent again on another leg, is a copy, as the kernel holds one packet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minitopo_dc.link import AnyLeg, LegStatistics
from minitopo_dc.pdcp import (
    Pdu,
    PduError,
    ReceivingEntity,
    ReportMaker,
    SnFormat,
    TransmittingEntity,
    append_trailer,
    classify_datagram,
    flow_id,
    split_trailer,
)
from minitopo_dc.pdcp.formats.classify import CE, code_point, marked
from minitopo_dc.real.element.kernel.injection import (
    HOP_LIMIT_OFFSET,
    TTL_OFFSET,
    Copy,
    Injector,
)
from minitopo_dc.real.element.kernel.loop import RealLoop, clock
from minitopo_dc.real.element.kernel.queues import KernelPacket
from minitopo_dc.real.element.kernel.rules import leg_mark
from minitopo_dc.router import drivers
from minitopo_dc.router.drivers import pdu_in
from minitopo_dc.router.ip import may_be_forwarded, too_big

IPV6 = 0x60
"""From here on the first byte is IPv6's (RFC 8200, section 3), below it IPv4's (RFC 791)."""
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
# Of whole headers: IPv4's total length; IPv6's payload length and next header.
_total_length = struct.Struct("!2xH16x").unpack_from
_ipv6_fields = struct.Struct("!4xHB33x").unpack_from


class VerdictPacket(drivers.HeldPacket, Protocol):
    """A packet inside a core, for which the kernel waits."""

    def get_payload(self) -> bytes:
        """Return the IP datagram; a kernel's packet has it only in its callback, or once set."""

    def set_payload(self, payload: bytes) -> None:
        """Replace the datagram by other bytes."""


class RealTransmitLeg:
    """A leg as a bearer sees it; this one holds nothing back."""

    reads: bool = False
    """Whether it looks into packets, and at whose they are."""

    def __init__(self, number: int, injector: Injector) -> None:
        """Take the leg's number, and the injector that sends copies on it."""
        self.number = number
        self.injector = injector

    def push(self, packet: VerdictPacket, size: int, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Put a packet of `size` bytes on the leg at `now` (ns), where it goes on at once."""
        packet.accept()

    def flush(self, which: Callable[[VerdictPacket], bool], now: int) -> Sequence[VerdictPacket]:  # noqa: ARG002
        """Return no packets, as the queue behind the interface is out of reach."""
        return ()

    def rearm(self) -> None:
        """Do nothing, as no packet waits here."""


class Holder:
    """Holds a packet on its leg; subclasses say what else happens to it there."""

    __slots__ = ()
    held: VerdictPacket

    @property
    def pdu(self) -> drivers.PduOnLeg | None:
        """Return the PDU that is held, None if it is none."""
        return pdu_in(self.held)

    def get_payload(self) -> bytes:
        """Return the IP datagram of the packet."""
        return self.held.get_payload()

    def set_payload(self, payload: bytes) -> None:
        """Replace the datagram by other bytes."""
        self.held.set_payload(payload)

    def accept(self) -> None:
        """Let the packet go on."""
        self.held.accept()

    def drop(self) -> None:
        """Discard the packet for good."""
        self.held.drop()


class Markable(Holder):
    """A packet on a leg whose queue discipline may mark it, which is done when it goes on."""

    __slots__ = ("_datagram", "ecn", "held")

    def __init__(self, held: VerdictPacket) -> None:
        """Take a packet whose datagram can be read now."""
        self.held, self._datagram = held, held.get_payload()
        self.ecn = code_point(self._datagram)

    @property
    def flow_id(self) -> bytes:
        """Return the same for all packets from one socket to another, or of a bearer."""
        return flow_id(self._datagram) if self.pdu is None else self.pdu.flow_id

    def mark(self) -> None:
        """Set its code point to Congestion Experienced."""
        self.ecn = CE

    def accept(self) -> None:
        """Let the packet go on."""
        if self.ecn != code_point(self._datagram):
            self.held.set_payload(marked(self._datagram))
        self.held.accept()


class RealLegDriver(drivers.LegDriver[Any], RealTransmitLeg):
    """One leg: packets without a bearer come from its own queue, PDUs from the bearers."""

    def __init__(
        self,
        number: int,
        leg: AnyLeg[Any],
        loop: RealLoop,
        *,
        host: int | None = None,
        marks: bool = False,
        mtu: int | None = None,
    ) -> None:
        """Take the leg's core.

        Args:
            number: the leg's.
            leg: its core.
            loop: calls it.
            host: a process of its host, None for this process' own.
            marks: whether its queue has a discipline, which may mark packets.
            mtu: what is larger (bytes) is answered by ICMP; None: nothing is.
        """
        RealTransmitLeg.__init__(self, number, Injector(number, host))
        super().__init__(number, leg, loop)
        self.malformed = 0
        self._loop = loop
        self._marks = marks
        self.reads = marks or mtu is not None
        self._mtu = mtu
        self.errors = None if mtu is None else Injector(None, host)
        """Sends what tells of packets that are too large."""

    def push(self, packet: VerdictPacket, size: int, now: int) -> None:
        """Put a packet of `size` bytes on the leg at `now` (ns)."""
        if self.errors is not None and self._mtu is not None and size > self._mtu:
            of_bearer = pdu_in(packet) is not None
            self.errors.send(too_big(packet.get_payload(), self._mtu, of_bearer=of_bearer))
        super().push(Markable(packet) if self._marks else packet, size, now)

    def on_packet(self, packet: VerdictPacket) -> None:
        """Put a packet that leaves on this leg without a bearer on the leg (queue callback).

        A packet whose header is cut, or whose length leaves no room for it, is dropped and counted.
        So is an IPv6 jumbogram (RFC 2675), whose length is elsewhere.
        """
        now = self._loop.catch_up(clock())
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


class Wire(RealTransmitLeg):
    """A leg that is not emulated here: whether its interface is up, and what was given to it.

    In a user's Mininet script the legs may be links of any class, whose own queue, rate and delay
    come behind the element.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, Injector(number))
        self.leg = self
        self.is_up = True
        self._packets = self._bytes = 0

    def start(self, now: int) -> None:
        """Do nothing, as a wire has no time of its own."""

    def set_up(self, up: bool, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Remember whether the interface is up."""
        self.is_up = up

    def push(self, packet: VerdictPacket, size: int, now: int) -> None:
        """Let the packet go on to the interface, and count it."""
        self._packets += 1
        self._bytes += size
        super().push(packet, size, now)

    def statistics(self) -> LegStatistics:
        """Return the counters; what went on counts as delivered, as its fate is not seen here."""
        went_on = (self._packets, self._bytes)
        return LegStatistics(*went_on, *went_on, *[0] * 8)


@dataclass(slots=True)
class Sdu:
    """A packet that a bearer carries, and its datagram."""

    packet: KernelPacket | None
    """The kernel's packet; None once it is on a leg."""
    unnumbered: bytes
    """The datagram of the PDU without the PDCP header at its end."""

    @property
    def ecn(self) -> int:
        """Return the datagram's ECN code point."""
        return code_point(self.unnumbered)

    def mark(self) -> None:
        """Set its code point to Congestion Experienced."""
        self.unnumbered = marked(self.unnumbered)

    def accept(self) -> None:
        """Let the kernel's packet go on, if it still waits here."""
        if self.packet is not None:
            self.packet.accept()

    def drop(self) -> None:
        """Discard the kernel's packet, if it still waits here; a copy may yet be sent."""
        packet, self.packet = self.packet, None
        if packet is not None:
            packet.drop()


class OnLeg(drivers.PduOnLeg, Holder):
    """A PDU in a leg's queue, which data recovery may take back."""

    __slots__ = ("held",)

    def __init__(self, held: VerdictPacket, bearer: int, sn: int) -> None:
        super().__init__(bearer, sn)
        self.held = held


class RealTransmitDriver(drivers.TransmitDriver[Sdu, RealTransmitLeg]):
    """The driver of the transmitting entity of one bearer: SDUs from the kernel, PDUs on legs."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Sdu],
        sn_format: SnFormat,
        legs: Sequence[RealTransmitLeg],
        loop: RealLoop,
    ) -> None:
        super().__init__(bearer, entity, legs, loop)
        self.unnumbered = dict.fromkeys(("malformed", "refused_options", "handed_back"), 0)
        """The packets that got no number, by the reason."""
        self._encode = sn_format.encode
        self._blank = bytes(sn_format.size)
        self._marked = [(leg, leg_mark(leg.number)) for leg in legs]
        self._ways = list(self._marked)
        self._loop = loop

    def on_packet(self, packet: KernelPacket) -> None:
        """Give an SDU to the entity, and its PDUs to the legs (queue callback).

        A packet that this host must not forward (RFC 1812, section 5; RFC 8200, section 3), and one
        that cannot carry a number, is no SDU: it is counted, and leaves no gap in the numbers.
        """
        now = self._loop.catch_up(clock())
        sdu = packet.get_payload()
        unnumbered = self._prepare(sdu, packet)
        if unnumbered is not None:
            facts = classify_datagram(sdu) if self.entity.needs_facts else None
            self.push(Sdu(packet, unnumbered), len(sdu), now, facts)

    def _prepare(self, sdu: bytes, packet: KernelPacket) -> bytes | None:
        """Return the datagram of a PDU without its number; None if the packet is no SDU.

        Such a packet has its verdict then. At the end of its time to live it goes back to the
        kernel, which answers that. It is dropped when it is no whole IP datagram or too long, and
        when the kernel would drop it for its options.
        """
        unnumbered, reason = b"", ""
        try:
            if sdu[TTL_OFFSET if sdu[0] < IPV6 else HOP_LIMIT_OFFSET] < 2:
                reason = "handed_back"
            else:
                unnumbered = append_trailer(sdu, self._blank)[: -len(self._blank)]
                reason = "" if may_be_forwarded(sdu) else "refused_options"
        except (IndexError, PduError):
            reason = "malformed"
        if not reason:
            return unnumbered
        self.unnumbered[reason] += 1
        if reason == "handed_back":
            packet.accept()
        else:
            packet.drop()
        return None

    def use(self, present: Sequence[bool]) -> None:
        """Send what is meant for an absent leg on the next one that is present, from now on.

        If none is present, it goes on the one that is meant. The policy does not notice: the number
        of its legs stays the same.
        """
        legs = self._marked
        for position in range(len(legs)):
            order = (*range(position, len(legs)), *range(position))
            self._ways[position] = legs[next((i for i in order if present[i]), position)]

    def _put(self, pdus: Sequence[Pdu[Sdu]], now: int) -> None:
        if self._ways != self._marked:
            pdus = self._without_merged_copies(pdus)
        for pdu in pdus:
            leg, mark = self._ways[pdu.leg]
            sdu = pdu.sdu
            datagram = sdu.unnumbered + self._encode(pdu.sn)
            packet, sdu.packet = sdu.packet, None
            held: VerdictPacket
            if packet is None:
                held = Copy(datagram, leg.injector)
            else:
                packet.set_payload(datagram)
                packet.set_mark(mark)
                held = packet
            if self.entity.recovers or leg.reads:
                held = OnLeg(held, self.bearer, pdu.sn)
            leg.push(held, len(datagram), now)

    def _without_merged_copies(self, pdus: Sequence[Pdu[Sdu]]) -> list[Pdu[Sdu]]:
        """Return the PDUs without duplicates whose own leg is absent and that share another leg."""
        first = {(pdu.count, self._ways[pdu.leg][1]): pdu for pdu in reversed(pdus)}
        return [pdu for pdu in pdus if first[pdu.count, self._ways[pdu.leg][1]] is pdu]


class RealReceiveDriver(drivers.ReceiveDriver[KernelPacket]):
    """The driver of the receiving entity of one bearer: PDUs and SDUs are the kernel's packets."""

    def __init__(
        self,
        bearer: int,
        entity: ReceivingEntity[KernelPacket],
        sn_format: SnFormat,
        leg_of_interface: Mapping[int, int],
        loop: RealLoop,
        *,
        reports: ReportMaker | None = None,
    ) -> None:
        """Take the position of each of the bearer's legs by the index of its interface."""
        super().__init__(bearer, entity, loop, reports=reports)
        self.malformed = 0
        self._format = sn_format
        self._leg_of_interface = leg_of_interface
        self._loop = loop

    def on_packet(self, packet: KernelPacket) -> None:
        """Strip a PDU's number and keep it until its turn comes (queue callback)."""
        now = self._loop.catch_up(clock())
        try:
            header, sdu = split_trailer(packet.get_payload(), self._format.size)
            sn = self._format.decode(header)
        except PduError:
            self.malformed += 1
            packet.drop()
            return
        packet.set_payload(sdu)
        self.push(sn, packet, len(sdu), self._leg_of_interface[packet.indev], now)

    def _size(self, sdu: KernelPacket) -> int:
        return len(sdu.get_payload())
