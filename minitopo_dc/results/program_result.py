"""The traffic of a user's program on the legs, from the elements' summaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from minitopo_dc.fields import Direction
from minitopo_dc.files import write_whole
from minitopo_dc.results.metrics import goodput_mbps

DIRECTIONS: tuple[Direction, ...] = ("downlink", "uplink")


@dataclass(frozen=True, slots=True)
class LegCount:
    """Counters of one direction of a leg."""

    bytes: int
    """IP bytes that it delivered, all headers included."""
    mbps: float
    """The same in Mbit/s over the program's time."""
    dropped: int
    """Packets dropped, for any reason."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a program's run; without status `ok` it has a reason and no numbers."""

    command: tuple[str, ...]
    host: str
    server: tuple[str, ...]
    mode: str
    status: Literal["ok", "failed"] = "failed"
    """Whether the path was what it was to be; of the program only its own exit status tells."""
    reason: str = ""
    exit_status: int | None = None
    """The program's; 128 and the number of the signal that ended it."""
    server_exit_code: int | None = None
    """Of a server that ended by itself."""
    seconds: float | None = None
    """From the program's start, which is the elements' too, to its end."""
    legs: tuple[Mapping[Direction, LegCount], ...] = ()
    pdcp: Mapping[Direction, dict[str, Any]] = field(default_factory=dict)
    """All counters of the receiving entity of each direction that has a bearer."""

    def save(self, directory: Path) -> None:
        """Write `exec.json` at once, so that a reader sees all of it or none."""
        write_whole(directory / "exec.json", json.dumps(asdict(self), indent=1))


def leg_counts(
    summaries: Mapping[Direction, Mapping[str, Any]], seconds: float
) -> tuple[Mapping[Direction, LegCount], ...]:
    """Return the counters of each leg in both directions.

    Args:
        summaries: of the element that sends in each direction: gnb down, ue up.
        seconds: of the program.
    """
    numbers = sorted(summaries["downlink"]["legs"], key=int)
    return tuple(
        {way: _leg_count(summaries[way]["legs"][number], seconds) for way in DIRECTIONS}
        for number in numbers
    )


def pdcp_counts(
    summaries: Mapping[Direction, Mapping[str, Any]],
) -> dict[Direction, dict[str, Any]]:
    """Return the counters of the receiving entity of each direction that has one.

    Args:
        summaries: of the element that receives in each direction: ue down, gnb up.
    """
    return {
        way: dict(counters) for way in DIRECTIONS for counters in summaries[way]["receive"].values()
    }


def _leg_count(counters: Mapping[str, Any], seconds: float) -> LegCount:
    delivered = int(counters["delivered_bytes"])
    return LegCount(
        bytes=delivered,
        mbps=goodput_mbps(delivered, seconds),
        dropped=sum(value for name, value in counters.items() if name.startswith("dropped_")),
    )
