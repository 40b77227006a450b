"""Real packets on their way through a router's drivers (`minitopo_dc.router.drivers`).

A packet waits in the kernel while a core holds it; to let it go is to give its verdict. What goes
on a further leg, or is sent again on another leg, is a copy, as the kernel holds one packet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from netfilterqueue import Packet

from minitopo_dc.link import LegStatistics
from minitopo_dc.pdcp import (
    Pdu,
    PduError,
    SnFormat,
    append_trailer,
    classify_datagram,
    flow_id,
    split_trailer,
)
from minitopo_dc.pdcp.classify import code_point, marked
from minitopo_dc.real.element.injection import (
    HOP_LIMIT_OFFSET,
    TTL_OFFSET,
    Injector,
    one_hop_further,
)
from minitopo_dc.real.element.loop import RealLoop, clock
from minitopo_dc.real.element.rules import leg_mark
from minitopo_dc.router.drivers import Carry, LegDriver, ReceiveDriver, Schedule, TransmitDriver
from minitopo_dc.router.ip import may_be_forwarded

IPV6 = 0x60
"""From here on the first byte is IPv6's (RFC 8200, section 3), below it IPv4's (RFC 791)."""
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
# Of whole headers: IPv4's total length; IPv6's payload length and next header.
_total_length = struct.Struct("!2xH16x").unpack_from
_ipv6_fields = struct.Struct("!4xHB33x").unpack_from
Record = Callable[[int, bytes], None]
"""Takes the time and an IP datagram as it is on the leg."""
Take = Callable[[Packet], None]
"""Takes a packet of the kernel's, whose bytes can be read until it returns (queue callback)."""
UNNUMBERED: Final = ("malformed", "refused_options", "handed_back")
"""Why a packet gets no number."""


class Datagram:
    """An IP datagram that a core holds: a packet of the kernel's, or one of the element's own.

    Attributes:
        data: the datagram, or as many of its first bytes as the kernel has given.
        kernel: the kernel's packet, which waits for its verdict; None: it is not there (any more).
        bearer: the bearer whose PDU it is; None: it is none.
        number: the PDU's SN.
    """

    __slots__ = ("_injector", "_record", "bearer", "data", "kernel", "number")

    def __init__(
        self,
        data: bytes,
        kernel: Packet | None = None,
        *,
        injector: Injector | None = None,
        record: Record | None = None,
        pdu: tuple[int | None, int] = (None, 0),
    ) -> None:
        """Take a datagram.

        Args:
            data: its bytes.
            kernel: the kernel's packet.
            injector: sends what is the element's own; required without a packet of the kernel's.
            record: captures it when it goes on.
            pdu: the bearer and the number of a PDU.
        """
        self.data = data
        self.kernel = kernel
        self._injector = injector
        self._record = record
        self.bearer, self.number = pdu

    @property
    def size(self) -> int:
        """Return the bytes of a whole datagram."""
        return len(self.data)

    @property
    def ecn(self) -> int:
        """Return the ECN code point."""
        return code_point(self.data)

    def mark(self) -> None:
        """Set the code point to Congestion Experienced."""
        self.data = marked(self.data)
        if self.kernel is not None:
            self.kernel.set_payload(self.data)

    @property
    def flow_id(self) -> bytes:
        """Return the same for all packets from one socket to another, or of a bearer."""
        return flow_id(self.data) if self.bearer is None else b"bearer %d" % self.bearer

    def accept(self) -> None:
        """Let the datagram go on; a capture delays no packet that is due."""
        now = 0 if self._record is None else clock()
        if self.kernel is not None:
            self.kernel.accept()
        elif self._injector is not None:
            self._injector.send(self.data)
        if self._record is not None:
            self._record(now, self.data)

    def drop(self) -> None:
        """Discard the kernel's packet, if it still waits here; a copy may yet be sent."""
        packet, self.kernel = self.kernel, None
        if packet is not None:
            packet.drop()


class Wire:
    """A leg that holds nothing back: whether its interface is up, and what was given to it.

    In a user's Mininet script the legs may be links of any class, whose own queue, rate and delay
    come behind the element.
    """

    def __init__(self) -> None:
        self._schedule = Schedule(iter(()))
        self.is_up = True
        self._packets = self._bytes = 0

    def start(self, now: int) -> None:
        """Start the time of what is planned at `now` (ns): nothing of a wire."""
        self._schedule.start(now)

    def next_timeout(self) -> int | None:
        """Return when the next planned thing is due (ns); None: nothing is."""
        return self._schedule.next_timeout()

    def set_up(self, up: bool, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Remember whether the interface is up."""
        self.is_up = up

    def push(self, packet: Datagram, size: int, now: int) -> bool:  # noqa: ARG002 (a leg's)
        """Let the packet go on to the interface, and count it."""
        self._packets += 1
        self._bytes += size
        packet.accept()
        return True

    def poll(self, now: int) -> Sequence[Datagram]:  # noqa: ARG002 (a leg's)
        """Return no packets: they have gone on."""
        return ()

    def dropped(self) -> Sequence[Datagram]:
        """Return no packets, as their fate is not seen here."""
        return ()

    def flush(self, now: int, which: Callable[[Datagram], bool]) -> Sequence[Datagram]:  # noqa: ARG002
        """Return no packets, as the queue behind the interface is out of reach."""
        return ()

    def statistics(self) -> LegStatistics:
        """Return the counters; what went on counts as delivered, as its fate is not seen here."""
        went_on = (self._packets, self._bytes)
        return LegStatistics(*went_on, *went_on, *[0] * 8)


def departures(
    driver: LegDriver, loop: RealLoop, counts: dict[str, int], record: Record | None = None
) -> Take:
    """Return what puts packets that leave on a leg without a bearer on the leg.

    A packet whose header is cut, or whose length leaves no room for it, is dropped and counted. So
    is an IPv6 jumbogram (RFC 2675), whose length is elsewhere.
    """
    counts["malformed"] = 0

    def take(packet: Packet) -> None:
        now = loop.catch_up(clock())
        header = packet.get_payload()
        size = _size_on_leg(header)
        if size < IPV4_HEADER_BYTES:
            counts["malformed"] += 1
            packet.drop()
        else:
            driver.push(Datagram(header, packet, record=record), size, now)

    return take


def _size_on_leg(header: bytes) -> int:
    """Return the bytes of the datagram that begins with a header; 0: that does not tell."""
    try:
        if header[0] < IPV6:
            return int(_total_length(header)[0])
        payload, following = _ipv6_fields(header)
    except (IndexError, struct.error):
        return 0
    return IPV6_HEADER_BYTES + int(payload) if payload or following else 0


def pdu_packets(
    bearer: int,
    numbers: SnFormat,
    injectors: Mapping[int, Injector],
    records: Mapping[int, Record],
) -> Carry:
    """Return what makes the packets of a bearer's PDUs.

    Args:
        bearer: its number.
        numbers: the format of its SNs.
        injectors: send copies on a leg, by its number.
        records: capture what leaves on a leg, by its number.
    """

    def carry(pdu: Pdu[Datagram], leg: LegDriver) -> tuple[Datagram, int]:
        sdu, number = pdu.sdu, leg.number
        data = sdu.data + numbers.encode(pdu.sn)
        packet, sdu.kernel = sdu.kernel, None
        if packet is None:
            data = one_hop_further(data)
        else:
            packet.set_payload(data)
            packet.set_mark(leg_mark(number))
        made = Datagram(
            data,
            packet,
            injector=injectors[number],
            record=records.get(number),
            pdu=(bearer, pdu.sn),
        )
        return made, len(data)

    return carry


def sdus(driver: TransmitDriver, numbers: SnFormat, loop: RealLoop, counts: dict[str, int]) -> Take:
    """Return what gives SDUs to a bearer, whose PDUs go to the legs.

    A packet that this host must not forward (RFC 1812, section 5; RFC 8200, section 3), and one
    that cannot carry a number, is no SDU: it is counted, and leaves no gap in the numbers. At the
    end of its time to live it goes back to the kernel, which answers that. It is dropped when it is
    no whole IP datagram or too long, and when the kernel would drop it for its options.
    """
    counts.update(dict.fromkeys(UNNUMBERED, 0))
    blank = bytes(numbers.size)
    needs_facts = driver.entity.needs_facts

    def take(packet: Packet) -> None:
        now = loop.catch_up(clock())
        sdu = packet.get_payload()
        unnumbered, reason = _prepared(sdu, blank)
        if not reason:
            facts = classify_datagram(sdu) if needs_facts else None
            driver.push(Datagram(unnumbered, packet), len(sdu), now, facts)
            return
        counts[reason] += 1
        if reason == "handed_back":
            packet.accept()
        else:
            packet.drop()

    return take


def _prepared(sdu: bytes, blank: bytes) -> tuple[bytes, str]:
    """Return the datagram of a PDU without its number, and why there is none, if so."""
    try:
        if sdu[TTL_OFFSET if sdu[0] < IPV6 else HOP_LIMIT_OFFSET] < 2:
            return b"", "handed_back"
        unnumbered = append_trailer(sdu, blank)[: -len(blank)]
    except (IndexError, PduError):
        return b"", "malformed"
    return unnumbered, "" if may_be_forwarded(sdu) else "refused_options"


def pdus(
    driver: ReceiveDriver,
    numbers: SnFormat,
    positions: Mapping[int, int],
    loop: RealLoop,
    counts: dict[str, int],
) -> Take:
    """Return what strips PDUs of their number, and keeps them until their turn comes.

    `positions` has the position of each of the bearer's legs by the index of its interface. What is
    no PDU is dropped and counted.
    """
    counts["malformed"] = 0

    def take(packet: Packet) -> None:
        now = loop.catch_up(clock())
        try:
            header, sdu = split_trailer(packet.get_payload(), numbers.size)
            sn = numbers.decode(header)
        except PduError:
            counts["malformed"] += 1
            packet.drop()
            return
        packet.set_payload(sdu)
        leg = positions[packet.indev]
        driver.push(Pdu(Datagram(sdu, packet), len(sdu), leg=leg, sn=sn), now)

    return take
