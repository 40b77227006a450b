"""The qlog (draft 01) of an end of aioquic 0.8, with times of a given clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from minitopo_dc.runners.aioquic.v0_8.library import module


class Log2020:
    """A connection's `quic_logger`; aioquic's own reads the machine's clock."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Take a file, and a clock in s, the same for both ends: their packets are compared."""
        self._log = module("quic.logger").QuicLogger()
        self._path = path
        self._clock = clock

    def start_trace(self, *, is_client: bool, odcid: bytes) -> Any:
        """Start the log of a connection (aioquic's hook)."""
        trace = self._log.start_trace(is_client=is_client, odcid=odcid)
        trace.log_event = partial(self._add, trace._events)
        return trace

    def end_trace(self, trace: Any) -> None:
        """Do nothing (aioquic's hook): `save` has what there is."""

    def save(self) -> None:
        """Write the log into its file, whose directory is made."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._log.to_dict()), encoding="utf-8")

    def _add(self, events: Any, *, category: str, event: str, data: dict[str, Any]) -> None:
        events.append((self._clock(), category, event, data))
