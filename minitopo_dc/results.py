"""What a run gives, and the directory that keeps it.

A run's directory holds ``scenario.yaml``, ``environment.json`` (versions, kernel), ``result.json``,
``client-rate.csv`` (``time_s``, ``received_bytes``: IP bytes that reached the client, cumulative),
an element's files for each of gnb and ue (``*-legs.csv``, ``*-transmit.csv``, ``*-receive.csv``,
``*-summary.json``), and the logs of all processes, of several flows in ``flow-1``, ``flow-2``, ...
``time_ns`` in an element's file minus ``start_ns`` of its summary is the time since the start of
the transfer.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Status = Literal["ok", "failed", "unsupported"]


@dataclass(frozen=True)
class RunResult:
    """One row of results. Without status ``ok`` there are no numbers, only a reason."""

    transport: str
    mode: str
    status: Status
    reason: str
    seed: int
    size_bytes: int
    congestion_control: str
    clock: Literal["real", "virtual"] = "real"
    repetition: int = 1
    goodput_mbps: float | None = None
    """Bits of the file divided by the completion time, in Mbit/s."""
    completion_s: float | None = None
    """From the client's start of connecting to its last byte, in s."""
    leg_bytes: list[int] | None = None
    """IP bytes that each leg delivered downlink."""
    capacity_share: float | None = None
    """Goodput divided by the mean capacity of all legs together during the transfer."""
    directory: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def save(self, directory: Path) -> None:
        """Write ``result.json`` at once: a reader sees all of it or none."""
        partial = directory / "result.partial"
        partial.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        partial.rename(directory / "result.json")

    @classmethod
    def load(cls, directory: Path) -> RunResult:
        """Read a run's result. OSError or ValueError when there is none."""
        return cls(**json.loads((directory / "result.json").read_text(encoding="utf-8")))
