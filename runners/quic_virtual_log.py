"""aioquic's qlog with the virtual clock's time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aioquic.quic.logger import QuicLogger, QuicLoggerTrace


class VirtualTrace(QuicLoggerTrace):
    """One connection's events; aioquic's own class reads the machine's clock."""

    def __init__(self, *, is_client: bool, odcid: bytes, clock: Callable[[], float]) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self._clock = clock

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Add an event."""
        self._events.append(
            {
                "data": data,
                "name": f"{category}:{event}",
                "time": self.encode_time(self._clock()),
            }
        )


class VirtualLogger(QuicLogger):
    """Logs one endpoint; `save` writes what it has."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        super().__init__()
        self._path = path
        self._clock = clock

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        """Aioquic's hook: a connection begins."""
        trace = VirtualTrace(is_client=is_client, odcid=odcid, clock=self._clock)
        self._traces.append(trace)
        return trace

    def save(self) -> None:
        """Write the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.to_dict()), encoding="utf-8")
