"""The record of one connection by both its ends: packets, acknowledgements, windows and losses.

Of QUIC it is aioquic's qlogs of both ends, which have one clock (virtual, or the machine's): a
packet's delay is the difference of its times in them. Of TCP it is both ends' captures and the
samples of the server's kernel: on the real clock captures have the time since 1970 and samples the
monotonic clock's; on the virtual one both have the guest's. docs/results.md has what the scenario
must ask for.
"""

from __future__ import annotations

import bisect
import json
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import minitopo_dc as dc
from minitopo_dc.results import ResultError, qlog_events
from minitopo_dc.results.qlog import LOST, METRICS, PROTECTED, RECEIVED, SENT, WRONG, Event
from minitopo_dc.results.tcp_info import TcpSegment, decreases, segments, tcp_info
from minitopo_dc.units import NS_PER_S

Numbers = npt.NDArray[np.floating[Any]]
FIN, SYN, RST = 0x01, 0x02, 0x04
APPLICATION_DATA = 23
"""The type of TLS records with application data (RFC 8446, section 5.1)."""
RECORD_HEADER = struct.Struct("!BHH")
"""The header of a TLS record: type, version, length."""
Declared = tuple[float, int]
"""The time (s) at which a segment was sent again, and the number of its transmission before."""


@dataclass(frozen=True)
class Cut:
    """A cut of the congestion window, as packets were declared lost."""

    time_s: float
    cwnd_bytes: int
    """The window before the cut."""
    lost: tuple[int, ...]
    """The numbers of the packets for whose loss it was cut."""


@dataclass(frozen=True)
class ConnectionLog:
    """A download as two ends recorded it; times in s since the server's first recorded event.

    Packets are QUIC packets or TCP segments. What is sent again is another packet.
    """

    packets: pd.DataFrame
    """Packets with content, as sent: `number`, `sent_s`, `received_s` (NaN: never), `bytes` of the
    QUIC packet or of the segment's data."""
    acknowledgements: int
    """The number of the client's packets that are nothing but an acknowledgement."""
    windows: pd.DataFrame
    """`time_s`, `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes` (NaN: none yet); a row for each
    change, of TCP for each sample."""
    lost: tuple[int, ...]
    """Numbers of all packets that were declared lost, by a timeout too; for TCP, of those sent
    again."""
    cuts: tuple[Cut, ...]
    least_rtt_s: float
    """The least round-trip time; NaN: no sample."""

    @property
    def begin_s(self) -> float:
        """Return when the first packet with content was sent (s)."""
        return float(self.packets["sent_s"].iloc[0])

    @property
    def end_s(self) -> float:
        """Return when the last packet with content arrived (s)."""
        return float(self.packets["received_s"].max())

    def during(self) -> tuple[pd.DataFrame, Numbers]:
        """Return the windows of the transfer, and how long each lasted (s)."""
        windows = self.windows[self.windows["time_s"] < self.end_s]
        times = windows["time_s"].to_numpy(dtype=float).clip(self.begin_s)
        return windows, np.diff(times, append=self.end_s)

    def were_received(self, numbers: Sequence[int]) -> list[bool]:
        """Return which of some packets arrived, late or not."""
        arrived = set(self.packets["number"][self.packets["received_s"].notna()])
        return [number in arrived for number in numbers]


def connection_log(run: Path) -> ConnectionLog:
    """Read a run's connection; of several flows, that of the first one.

    Raises:
        ResultError: a file is missing (which the scenario must ask for: docs/results.md) or
            broken, or no content was sent.
        OSError: the run has no result.
    """
    return _read(run, (run / "result.json").stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(run: Path, _version: int) -> ConnectionLog:
    """Read a run's connection; keep the last one, which several measures need."""
    try:
        scenario = dc.results.load_as_run(run)
    except dc.InputError as error:
        raise ResultError(str(error)) from None
    if scenario.resolved_flows[0].transport == "tcp":
        log = _tcp_log(run, virtual=scenario.clock == "virtual")
    else:
        log = _quic_log(run)
    if log.packets["received_s"].isna().all():
        raise ResultError(f"{run}: no packet with content arrived")
    return log


def _quic_log(run: Path) -> ConnectionLog:
    """Read the qlogs of a run's connection; of several flows, of the first one.

    Raises:
        ResultError: there are none (the scenario needs `options: {qlog: true}`), they are broken,
            or no content was sent.
    """
    server, client = qlog_events(run, "server"), qlog_events(run, "client")
    try:
        begin = server[0]["time"] / 1000
        cuts, lost = _losses(server, begin)
        rtts = [data["min_rtt"] for _, data in _metrics(server) if "min_rtt" in data]
        return ConnectionLog(
            packets=_quic_packets(server, client, begin),
            acknowledgements=sum(
                {frame["frame_type"] for frame in data["frames"]} <= {"ack", "padding"}
                for _, data in _protected(client, SENT)
            ),
            windows=_quic_windows(server, begin),
            lost=lost,
            cuts=cuts,
            least_rtt_s=min(rtts, default=math.nan) / 1000,
        )
    except WRONG as error:
        raise ResultError(f"{run}: malformed qlog: {error!r}") from None


def _quic_packets(server: Sequence[Event], client: Sequence[Event], begin: float) -> pd.DataFrame:
    arrived = {
        data["header"]["packet_number"]: time - begin for time, data in _protected(client, RECEIVED)
    }
    rows = []
    for time, data in _protected(server, SENT):
        # Content is in streams that the client has opened in both directions (RFC 9000, 2.1).
        streams = (one["stream_id"] for one in data["frames"] if one["frame_type"] == "stream")
        if any(int(stream) % 4 == 0 for stream in streams):
            number = data["header"]["packet_number"]
            received = arrived.get(number, math.nan)
            rows.append((number, time - begin, received, data["raw"]["length"]))
    return pd.DataFrame(rows, columns=["number", "sent_s", "received_s", "bytes"])


def _protected(events: Sequence[Event], name: str) -> Iterator[tuple[float, Event]]:
    for event in events:
        if event["name"] == name and event["data"]["header"]["packet_type"] == PROTECTED:
            yield event["time"] / 1000, event["data"]


def _metrics(events: Sequence[Event]) -> Iterator[tuple[float, Event]]:
    for event in events:
        if event["name"] == METRICS and "cwnd" in event["data"]:
            yield event["time"] / 1000, event["data"]


def _quic_windows(server: Sequence[Event], begin: float) -> pd.DataFrame:
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
        if event["name"] == LOST and data["type"] == PROTECTED:
            pending.append(data["packet_number"])
            lost.append(data["packet_number"])
        elif event["name"] == METRICS and "cwnd" in data:
            if pending and data["cwnd"] < window:
                cuts.append(Cut(when / 1000 - begin, window, tuple(pending)))
            window = data["cwnd"]
    return tuple(cuts), tuple(lost)


def _tcp_log(run: Path, *, virtual: bool) -> ConnectionLog:
    """Read the records of a run's first flow's connection.

    Args:
        run: its directory.
        virtual: whether it was on the virtual clock.

    Raises:
        ResultError: a file is missing or broken, or nothing was downloaded.
    """
    info = tcp_info(run)
    port = int(info["client_port"].iloc[0])
    server, client = (segments(run, f"{host}.pcap", port) for host in ("server", "client"))
    try:
        begin_ns = server[0].time_ns
        ends = (one.time_ns for one in client if not one.from_server and one.flags & (FIN | RST))
        end_ns = next(ends, client[-1].time_ns + 1)
        request_of = _last_data_ns if virtual else _request_ns
        request_ns = request_of(server)
        # The server is told out of band that the client has ended, and then sends a last message.
        content = [
            segment
            for segment in server
            if segment.from_server and segment.payload and request_ns <= segment.time_ns < end_ns
        ]
        packets = _tcp_packets(content, client, begin_ns)
        begun_ns = request_of(client)
        acknowledgements = sum(  # without data, and neither begin nor end of it all
            begun_ns <= one.time_ns < end_ns
            for one in client
            if not (one.from_server or one.payload or one.flags & (FIN | SYN | RST))
        )
        declared = _declared(content, begin_ns)
        if packets.empty:
            raise ValueError("nothing came from the server")
    except (ValueError, IndexError) as error:
        raise ResultError(f"{run}: no whole download in its captures: {error}") from None
    offset_ns = 0 if virtual else _wall_clock_offset_ns(run)
    windows = _tcp_windows(info, begin_ns - offset_ns)
    return ConnectionLog(
        packets=packets,
        acknowledgements=acknowledgements,
        windows=windows.drop(columns="state"),
        lost=tuple(number for _, number in declared),
        cuts=_cuts(windows, declared),
        least_rtt_s=float(info["least_rtt_ms"].min()) / 1000,
    )


def _request_ns(segments: Sequence[TcpSegment]) -> int:
    """Return when the client's request passed (ns): its first TLS record of application data.

    TLS 1.3 begins that with the end of its handshake. Its segments may pass in another order.
    """
    data = [segment for segment in segments if segment.payload and not segment.from_server]
    pieces = sorted(zip(_positions(data), data, strict=True), key=lambda piece: piece[0])
    at = pieces[0][0] if pieces else 0
    for position, segment in pieces:
        while position <= at <= position + len(segment.payload) - RECORD_HEADER.size:
            kind, _, size = RECORD_HEADER.unpack_from(segment.payload, at - position)
            if kind == APPLICATION_DATA:
                return segment.time_ns
            at += RECORD_HEADER.size + size
    raise ValueError("no request over TLS")


def _last_data_ns(segments: Sequence[TcpSegment]) -> int:
    data = [one.time_ns for one in segments if one.payload and not one.from_server]
    if not data:
        raise ValueError("no request")
    return data[-1]


def _positions(segments: Iterable[TcpSegment]) -> Iterator[int]:
    """Yield the place in the stream of each segment's first byte, which does not wrap at 2^32."""
    last = 0
    for number, segment in enumerate(segments):
        ahead = (segment.sequence - last + 2**31) % 2**32 - 2**31
        last = last + ahead if number else segment.sequence
        yield last


def _tcp_packets(
    content: Sequence[TcpSegment], client: Sequence[TcpSegment], begin: int
) -> pd.DataFrame:
    arrived: dict[bytes, int] = {}
    for segment in client:
        if segment.from_server:
            arrived.setdefault(segment.identity, segment.time_ns)
    rows = [
        (
            number,
            (segment.time_ns - begin) / NS_PER_S,
            (arrived.get(segment.identity, math.nan) - begin) / NS_PER_S,
            len(segment.payload),
        )
        for number, segment in enumerate(content)
    ]
    return pd.DataFrame(rows, columns=["number", "sent_s", "received_s", "bytes"])


def _declared(content: Sequence[TcpSegment], begin: int) -> list[Declared]:
    """Return the segments that the sender took for lost: all that it sent again."""
    starts: list[int] = []
    latest: list[int] = []
    declared = []
    for number, (start, segment) in enumerate(zip(_positions(content), content, strict=True)):
        if not starts or start > starts[-1]:
            starts.append(start)
            latest.append(number)
            continue
        first = max(0, bisect.bisect_right(starts, start) - 1)
        for at in range(first, bisect.bisect_left(starts, start + len(segment.payload))):
            declared.append(((segment.time_ns - begin) / NS_PER_S, latest[at]))
            latest[at] = number
    return declared


def _tcp_windows(info: pd.DataFrame, begin: int) -> pd.DataFrame:
    columns = ["cwnd_bytes", "in_flight_bytes", "ssthresh_bytes", "state"]
    table = info[columns].copy()
    table.insert(0, "time_s", (info["time_ns"] - begin) / NS_PER_S)
    return table[table["time_s"].shift(-1) != table["time_s"]].reset_index(drop=True)


def _cuts(windows: pd.DataFrame, declared: Sequence[Declared]) -> tuple[Cut, ...]:
    """Return the cuts of the window, each with the segments declared lost.

    These are the segments sent again from the sample before the cut to the end of its state.
    """
    times, states = windows["time_s"], (windows["state"] != windows["state"].shift()).cumsum()
    cuts = []
    for at in windows.index[decreases(windows)]:
        before = max(0, at - 1)
        after = windows.index[states > states[at]]
        until = times[after[0]] if len(after) else math.inf
        lost = tuple(number for time, number in declared if times[before] <= time < until)
        if lost:
            cuts.append(Cut(float(times[at]), int(windows["cwnd_bytes"][before]), lost))
    return tuple(cuts)


def _wall_clock_offset_ns(run: Path) -> int:
    path = run / "gnb-summary.json"
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["wall_clock_offset_ns"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: {error!r}") from None
