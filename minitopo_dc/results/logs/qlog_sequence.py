"""The translation of a qlog of ngtcp2 to the events that aioquic writes.

ngtcp2 writes JSON text sequences (RFC 7464) in qlog 0.3, with all times in whole milliseconds, cut,
since the connection's begin. After each packet sent or received it writes the latest round-trip
time again, whether there is a new sample of it or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

RECORD_SEPARATOR = "\x1e"
FORMAT = "JSON-SEQ"

Event = dict[str, Any]


def sequence_events(text: str) -> list[Event]:
    """Return the events of a file as aioquic writes them, as far as this project reads them.

    `latest_rtt` is there only when it is a new sample: when a 1-RTT packet has acknowledged a
    packet number above all before (RFC 9002, section 5.1).

    Raises:
        ValueError, KeyError, IndexError, TypeError: the file is no such sequence, or cut.
    """
    head, *records = _records(text)
    if head["qlog_format"] != FORMAT:
        raise ValueError(f"qlog_format {head['qlog_format']!r} is not {FORMAT}")
    return list(_translated(records))


def _records(text: str) -> Iterator[Event]:
    for number, record in enumerate(text.split(RECORD_SEPARATOR)[1:], start=1):
        if not record.endswith("\n"):
            raise ValueError(f"record {number} is cut")
        yield json.loads(record)


def _translated(records: list[Event]) -> Iterator[Event]:
    largest, sampled = -1, False
    for record in records:
        name, data = record["name"], record["data"]
        if name == "recovery:metrics_updated":
            data, sampled = _metrics(data, sampled=sampled), False
        elif name == "recovery:packet_lost":
            header = data["header"]
            data = {"type": header["packet_type"], "packet_number": header["packet_number"]}
        elif name == "transport:packet_received":
            data = {**data, "frames": [frame_of_today(frame) for frame in data["frames"]]}
            acknowledged = _largest_acknowledged(data)
            largest, sampled = max(largest, acknowledged), acknowledged > largest
        yield {"time": record["time"], "name": name, "data": data}


def _metrics(data: Event, *, sampled: bool) -> Event:
    latest = {"latest_rtt": data["latest_rtt"]} if sampled else {}
    return {"cwnd": data["congestion_window"], "bytes_in_flight": data["bytes_in_flight"], **latest}


def frame_of_today(frame: Event) -> Event:
    """Return a frame as aioquic of today writes it.

    In an acknowledgement of ngtcp2 or picoquic a range of one packet has one number, in one of
    aioquic two. In one of aioquic of 2020 numbers are text.
    """
    if frame["frame_type"] != "ack":
        return frame
    ranges = [[int(each[0]), int(each[-1])] for each in frame["acked_ranges"]]
    return {**frame, "acked_ranges": ranges}


def _largest_acknowledged(packet: Event) -> int:
    """Return the largest 1-RTT packet number that a packet acknowledges; -1 when there is none."""
    if packet["header"]["packet_type"] != "1RTT":
        return -1
    frames = [frame for frame in packet["frames"] if frame["frame_type"] == "ack"]
    return max((last for frame in frames for _, last in frame["acked_ranges"]), default=-1)
