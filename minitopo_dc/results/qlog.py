"""One QUIC connection as its ends logged it: the qlogs of aioquic, ngtcp2 and picoquic.

All are translated to the events that aioquic of today writes, as far as this project reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from minitopo_dc.results.files import MAX_QLOG, ResultError, read_text_in
from minitopo_dc.results.run_result import of_first_flow

Event = dict[str, Any]
SENT, RECEIVED = "transport:packet_sent", "transport:packet_received"
METRICS, LOST = "recovery:metrics_updated", "recovery:packet_lost"
PROTECTED = "1RTT"
"""The qlog type of packets with a short header: all that carry content."""
FIELDS = "event_fields"
"""What a trace of draft 00 or 01 has: its events are lists of these."""
ROUND_TRIPS = ("smoothed_rtt", "min_rtt", "latest_rtt")
"""Numbers that are in us in these drafts."""
RECORD_SEPARATOR = "\x1e"
"""The first character of JSON text sequences (RFC 7464), as ngtcp2 writes them."""
SEQUENCE = "JSON-SEQ"
WRONG = (ValueError, LookupError, TypeError, AttributeError)
"""The errors that a malformed qlog raises."""


def qlog_events(
    run: Path, role: Literal["server", "client"], *, several_paths: bool = False
) -> list[Event]:
    """Return the events in the qlog of either end (the first flow's), as aioquic writes them.

    Args:
        run: the run's directory.
        role: the end.
        several_paths: whether it may be of several paths, which the events do not tell apart.

    Raises:
        ResultError: there is no qlog (the scenario needs `options: {qlog: true}`), or it is broken.
    """
    logs = of_first_flow(run, f"qlog/{role}")
    paths = [] if logs is None else sorted(logs.glob("*qlog"))  # ngtcp2's end with `.sqlog`
    if not paths:
        raise ResultError(
            f"{run}: no qlog of the {role}; its scenario, or the first of its flows, lacks "
            "options: qlog: true"
        )
    text = read_text_in(run, paths[0], MAX_QLOG)
    try:
        if text.startswith(RECORD_SEPARATOR):
            return list(_sequence_events(text))
        trace = json.loads(text)["traces"][0]
        if FIELDS in trace:
            return list(_draft_events(trace, several_paths=several_paths))
        events: list[Event] = trace["events"]
    except ResultError as error:
        raise ResultError(f"{paths[0]}: {error}") from None
    except (*WRONG, RecursionError) as error:
        raise ResultError(f"{paths[0]}: malformed qlog: {error!r}") from None
    return events


def _draft_events(trace: Event, *, several_paths: bool) -> Iterator[Event]:
    """Yield the events of a trace of draft 00 or 01.

    picoquic has draft 00. aioquic of 2020 has draft 01, whose numbers are text, and whose times
    count from the trace's reference time.
    """
    if "path_id" in trace[FIELDS] and not several_paths:
        raise ResultError("a qlog of several paths; what each of them did is in paths.csv")
    text = "event_type" in trace[FIELDS]
    begin = int(trace["common_fields"]["reference_time"]) if text else 0
    for values in trace["events"]:
        event = dict(zip(trace[FIELDS], values, strict=True))
        name = f"{event['category']}:{event['event_type' if text else 'event']}"
        data = event["data"]
        if name == METRICS:
            data = {key: data[key] / (1000 if key in ROUND_TRIPS else 1) for key in data}
        elif name == LOST:
            kind = data["type" if text else "packet_type"]
            data = {"type": kind, "packet_number": int(data["packet_number"])}
        elif name in (SENT, RECEIVED):
            header = {"packet_type": data["packet_type"], **data["header"]}
            if "packet_number" in header:
                header["packet_number"] = int(header["packet_number"])
            raw = {"length": header.get("packet_size"), **data.get("raw", {})}
            data = {**data, "header": header, "raw": raw, "frames": _frames(data.get("frames", ()))}
        yield {"time": (begin + int(event["relative_time"])) / 1000, "name": name, "data": data}


def _sequence_events(text: str) -> Iterator[Event]:
    """Yield the events of ngtcp2's qlog 0.3, whose times are whole milliseconds, cut.

    After each packet sent or received it writes the latest round-trip time again. `latest_rtt` is
    in an event only when it is a new sample: when a 1-RTT packet has acknowledged a packet number
    above all before (RFC 9002, section 5.1).
    """
    parts = text.split(RECORD_SEPARATOR)[1:]
    for number, part in enumerate(parts, start=1):
        if not part.endswith("\n"):
            raise ValueError(f"record {number} is cut")
    head, *records = map(json.loads, parts)
    if head["qlog_format"] != SEQUENCE:
        raise ValueError(f"qlog_format {head['qlog_format']!r} is not {SEQUENCE}")
    largest, is_sample = -1, False
    for record in records:
        name, data = record["name"], record["data"]
        if name == METRICS:
            latest = {"latest_rtt": data["latest_rtt"]} if is_sample else {}
            window = {"cwnd": data["congestion_window"], "bytes_in_flight": data["bytes_in_flight"]}
            data, is_sample = window | latest, False
        elif name == LOST:
            header = data["header"]
            data = {"type": header["packet_type"], "packet_number": header["packet_number"]}
        elif name == RECEIVED:
            data = {**data, "frames": _frames(data["frames"])}
            is_protected = data["header"]["packet_type"] == PROTECTED
            acks = (frame["acked_ranges"] for frame in data["frames"] if "acked_ranges" in frame)
            ranges = [ends for of_frame in acks for ends in of_frame] if is_protected else []
            acknowledged = max((last for _, last in ranges), default=-1)
            largest, is_sample = max(largest, acknowledged), acknowledged > largest
        yield {"time": record["time"], "name": name, "data": data}


def _frames(frames: Sequence[Event]) -> list[Event]:
    """Return frames whose ranges of acknowledgement have two numbers each, with `stream_id`.

    In an acknowledgement of ngtcp2 or picoquic a range of one packet has one number, in one of
    aioquic two. In one of aioquic of 2020 numbers are text. picoquic has `id` of a stream.
    """
    made = []
    for frame in frames:
        if frame["frame_type"] == "ack":
            ranges = [[int(ends[0]), int(ends[-1])] for ends in frame["acked_ranges"]]
            made.append({**frame, "acked_ranges": ranges})
        elif frame["frame_type"] == "stream" and "id" in frame:
            made.append({**frame, "stream_id": frame["id"]})
        else:
            made.append(frame)
    return made
