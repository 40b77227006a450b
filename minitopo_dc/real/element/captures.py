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
from typing import Any

from netfilterqueue import Packet

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.fields import OPPOSITE
from minitopo_dc.real.element.loop import clock
from minitopo_dc.real.element.packets import Record, Take
from minitopo_dc.scenario.element import Bearer, ElementSettings, TransmitBearer


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
        names = {leg.leg: f"{settings.host}-leg{leg.leg}.pcap" for leg in settings.legs}
        files = names if settings.pcap else {}
        self._files = {
            n: CaptureFile(settings.directory / name, offset) for n, name in files.items()
        }

    def plain(self, leg: int) -> Record | None:
        """Return what records packets without a bearer that leave on a leg; None: nothing does."""
        return self._files[leg].write if self._files else None

    def outbound(self, bearer: TransmitBearer) -> Mapping[int, Record]:
        """Return what records the PDUs of a bearer that leave on its legs, by their numbers."""
        return {leg: self._pdus(leg, bearer) for leg in bearer.legs if self._files}

    def arrivals(self, take: Take, bearer: Bearer, interfaces: Mapping[int, int]) -> Take:
        """Return `take` with a record of PDUs; `interfaces` has the leg of each index."""
        if not self._files:
            return take
        records = {index: self._pdus(leg, bearer) for index, leg in interfaces.items()}

        def recorded(packet: Packet) -> None:
            records[packet.indev](clock(), packet.get_payload())
            take(packet)

        return recorded

    def close(self) -> None:
        """Write what is left; it may be called again. Raise OSError if a file cannot be written."""
        with ExitStack() as stack:
            for file in reversed(list(self._files.values())):  # a stack's last one is called first
                stack.callback(file.close)

    def _pdus(self, leg: int, bearer: Bearer) -> Record:
        write, frame = self._files[leg].write, pdu_framing(**self.named(leg, bearer))
        return lambda now, datagram: write(now, frame(datagram))

    def named(self, leg: int, bearer: Bearer) -> dict[str, Any]:
        """Return by what a bearer's PDUs on a leg are known, those that leave or that arrive."""
        assert self._outbound is not None
        leaves = isinstance(bearer, TransmitBearer)
        direction = self._outbound if leaves else OPPOSITE[self._outbound]
        known = {"leg": leg, "bearer": bearer.bearer, "sn_bits": bearer.pdcp.sn_bits}
        return {**known, "direction": direction}
