"""The congestion control of a server by its qlog: that of aioquic, ngtcp2 or picoquic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.logs.qlog_sequence import (
    RECORD_SEPARATOR,
    frame_of_today,
    sequence_events,
)
from minitopo_dc.results.tables.run_files import MAX_QLOG, read_text_in
from minitopo_dc.runs.results import of_first_flow

FIELDS = "event_fields"
US_PER_MS = 1000
ROUND_TRIPS = ("smoothed_rtt", "min_rtt", "latest_rtt")
Event = dict[str, Any]


def field_events(trace: dict[str, Any]) -> list[Event]:
    """Return the events of a trace of draft 00 or 01 as aioquic of today writes them.

    picoquic has draft 00. aioquic of 2020 has draft 01, whose numbers are text, and whose times
    count from the trace's reference time. Only what this project reads is there.

    Raises:
        ResultError: it is of several paths, whose windows are in `paths.csv`.
        ValueError, KeyError, TypeError: it is no such trace, or cut.
    """
    if "path_id" in trace[FIELDS]:
        raise ResultError("a qlog of several paths; what each of them did is in paths.csv")
    return list(_translated(trace))


def _translated(trace: dict[str, Any]) -> Iterator[Event]:
    text = "event_type" in trace[FIELDS]
    begin = int(trace["common_fields"]["reference_time"]) if text else 0
    for values in trace["events"]:
        event = dict(zip(trace[FIELDS], values, strict=True))
        name = f"{event['category']}:{event['event_type' if text else 'event']}"
        data = event["data"]
        if name == "recovery:metrics_updated":
            data = {key: _in_ms(key, value) for key, value in data.items()}
        elif name == "recovery:packet_lost":
            lost = data["type" if text else "packet_type"]
            data = {"type": lost, "packet_number": int(data["packet_number"])}
        elif name in ("transport:packet_received", "transport:packet_sent"):
            data = _packet(data)
        time = (begin + int(event["relative_time"])) / US_PER_MS
        yield {"time": time, "name": name, "data": data}


def _in_ms(key: str, value: float) -> float:
    return value / US_PER_MS if key in ROUND_TRIPS else value


def _packet(data: Event) -> Event:
    header = {"packet_type": data["packet_type"], **data["header"]}
    if "packet_number" in header:
        header["packet_number"] = int(header["packet_number"])
    raw = {"length": header.get("packet_size"), **data.get("raw", {})}
    frames = [frame_of_today(frame) for frame in data.get("frames", ())]
    return {**data, "header": header, "raw": raw, "frames": frames}


@dataclass(frozen=True)
class Recovery:
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


def server_recovery(run: Path) -> Recovery:
    """Return the loss recovery by the qlog of a run's server; of several flows, of the first one's.

    Raises:
        ResultError: there is no qlog (the scenario needs `options: {qlog: true}`), or it is broken.
    """
    return read_recovery(_qlog(run, "server"), within=run)


def server_events(run: Path) -> list[dict[str, Any]]:
    """Return the events in the qlog of a run's server (the first flow's), as aioquic writes them.

    Raises:
        ResultError: there is no qlog (the scenario needs `options: {qlog: true}`), or it is broken.
    """
    return end_events(run, "server")


def end_events(run: Path, role: Literal["server", "client"]) -> list[dict[str, Any]]:
    """Return the events in the qlog of either end (the first flow's), as aioquic writes them."""
    return _read_events(run, _qlog(run, role))


def read_recovery(path: Path, within: Path | None = None) -> Recovery:
    """Read one qlog file of aioquic, ngtcp2 or picoquic, in the directory `within` or its own.

    Round-trip times of ngtcp2 are cut to whole milliseconds: their mean is 0.5 ms low.

    Raises:
        ResultError: it is missing or broken, or of several paths.
    """
    events = _read_events(within or path.parent, path)
    try:
        return _summarise(events)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(path, error) from None


def _qlog(run: Path, role: Literal["server", "client"]) -> Path:
    """Return the path of the first flow's qlog.

    aioquic and picoquic write `.qlog`, ngtcp2 `.sqlog`.
    """
    logs = of_first_flow(run, f"qlog/{role}")
    if logs is not None and (found := sorted(logs.glob("*qlog"))):
        return found[0]
    raise ResultError(
        f"{run}: no qlog of the {role}; its scenario, or the first of its flows, lacks "
        "options: qlog: true"
    )


def _read_events(run: Path, path: Path) -> list[dict[str, Any]]:
    text = read_text_in(run, path, MAX_QLOG)
    try:
        if text.startswith(RECORD_SEPARATOR):
            return sequence_events(text)
        trace = json.loads(text)["traces"][0]
        if FIELDS in trace:
            return field_events(trace)
        events: list[dict[str, Any]] = trace["events"]
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _broken(path, error) from None
    return events


def _broken(path: Path, error: Exception) -> ResultError:
    return ResultError(f"{path}: malformed qlog: {error!r}")


def _summarise(events: list[dict[str, Any]]) -> Recovery:
    metrics = [
        (event["time"], event["data"])
        for event in events
        if event["name"] == "recovery:metrics_updated"
    ]
    begin = events[0]["time"] if events else 0
    windows = pd.DataFrame(
        [((time - begin) / 1000, data["cwnd"]) for time, data in metrics if "cwnd" in data],
        columns=["time_s", "cwnd_bytes"],
    )
    changes = windows["cwnd_bytes"].diff()
    round_trips = [data["latest_rtt"] for _, data in metrics if "latest_rtt" in data]
    return Recovery(
        window=windows[(changes != 0) | (windows.index == len(windows) - 1)].reset_index(drop=True),
        lost_packets=sum(event["name"] == "recovery:packet_lost" for event in events),
        drop_occasions=int((changes < 0).sum()),
        rtt_ms=sum(round_trips) / len(round_trips) if round_trips else None,
    )
