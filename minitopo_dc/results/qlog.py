"""One QUIC connection as its ends logged it: the qlogs of aioquic, ngtcp2 and picoquic.

All are translated to the events that aioquic of today writes, as far as this project reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

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


@dataclass(frozen=True)
class LossRecovery:
    """The loss recovery of one connection, at the server.

    `drop_occasions` counts the decreases of the congestion window: packets that are lost together
    decrease it once (RFC 9002, section 7.3.2). `lost_packets` counts what was declared lost,
    whether it was or came late. `rtt_ms` is the mean of the samples of the round-trip time.
    """

    window: pd.DataFrame
    """`time_s` since the first event, `cwnd_bytes`; a row for each change, and the last one."""
    lost_packets: int
    drop_occasions: int
    rtt_ms: float | None


def server_recovery(run: Path) -> LossRecovery:
    """Return the loss recovery by the qlog of a run's server; of several flows, of the first one's.

    Raises:
        ResultError: there is no qlog (the scenario needs `options: {qlog: true}`), or it is broken.
    """
    return read_recovery(_qlog(run, "server"), within=run)


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
    return _read_events(run, _qlog(run, role), several_paths=several_paths)


def read_recovery(path: Path, within: Path | None = None) -> LossRecovery:
    """Read one qlog file of aioquic, ngtcp2 or picoquic, in the directory `within` or its own.

    Round-trip times of ngtcp2 are cut to whole milliseconds: their mean is 0.5 ms low.

    Raises:
        ResultError: it is missing or broken, or of several paths.
    """
    events = _read_events(within or path.parent, path)
    try:
        return _recovery(events)
    except WRONG as error:
        raise _broken(path, error) from None


def _qlog(run: Path, role: Literal["server", "client"]) -> Path:
    """Return the path of the first flow's qlog.

    aioquic and picoquic write `.qlog`, ngtcp2 `.sqlog`.
    """
    logs = of_first_flow(run, f"qlog/{role}")
    if logs is not None and (paths := sorted(logs.glob("*qlog"))):
        return paths[0]
    raise ResultError(
        f"{run}: no qlog of the {role}; its scenario, or the first of its flows, lacks "
        "options: qlog: true"
    )


def _read_events(run: Path, path: Path, *, several_paths: bool = False) -> list[Event]:
    text = read_text_in(run, path, MAX_QLOG)
    try:
        if text.startswith(RECORD_SEPARATOR):
            return list(_sequence_events(text))
        trace = json.loads(text)["traces"][0]
        if FIELDS in trace:
            return list(_draft_events(trace, several_paths=several_paths))
        events: list[Event] = trace["events"]
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None
    except (*WRONG, RecursionError) as error:
        raise _broken(path, error) from None
    return events


def _broken(path: Path, error: Exception) -> ResultError:
    return ResultError(f"{path}: malformed qlog: {error!r}")


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
            ranges = acknowledged_ranges(data["frames"]) if is_protected else []
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


def acknowledged_ranges(frames: Sequence[Event]) -> list[list[int]]:
    """Return the ranges of packet numbers that a packet's frames acknowledge: first and last."""
    acks = (frame["acked_ranges"] for frame in frames if frame["frame_type"] == "ack")
    return [ends for ranges in acks for ends in ranges]


def _recovery(events: list[Event]) -> LossRecovery:
    metrics = [(event["time"], event["data"]) for event in events if event["name"] == METRICS]
    windows = pd.DataFrame(
        [
            ((time - events[0]["time"]) / 1000, data["cwnd"])
            for time, data in metrics
            if "cwnd" in data
        ],
        columns=["time_s", "cwnd_bytes"],
    )
    changes = windows["cwnd_bytes"].diff()
    rtts = [data["latest_rtt"] for _, data in metrics if "latest_rtt" in data]
    return LossRecovery(
        window=windows[(changes != 0) | (windows.index == len(windows) - 1)].reset_index(drop=True),
        lost_packets=sum(event["name"] == LOST for event in events),
        drop_occasions=int((changes < 0).sum()),
        rtt_ms=sum(rtts) / len(rtts) if rtts else None,
    )
