"""What stands in for the kernel in tests of the element: packets, a clock, sockets that send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from minitopo_dc.pdcp import SnFormat, sn_format
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.real.element.packets import Record, Take, departures, pdu_packets, pdus, sdus
from minitopo_dc.router.drivers import LegDriver, ReceiveDriver, TransmitDriver
from minitopo_dc.scenario import Pdcp
from minitopo_dc.units import QueueLimit

if TYPE_CHECKING:
    from netfilterqueue import Packet
else:  # which only the kernel's callback makes
    Packet = object
MS = 1_000_000
LATER = 1_000_000 * MS
"""When everything has left the legs and every t-Reordering is over."""


class FakePacket(Packet):
    """A packet whose verdict is remembered; as with the kernel's, there is one verdict only."""

    def __init__(self, payload: bytes, indev: int = 0) -> None:
        self.payload = payload
        self.indev = indev
        self.mark = 0
        self.verdict = ""

    def get_payload(self) -> bytes:
        return self.payload

    def set_payload(self, payload: bytes) -> None:
        self.payload = payload

    def set_mark(self, mark: int) -> None:
        self.mark = mark

    def accept(self) -> None:
        self._decide("accept")

    def drop(self) -> None:
        self._decide("drop")

    def _decide(self, verdict: str) -> None:
        assert not self.verdict, f"{verdict} after {self.verdict}"
        self.verdict = verdict


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def serve(self, loop: RealLoop, now: int) -> None:
        """Let the loop do what is due at `now`."""
        self.now = now
        loop.serve(now)


class NoInjector:
    """Stands in for the raw socket, which needs root."""

    made: ClassVar[list[NoInjector]] = []

    def __init__(self, leg: int, host: int | None = None) -> None:
        self.made.append(self)
        self.leg, self.host = leg, host
        self.sent: list[bytes] = []
        self.refused = 0
        self.closed = False

    def send(self, datagram: bytes) -> None:
        self.sent.append(datagram)

    def descriptor(self, version: int) -> int:
        """What C sends by: nothing."""
        assert version in (4, 6)
        return -1

    def close(self) -> None:
        self.closed = True


def datagram(size: int = 1000, *, ttl: int = 64, options: bytes = b"") -> bytes:
    """An IPv4/UDP datagram with a right header checksum; `options` of whole words."""
    head = bytearray(20) + options
    head[0], head[8], head[9] = 0x40 | len(head) // 4, ttl, 17
    head[2:4] = size.to_bytes(2, "big")
    head[12:20] = bytes((10, 0, 0, 2, 10, 2, 1, 2))
    head[10:12] = (0xFFFF - ones_complement_sum(bytes(head))).to_bytes(2, "big")
    return bytes(head) + bytes(size - len(head))


def ones_complement_sum(header: bytes) -> int:
    """Of a header's words (RFC 1071); 0xFFFF when its checksum is right."""
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def datagram_ipv6(size: int = 1000, *, hop_limit: int = 64, destination: str = "") -> bytes:
    """An IPv6/UDP datagram; `destination` in hexadecimal digits."""
    head = bytes((0x60, 0, 0, 0)) + (size - 40).to_bytes(2, "big") + bytes((17, hop_limit))
    addresses = bytes(16) + bytes.fromhex(destination or "00" * 16)
    return head + addresses + bytes(size - 40)


JUMBOGRAM = datagram_ipv6(100)[:4] + bytes(3) + datagram_ipv6(100)[7:]
"""Payload length 0 behind which hop-by-hop options come (RFC 2675, section 2)."""


def departing(loop: RealLoop, leg: LegDriver, record: Record | None = None) -> Take:
    """What takes packets that leave on a leg without a bearer."""
    return departures(leg, loop, {}, record)


@dataclass
class Sender:
    """A bearer's driver before which packets of the kernel's come, and what counts others."""

    driver: TransmitDriver
    on_packet: Take
    unnumbered: dict[str, int]
    injectors: Any


def sender(
    loop: RealLoop,
    entity: Any,
    legs: Sequence[LegDriver],
    numbers: SnFormat,
    records: Mapping[int, Record] | None = None,
) -> Sender:
    counts: dict[str, int] = {}
    injectors: Any = {leg.number: NoInjector(leg.number) for leg in legs}
    carry = pdu_packets(1, numbers, injectors, records or {})
    driver = TransmitDriver(1, entity, legs, loop, carry)
    return Sender(driver, sdus(driver, numbers, loop, counts), counts, injectors)


def transmitter(loop: RealLoop, legs: list[LegDriver], **pdcp: object) -> Sender:
    settings = Pdcp.model_validate(pdcp)
    entity = settings.transmitter(
        len(legs), [driver.leg for driver in legs], buffer_limit=QueueLimit(6)
    )
    return sender(loop, entity, legs, sn_format(18))


@dataclass
class Receiver:
    """The same of a receiving entity."""

    driver: ReceiveDriver
    on_packet: Take
    counts: dict[str, int]


def receiver(loop: RealLoop) -> Receiver:
    counts: dict[str, int] = {}
    driver = ReceiveDriver(1, Pdcp().receiver(2), loop)
    return Receiver(driver, pdus(driver, sn_format(18), {11: 0, 12: 1}, loop, counts), counts)
