"""Captures of an element whose packets C carries: the counterpart of `captures`.

Python opens the files, writes their headers, and says what stands before each bearer's PDUs. C adds
the records. Packets that C reads in one turn, or lets go in one turn, have its time in common.
"""

from __future__ import annotations

import os
from typing import Any

from minitopo_dc.capture import frame_start
from minitopo_dc.real.element.captures import OPPOSITE, capture_files, close_all
from minitopo_dc.real.element.native_loop import NativeLoop
from minitopo_dc.router.settings import ElementSettings, ReceiveBearer, TransmitBearer
from minitopo_dc.settings import Direction


class NativeCaptures:
    """The captures of one element; it has none if its settings want none.

    Args:
        settings: the element's.
        offset: from the element's clock to the wall clock, ns.
        loop: the element's, in C.

    Raises:
        OSError: a file cannot be written.
    """

    def __init__(self, settings: ElementSettings, offset: int, loop: NativeLoop) -> None:
        self._outbound = settings.pcap
        self._lib = loop.lib
        self._files = capture_files(settings, offset)
        self._captures = {leg: loop.capture(file) for leg, file in self._files.items()}

    def departures(self, leg: int, driver: Any) -> None:
        """Capture what leaves on a leg, whose driver in C this is."""
        if self._outbound is not None:
            self._lib.element_leg_capture(driver, self._captures[leg])

    def outbound(self, bearer: TransmitBearer, driver: Any) -> None:
        """Let PDUs that leave be known for a bearer's, whose driver in C this is."""
        if self._outbound is None:
            return
        for position, leg in enumerate(bearer.legs):
            start = _start(leg, bearer, self._outbound)
            self._lib.element_transmit_capture(driver, position, start, len(start))

    def arrivals(self, bearer: ReceiveBearer, driver: Any) -> None:
        """Capture the PDUs that arrive for a bearer, whose driver in C this is."""
        if self._outbound is None:
            return
        for position, leg in enumerate(bearer.legs):
            start = _start(leg, bearer, OPPOSITE[self._outbound])
            to = self._captures[leg]
            self._lib.element_receive_capture(driver, position, to, start, len(start))

    def close(self) -> None:
        """Write what is left; it may be called again."""
        captures, self._captures = self._captures, {}
        errors = {leg: self._lib.element_capture_end(each) for leg, each in captures.items()}
        close_all(self._files)
        for leg, error in errors.items():
            if error:
                raise OSError(error, os.strerror(error), str(self._files[leg].path))


def _start(leg: int, bearer: TransmitBearer | ReceiveBearer, direction: Direction) -> bytes:
    return frame_start(
        leg=leg, bearer=bearer.bearer, direction=direction, sn_bits=bearer.pdcp.sn_bits
    )
