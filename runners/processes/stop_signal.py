"""A signal that asks a server to end, as something that a select call can wait for."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from minitopo_dc.interruption import heed


class StopSignal:
    """Notes whether one of some signals came, which alone would not end a select call (PEP 475)."""

    def __init__(self, *numbers: signal.Signals) -> None:
        """Catch these from now on, unless they are ignored."""
        self.requested = False
        self.waiting, self._waker = socket.socketpair()
        """Readable from the first signal on."""
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno())
        heed(self._request, *numbers)

    def _request(self, _signal: int, _frame: FrameType | None) -> None:
        self.requested = True
