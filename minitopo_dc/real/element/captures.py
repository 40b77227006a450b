"""Captures of an element's legs: one file per leg, of what leaves and what arrives on it.

`native` has the counterpart for packets that C carries.

Rules:

* A packet is captured when its leg lets it go, with that moment as its time; it is written after
  the verdict, which the file must not delay. A packet that the leg loses is never captured.
* A PDU that arrives on a leg is captured when the element reads it, before reordering.
* What arrives without a bearer is not queued to the element, so it is in no capture of this host.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.fields import OPPOSITE, Direction
from minitopo_dc.real.element.loop import clock
from minitopo_dc.real.element.packets import Record, Take
from minitopo_dc.real.element.queues import KernelPacket
from minitopo_dc.scenario.element import Bearer, ElementSettings, TransmitBearer


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

    def plain(self, leg: int) -> Record | None:
        """Return what records packets without a bearer that leave on a leg; None: nothing does."""
        return self._files[leg].write if self._outbound is not None else None

    def outbound(self, bearer: TransmitBearer) -> Mapping[int, Record]:
        """Return what records the PDUs of a bearer that leave on its legs, by their numbers."""
        if self._outbound is None:
            return {}
        return {leg: self._pdus(leg, bearer, self._outbound) for leg in bearer.legs}

    def arrivals(self, take: Take, bearer: Bearer, interfaces: Mapping[int, int]) -> Take:
        """Return `take` with a record of PDUs; `interfaces` has the leg of each index."""
        if self._outbound is None:
            return take
        inbound = OPPOSITE[self._outbound]
        records = {index: self._pdus(leg, bearer, inbound) for index, leg in interfaces.items()}

        def recorded(packet: KernelPacket) -> None:
            records[packet.indev](clock(), packet.get_payload())
            take(packet)

        return recorded

    def close(self) -> None:
        """Write what is left; it may be called again."""
        close_all(self._files)

    def _pdus(self, leg: int, bearer: Bearer, direction: Direction) -> Record:
        write = self._files[leg].write
        frame = pdu_framing(
            leg=leg, bearer=bearer.bearer, direction=direction, sn_bits=bearer.pdcp.sn_bits
        )
        return lambda now, datagram: write(now, frame(datagram))
