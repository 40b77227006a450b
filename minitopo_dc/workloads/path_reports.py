"""Reports of a transport's paths, the same for every transport and on both clocks.

All times are s since time zero of the legs (docs/results.md). All counts are the server's, which
sends the data; where a transport does not know a number it is None, in a file an empty field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Literal

PATHS = "paths"
"""Of `Measurement.details`: a list with the fields of `PathReport` of each path, and what else the
transport tells of it."""
PathState = Literal["open", "backup", "closed"]
"""Open and available; open with the status backup; abandoned, or its subflow removed."""


@dataclass(frozen=True, slots=True)
class PathReport:
    """One path at the end of its flow; a leg that was opened again has another path.

    Attributes:
        leg: 1, 2, ...
        opened_s: when it could first carry data.
        closed_s: when it was abandoned; None: it lasted to the end.
        bytes_sent: payload of TCP segments or UDP datagrams, retransmissions included.
        bytes_received: the same in the other direction.
        packets_sent: segments or QUIC packets.
        packets_lost: QUIC packets declared lost; of TCP the segments retransmitted.
    """

    leg: int
    opened_s: float | None
    closed_s: float | None
    bytes_sent: int
    bytes_received: int | None = None
    packets_sent: int | None = None
    packets_lost: int | None = None


@dataclass(frozen=True, slots=True)
class PathSample:
    """One path at one moment: a row of `paths.csv`.

    Attributes:
        time_s: when.
        leg: 1, 2, ...
        path: the transport's own number of the path, never used again.
        state: see `PathState`; a closed path has one last row.
        cwnd_bytes: the congestion window.
        in_flight_bytes: sent, and neither acknowledged nor declared lost.
        smoothed_rtt_ms: of RFC 9002 or RFC 6298.
        bytes_sent: as of `PathReport`, so far.
        bytes_acked: payload that the client acknowledged so far.
        packets_lost: as of `PathReport`, so far.
    """

    time_s: float
    leg: int
    path: int
    state: PathState
    cwnd_bytes: int | None = None
    in_flight_bytes: int | None = None
    smoothed_rtt_ms: float | None = None
    bytes_sent: int | None = None
    bytes_acked: int | None = None
    packets_lost: int | None = None


COLUMNS = (
    "time_s",
    "flow",
    *(field.name for field in fields(PathSample) if field.name != "time_s"),
)
"""The columns of `paths.csv`; `flow` is 1, 2, ..."""

_counters = attrgetter(*COLUMNS[2:])


def path_rows(flow: int, samples: Iterable[PathSample]) -> Iterator[list[Any]]:
    """Yield the row of `paths.csv` of each sample of a flow (1, 2, ...)."""
    for sample in samples:
        yield [f"{sample.time_s:.4f}", flow, *_counters(sample)]


def bytes_of_legs(details: Mapping[str, Any], legs: int) -> list[int]:
    """Return how many bytes a flow's paths sent on each leg.

    Args:
        details: with `paths`.
        legs: how many the scenario has.
    """
    carried = [0] * legs
    for path in details[PATHS]:
        carried[path["leg"] - 1] += path["bytes_sent"]
    return carried
