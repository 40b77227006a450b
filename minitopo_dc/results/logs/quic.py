"""One QUIC connection as both ends logged it: its packets, acknowledgements, windows and losses.

It is of the runner `quic` with `options: {qlog: true}`: aioquic's qlogs of both ends have one
clock, the virtual one or the machine's, so that a packet's delay is the difference of its times in
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.logs.connection import ConnectionLog, Cut
from minitopo_dc.results.logs.qlog import end_events

PROTECTED = "1RTT"
"""The qlog type of packets with a short header: all that carry content."""
Event = dict[str, Any]


def quic_log(run: Path) -> ConnectionLog:
    """Read the qlogs of a run's connection; of several flows, of the first one.

    Raises:
        ResultError: there are none (the scenario needs `options: {qlog: true}`), they are broken,
            or no content was sent.
    """
    server, client = (end_events(run, role) for role in ("server", "client"))
    try:
        begin = server[0]["time"] / 1000
        packets = _packets(server, client, begin)
        cuts, lost = _losses(server, begin)
        return ConnectionLog(
            packets, _acknowledgements(client), _windows(server, begin), lost, cuts, _rtt(server)
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ResultError(f"{run}: malformed qlog: {error!r}") from None


def _packets(server: Sequence[Event], client: Sequence[Event], begin: float) -> pd.DataFrame:
    arrived = {
        event["data"]["header"]["packet_number"]: event["time"] / 1000 - begin
        for event in _protected(client, "transport:packet_received")
    }
    rows = [
        (number, event["time"] / 1000 - begin, arrived.get(number, math.nan), size)
        for event in _protected(server, "transport:packet_sent")
        if any(_is_content(frame) for frame in event["data"]["frames"])
        for number, size in [
            (event["data"]["header"]["packet_number"], event["data"]["raw"]["length"])
        ]
    ]
    return pd.DataFrame(rows, columns=["number", "sent_s", "received_s", "bytes"])


def _is_content(frame: Event) -> bool:
    """Return whether a frame is of a stream that the client has opened in both directions.

    RFC 9000, section 2.1.
    """
    return frame["frame_type"] == "stream" and int(frame["stream_id"]) % 4 == 0


def _acknowledgements(client: Sequence[Event]) -> int:
    sent = _protected(client, "transport:packet_sent")
    return sum(
        {frame["frame_type"] for frame in event["data"]["frames"]} <= {"ack", "padding"}
        for event in sent
    )


def _protected(events: Sequence[Event], name: str) -> Iterator[Event]:
    for event in events:
        if event["name"] == name and event["data"]["header"]["packet_type"] == PROTECTED:
            yield event


def _metrics(events: Sequence[Event]) -> Iterator[tuple[float, Event]]:
    for event in events:
        if event["name"] == "recovery:metrics_updated" and "cwnd" in event["data"]:
            yield event["time"] / 1000, event["data"]


def _windows(server: Sequence[Event], begin: float) -> pd.DataFrame:
    rows = [
        (time - begin, data["cwnd"], data["bytes_in_flight"], data.get("ssthresh", math.nan))
        for time, data in _metrics(server)
    ]
    columns = ["time_s", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"]
    table = pd.DataFrame(rows, columns=columns)
    return table[table["time_s"].shift(-1) != table["time_s"]].reset_index(drop=True)


def _losses(server: Sequence[Event], begin: float) -> tuple[tuple[Cut, ...], tuple[int, ...]]:
    cuts: list[Cut] = []
    lost: list[int] = []
    window, pending, when = 0, list[int](), -math.inf
    for event in server:
        if event["time"] != when:
            pending, when = [], event["time"]
        data = event["data"]
        if event["name"] == "recovery:packet_lost" and data["type"] == PROTECTED:
            pending.append(data["packet_number"])
            lost.append(data["packet_number"])
        elif event["name"] == "recovery:metrics_updated" and "cwnd" in data:
            if pending and data["cwnd"] < window:
                cuts.append(Cut(when / 1000 - begin, window, tuple(pending)))
            window = data["cwnd"]
    return tuple(cuts), tuple(lost)


def _rtt(server: Sequence[Event]) -> float:
    samples = [data["min_rtt"] for _, data in _metrics(server) if "min_rtt" in data]
    return float(np.min(samples)) / 1000 if samples else math.nan
