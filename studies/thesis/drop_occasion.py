"""One needless packet drop occasion, packet by packet, at the server (figure 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.results import ResultError, qlog_events

NEIGHBOURS = 12
"""Packets shown before the first and behind the last that were declared lost; figure 5.3 has 12 in
all, which a batch of 100 would not fit in."""
SENT, ACKNOWLEDGED, LOST = "sent", "acknowledged", "declared lost"
COLUMNS = ("time_ms", "packet_number", "event", "occasion")


def drop_occasion(run: Path) -> pd.DataFrame:
    """Return the first occasion on which packets were declared lost that had only been overtaken.

    Columns: `time_ms` since then, `packet_number`, `event` (`SENT`, `ACKNOWLEDGED`, `LOST`). The
    packets are those that were declared lost together, and `NEIGHBOURS` on either side. A packet
    that was declared lost and is acknowledged later had not been lost.

    Raises:
        ResultError: the server's qlog is missing or broken, or holds no such occasion.
    """
    try:
        table = pd.DataFrame(_packet_events(qlog_events(run, "server")), columns=COLUMNS)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{run}: qlog of the server: malformed qlog: {error!r}") from None
    lost = table[table["event"] == LOST]
    came = table[table["event"] == ACKNOWLEDGED].set_index("packet_number")["time_ms"]
    needless = lost[lost["packet_number"].map(came) >= lost["time_ms"]]
    if needless.empty:
        raise ResultError(f"{run}: no packet was declared lost that came after all")
    together = lost[lost["occasion"] == needless["occasion"].iloc[0]]
    numbers, begin = together["packet_number"], together["time_ms"].iloc[0]
    near = table["packet_number"].between(numbers.min() - NEIGHBOURS, numbers.max() + NEIGHBOURS)
    shown = table[near].drop(columns="occasion").reset_index(drop=True)
    return shown.assign(time_ms=shown["time_ms"] - begin)


def _packet_events(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[float, int, str, int]]:
    """Yield the rows of 1-RTT packets, each of which is acknowledged once.

    What is declared lost between two datagrams is one occasion: times do not tell, as those of
    packets lost together differ by the time of logging them.
    """
    waiting: set[int] = set()
    occasion = 0
    for event in events:
        time, data = float(event["time"]), event["data"]
        occasion += event["name"].startswith("transport:")
        match event["name"]:
            case "transport:packet_sent" if data["header"]["packet_type"] == "1RTT":
                waiting.add(data["header"]["packet_number"])
                yield time, data["header"]["packet_number"], SENT, occasion
            case "transport:packet_received" if data["header"]["packet_type"] == "1RTT":
                acks = (frame for frame in data["frames"] if frame["frame_type"] == "ack")
                ranges = [pair for frame in acks for pair in frame["acked_ranges"]]
                covered = {n for n in waiting if any(low <= n <= high for low, high in ranges)}
                waiting -= covered
                yield from ((time, number, ACKNOWLEDGED, occasion) for number in sorted(covered))
            case "recovery:packet_lost" if data["type"] == "1RTT":
                yield time, data["packet_number"], LOST, occasion
