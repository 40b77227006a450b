"""A qlog of picoquic, told in the words of aioquic's.

picoquic writes qlog draft-00: events are lists, whose fields the trace names (`event_fields`), with
times in us since the connection's begin. Metrics are told when they have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitopo_dc.analysis.errors import ResultError

FIELDS = "event_fields"
US_PER_MS = 1000
ROUND_TRIPS = ("smoothed_rtt", "min_rtt", "latest_rtt")
Event = dict[str, Any]


def field_events(trace: dict[str, Any]) -> list[Event]:
    """The events of a trace as aioquic writes them, as far as this project reads them.

    Raises:
        ResultError: it is of several paths, whose windows are `paths.csv`'s.
        ValueError, KeyError, TypeError: it is no such trace, or cut.
    """
    if "path_id" in trace[FIELDS]:
        raise ResultError("a qlog of several paths; what each of them did is in paths.csv")
    return list(_translated(trace))


def _translated(trace: dict[str, Any]) -> Iterator[Event]:
    for values in trace["events"]:
        event = dict(zip(trace[FIELDS], values, strict=True))
        name, data = f"{event['category']}:{event['event']}", event["data"]
        if name == "recovery:metrics_updated":
            data = {key: _in_ms(key, value) for key, value in data.items()}
        elif name == "recovery:packet_lost":
            data = {"type": data["packet_type"], "packet_number": data["packet_number"]}
        elif name in ("transport:packet_received", "transport:packet_sent"):
            header = {"packet_type": data["packet_type"], **data["header"]}
            frames = [_frame(frame) for frame in data.get("frames", ())]
            data = {**data, "header": header, "frames": frames}
        yield {"time": event["relative_time"] / US_PER_MS, "name": name, "data": data}


def _in_ms(key: str, value: float) -> float:
    return value / US_PER_MS if key in ROUND_TRIPS else value


def _frame(frame: Event) -> Event:
    """In an acknowledgement, a range of one packet has one number here and two with aioquic."""
    if frame["frame_type"] != "ack":
        return frame
    return {**frame, "acked_ranges": [[each[0], each[-1]] for each in frame["acked_ranges"]]}
