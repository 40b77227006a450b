"""One needless packet drop occasion, packet by packet, at the server (thesis, figure 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.logs.qlog import server_events

NEIGHBOURS = 12
"""Packets shown before the first and behind the last that were declared lost; figure 5.3 has 12 in
all, which a batch of 100 would not fit in."""
SENT, ACKNOWLEDGED, LOST = "sent", "acknowledged", "declared lost"


class PacketEvent(NamedTuple):
    """An event of one 1-RTT packet."""

    time_ms: float
    packet_number: int
    event: str
    occasion: int = 0
    """The number of the occasion of a packet declared lost: one is between two datagrams."""


def drop_occasion(run: Path) -> pd.DataFrame:
    """Return the first occasion on which packets were declared lost that had only been overtaken.

    Columns: `time_ms` since then, `packet_number`, `event` (`SENT`, `ACKNOWLEDGED`, `LOST`). The
    packets are those that were declared lost together, and `NEIGHBOURS` on either side. A packet
    that was declared lost and is acknowledged later had not been lost.

    Raises:
        ResultError: the server's qlog is missing or broken, or holds no such occasion.
    """
    try:
        events = list(_packet_events(server_events(run)))
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{run}: qlog of the server: malformed qlog: {error!r}") from None
    table = pd.DataFrame(events, columns=PacketEvent._fields)
    begin, numbers = _first_needless(run, table)
    near = table["packet_number"].between(min(numbers) - NEIGHBOURS, max(numbers) + NEIGHBOURS)
    shown = table[near].drop(columns="occasion").reset_index(drop=True)
    return shown.assign(time_ms=shown["time_ms"] - begin)


def _first_needless(run: Path, table: pd.DataFrame) -> tuple[float, list[int]]:
    """Return the time of the first such occasion, and the packets that were declared lost then."""
    acknowledged = table[table["event"] == ACKNOWLEDGED].set_index("packet_number")["time_ms"]
    lost = table[table["event"] == LOST]
    came = lost["packet_number"].map(acknowledged)
    needless = lost[came.notna() & (came >= lost["time_ms"])]
    if needless.empty:
        raise ResultError(f"{run}: no packet was declared lost that came after all")
    together = lost[lost["occasion"] == needless["occasion"].iloc[0]]
    return float(together["time_ms"].iloc[0]), list(together["packet_number"])


def _packet_events(events: Iterable[dict[str, Any]]) -> Iterator[PacketEvent]:
    """Yield the events of packets in the application data space; each is acknowledged once."""
    waiting: set[int] = set()
    occasion = 0
    for event in events:
        time, data = float(event["time"]), event["data"]
        # Not told by times: those of packets lost together differ by the time of logging them.
        occasion += event["name"].startswith("transport:")
        match event["name"]:
            case "transport:packet_sent" if data["header"]["packet_type"] == "1RTT":
                waiting.add(data["header"]["packet_number"])
                yield PacketEvent(time, data["header"]["packet_number"], SENT)
            case "transport:packet_received" if data["header"]["packet_type"] == "1RTT":
                for number in sorted(_acknowledged(data["frames"], waiting)):
                    waiting.discard(number)
                    yield PacketEvent(time, number, ACKNOWLEDGED)
            case "recovery:packet_lost" if data["type"] == "1RTT":
                yield PacketEvent(time, data["packet_number"], LOST, occasion)


def _acknowledged(frames: Iterable[dict[str, Any]], waiting: set[int]) -> set[int]:
    ranges = [
        (first, last)
        for frame in frames
        if frame["frame_type"] == "ack"
        for first, last in frame["acked_ranges"]
    ]
    return {number for number in waiting if any(low <= number <= high for low, high in ranges)}
