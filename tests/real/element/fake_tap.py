"""An interface of a radio link that is none."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from minitopo_dc.real.element.radio_link import End

HEADER = bytes(14)
ENDS = [End("left", 1, ""), End("right", 2, "")]
RADIO: dict[str, Any] = {"rate_mbps": 8, "delay_ms": 10, "jitter_ms": 0}
"""1 byte a us."""


class FakeTap:
    """An interface: what its host sends, and what it receives."""

    def __init__(self, end: End) -> None:
        self.interface = end.interface
        self.sent: deque[bytes] = deque()
        self.received: list[bytes] = []
        self.up = True
        self.closed = False
        self._descriptor, self._other = os.pipe()

    def fileno(self) -> int:
        return self._descriptor

    def receive(self) -> bytes | None:
        return self.sent.popleft() if self.sent else None

    def send(self, frame: bytes) -> bool:
        if self.up:
            self.received.append(frame)
        return self.up

    def dropped(self) -> int:
        return 3

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
            os.close(self._other)
        self.closed = True
