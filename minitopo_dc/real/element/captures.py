"""Captures of an element's legs: one file per leg, of what leaves and what arrives on it.

Each class here stands between two parts of the element, and is put there when the element is made.
An element without captures has none of them, so that its packets pay nothing. `native` has
the counterpart for packets that C carries.

Rules:

* A packet is captured when its leg lets it go, with that moment as its time; it is written after
  the verdict, which the file must not delay. A packet that the leg loses is never captured.
* A PDU that arrives on a leg is captured when the element reads it, before reordering.
* What arrives without a bearer is not queued to the element, so it is in no capture of this host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.fields import Direction
from minitopo_dc.real.element.drivers import (
    Holder,
    RealLegDriver,
    RealReceiveDriver,
    RealTransmitLeg,
    VerdictPacket,
)
from minitopo_dc.real.element.kernel.loop import clock
from minitopo_dc.real.element.kernel.queues import KernelPacket
from minitopo_dc.scenario.element import ElementSettings, ReceiveBearer, TransmitBearer

Record = Callable[[int, bytes], None]
"""Takes the time and an IP datagram as it is on the leg."""
OPPOSITE: dict[Direction, Direction] = {"downlink": "uplink", "uplink": "downlink"}


def capture_files(settings: ElementSettings, offset: int) -> dict[int, CaptureFile]:
    """Begin the file of each leg, by its number; there is none if the settings want none.

    Args:
        settings: the element's.
        offset: from the element's clock to the wall clock, ns.

    Raises:
        OSError: a file cannot be written.
    """
    names = {leg.leg: f"{settings.host}-leg{leg.leg}.pcap" for leg in settings.legs}
    files = names if settings.pcap else {}
    return {leg: CaptureFile(settings.directory / name, offset) for leg, name in files.items()}


def close_all(files: Mapping[int, CaptureFile]) -> None:
    """Close each leg's file, and then raise OSError if one could not be written."""
    with ExitStack() as stack:
        for file in reversed(list(files.values())):  # a stack's last one is called first
            stack.callback(file.close)


class Captures:
    """The captures of one element; it has none if its settings want none.

    Args:
        settings: the element's.
        offset: from the element's clock to the wall clock, ns.

    Raises:
        OSError: a file cannot be written.
    """

    def __init__(self, settings: ElementSettings, offset: int) -> None:
        self._outbound = settings.pcap
        self._files = capture_files(settings, offset)

    def outlet(self, leg: RealTransmitLeg, bearer: TransmitBearer) -> RealTransmitLeg:
        """Return the outlet on which a bearer puts its PDUs for a leg."""
        if self._outbound is None:
            return leg
        return _CapturedOutlet(leg, self._pdus(leg.number, bearer, self._outbound))

    def reports(self, leg: RealTransmitLeg) -> RealTransmitLeg:
        """Return the outlet for a bearer's reports, which are packets without a bearer."""
        if self._outbound is None:
            return leg
        return _CapturedOutlet(leg, self._files[leg.number].write)

    def departures(self, leg: RealLegDriver) -> Callable[[KernelPacket], None]:
        """Return the queue callback of packets that leave on a leg without a bearer."""
        if self._outbound is None:
            return leg.on_packet
        record = self._files[leg.number].write
        return lambda packet: leg.on_packet(_Captured(packet, record))

    def arrivals(
        self, driver: RealReceiveDriver, bearer: ReceiveBearer, interfaces: Mapping[int, int]
    ) -> Callable[[KernelPacket], None]:
        """Return the queue callback of a bearer's PDUs; `interfaces` has the leg of each index."""
        if self._outbound is None:
            return driver.on_packet
        inbound = OPPOSITE[self._outbound]
        records = {index: self._pdus(leg, bearer, inbound) for index, leg in interfaces.items()}

        def on_packet(packet: KernelPacket) -> None:
            records[packet.indev](clock(), packet.get_payload())
            driver.on_packet(packet)

        return on_packet

    def close(self) -> None:
        """Write what is left; it may be called again."""
        close_all(self._files)

    def _pdus(
        self, leg: int, bearer: TransmitBearer | ReceiveBearer, direction: Direction
    ) -> Record:
        write = self._files[leg].write
        frame = pdu_framing(
            leg=leg, bearer=bearer.bearer, direction=direction, sn_bits=bearer.pdcp.sn_bits
        )
        return lambda now, datagram: write(now, frame(datagram))


class _Captured(Holder):
    """A packet on a leg that is captured when the leg lets it go."""

    __slots__ = ("_datagram", "_record", "held")

    def __init__(self, held: VerdictPacket, record: Record) -> None:
        self._datagram = held.get_payload()  # a packet of the kernel's soon has no bytes any more
        self.held = held
        self._record = record

    def get_payload(self) -> bytes:
        return self._datagram

    def set_payload(self, payload: bytes) -> None:
        self._datagram = payload
        self.held.set_payload(payload)

    def accept(self) -> None:
        now = clock()
        self.held.accept()  # first, so that the file delays no packet that is due
        self._record(now, self._datagram)


class _CapturedOutlet(RealTransmitLeg):
    """A leg as one bearer sees it, with a capture of its PDUs."""

    def __init__(self, leg: RealTransmitLeg, record: Record) -> None:
        super().__init__(leg.number, leg.injector)
        self.reads = leg.reads
        self._leg = leg
        self._record = record

    def push(self, packet: VerdictPacket, size: int, now: int) -> None:
        self._leg.push(_Captured(packet, self._record), size, now)

    def flush(self, which: Callable[[VerdictPacket], bool], now: int) -> Sequence[VerdictPacket]:
        return self._leg.flush(which, now)
