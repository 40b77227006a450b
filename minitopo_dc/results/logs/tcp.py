"""One TCP connection: both ends' captures, and the samples of the server's kernel.

It is of the runner `tcp` on the real clock, with `options: {tcp_info: true}` and `real: {capture:
[client, server]}`. Both captures and the samples are by the machine's clock.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.logs.connection import ConnectionLog, Cut
from minitopo_dc.results.logs.tcp_info import decreases, tcp_info
from minitopo_dc.results.logs.tcp_segments import (
    Segment,
    captured_segments,
    client_end_ns,
    positions,
    request_ns,
)
from minitopo_dc.results.tables.run_files import read_mapping
from minitopo_dc.runs.addresses import SERVER_PORT
from minitopo_dc.units import NS_PER_S

Declared = tuple[float, int]
"""The time (s) at which a segment was sent again, and the number of its transmission before."""


def tcp_log(run: Path) -> ConnectionLog:
    """Read the records of a run's first flow's connection.

    Raises:
        ResultError: a file is missing or broken, or nothing was downloaded.
    """
    info = tcp_info(run)
    port = int(info["client_port"].iloc[0])
    server, client = (
        captured_segments(run, f"{host}.pcap", SERVER_PORT, port) for host in ("server", "client")
    )
    try:
        content, begin_ns = _content(server, client), server[0].time_ns
        packets = _packets(content, client, begin_ns)
        declared = _declared(content, begin_ns)
        acknowledgements = _acknowledgements(client)
        if packets.empty:
            raise ValueError("nothing came from the server")
    except (ValueError, IndexError) as error:
        raise ResultError(f"{run}: no whole download in its captures: {error}") from None
    windows = _windows(info, begin_ns - _wall_clock_offset_ns(run))
    return ConnectionLog(
        packets=packets,
        acknowledgements=acknowledgements,
        windows=windows.drop(columns="state"),
        lost=tuple(number for _, number in declared),
        cuts=_cuts(windows, declared),
        least_rtt_s=float(info["least_rtt_ms"].min()) / 1000,
    )


def _content(server: Sequence[Segment], client: Sequence[Segment]) -> list[Segment]:
    """Return the server's segments with data, from the request's arrival to the client's end.

    The server is told out of band that the client has ended, and then sends a last message.
    """
    begin_ns, end_ns = request_ns(server), client_end_ns(client)
    return [
        each
        for each in server
        if each.from_server and each.payload and begin_ns <= each.time_ns < end_ns
    ]


def _packets(content: Sequence[Segment], client: Sequence[Segment], begin: int) -> pd.DataFrame:
    arrived: dict[bytes, int] = {}
    for each in client:
        if each.from_server:
            arrived.setdefault(each.identity, each.time_ns)
    rows = [
        (
            number,
            (each.time_ns - begin) / NS_PER_S,
            (arrived[each.identity] - begin) / NS_PER_S if each.identity in arrived else math.nan,
            len(each.payload),
        )
        for number, each in enumerate(content)
    ]
    return pd.DataFrame(rows, columns=["number", "sent_s", "received_s", "bytes"])


def _acknowledgements(client: Sequence[Segment]) -> int:
    begin_ns, end_ns = request_ns(client), client_end_ns(client)
    return sum(
        each.only_acknowledges and begin_ns <= each.time_ns < end_ns
        for each in client
        if not each.from_server
    )


def _declared(content: Sequence[Segment], begin: int) -> list[Declared]:
    """Return the segments that the sender took for lost: all that it sent again."""
    starts: list[int] = []
    latest: list[int] = []
    found = []
    for number, (start, each) in enumerate(zip(positions(content), content, strict=True)):
        if not starts or start > starts[-1]:
            starts.append(start)
            latest.append(number)
            continue
        first = max(0, bisect.bisect_right(starts, start) - 1)
        for at in range(first, bisect.bisect_left(starts, start + len(each.payload))):
            found.append(((each.time_ns - begin) / NS_PER_S, latest[at]))
            latest[at] = number
    return found


def _windows(info: pd.DataFrame, begin: int) -> pd.DataFrame:
    elapsed = (info["time_ns"] - begin) / NS_PER_S
    columns = ["cwnd_bytes", "in_flight_bytes", "ssthresh_bytes", "state"]
    table = info[columns].assign(time_s=elapsed)[["time_s", *columns]]
    return table[table["time_s"].shift(-1) != table["time_s"]].reset_index(drop=True)


def _cuts(windows: pd.DataFrame, declared: Sequence[Declared]) -> tuple[Cut, ...]:
    """Return the cuts of the window, each with the segments declared lost.

    These are the segments sent again from the sample before the cut to the end of its state.
    """
    times, begins = windows["time_s"], decreases(windows)
    states = (windows["state"] != windows["state"].shift()).cumsum()
    found = []
    for at in windows.index[begins]:
        before = max(0, at - 1)
        after = windows.index[states > states[at]]
        until = times[after[0]] if len(after) else math.inf
        lost = tuple(number for time, number in declared if times[before] <= time < until)
        if lost:
            found.append(Cut(float(times[at]), int(windows["cwnd_bytes"][before]), lost))
    return tuple(found)


def _wall_clock_offset_ns(run: Path) -> int:
    """Return the difference in ns between the captures' times and those of the kernel's samples."""
    path = run / "gnb-summary.json"
    try:
        return int(read_mapping(run, path)["wall_clock_offset_ns"])
    except ResultError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: {error!r}") from None
