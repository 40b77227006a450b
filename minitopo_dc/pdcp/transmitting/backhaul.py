"""One direction of the backhaul (Xn) between the node that splits and the node of a leg."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final, Generic, TypeVar

from minitopo_dc.pdcp.transmitting.flow_control import FlowControl
from minitopo_dc.units import NS_PER_S

T = TypeVar("T")

FRAME_BYTES: Final = 60
"""Of a frame without PDU: IPv4 20 (RFC 791), UDP 8, GTP-U 12 with the type of its extension (TS
29.281 clause 5), and a NR user plane frame of at most 20 (TS 38.425 clause 5.5.2)."""


class Backhaul(Generic[T]):
    """Frames on their way: serialised at its rate, then delayed, in order; some are lost.

    Whether a frame is lost is drawn first, then its jitter, uniform from 0 to `jitter`; nothing is
    drawn where there is neither.
    """

    __slots__ = ("_control", "_frames", "_free", "_last", "_rng")

    def __init__(self, control: FlowControl, rng: Random) -> None:
        """Make a direction with the delay, jitter, rate and loss of `control`."""
        self._control = control
        self._rng = rng
        self._frames: deque[tuple[int, T]] = deque()  # when it arrives, what it holds
        self._free = self._last = 0

    def send(self, what: T, *, size: int, now: int) -> bool:
        """Send a frame with a PDU of `size` bytes at `now` (ns); False: it will be lost."""
        control = self._control
        at = now
        if control.rate_bps is not None:
            bits = (FRAME_BYTES + size) * 8
            at = self._free = max(now, self._free) + -(-bits * NS_PER_S // control.rate_bps)
        if control.loss and self._rng.random() < control.loss:
            return False
        at += control.delay
        if control.jitter:
            at += int(control.jitter * self._rng.random())
        self._last = max(at, self._last)
        self._frames.append((self._last, what))
        return True

    def arrived(self, now: int) -> list[T]:
        """Return what has arrived by `now` (ns)."""
        frames, arrived = self._frames, []
        while frames and frames[0][0] <= now:
            arrived.append(frames.popleft()[1])
        return arrived

    def next_arrival(self) -> int | None:
        """Return when the next frame arrives (ns); None: there is none."""
        return self._frames[0][0] if self._frames else None

    def clear(self) -> None:
        """Discard all that is on its way."""
        self._frames.clear()
