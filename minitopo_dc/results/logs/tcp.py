"""One TCP connection: both ends' captures, and the samples of the server's kernel (`tcp-info.csv`).

A whole connection is of the runner `tcp` with `options: {tcp_info: true}` and `capture: [client,
server]` below `real` or `virtual`, by the run's clock. On the real one captures (docs/element.md)
have the time since 1970, and samples the monotonic clock's; on the virtual one both have the
guest's.
"""

from __future__ import annotations

import bisect
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from minitopo_dc.capture import read_capture
from minitopo_dc.results.files import (
    MAX_CAPTURE,
    ResultError,
    opened_in,
    read_mapping,
    read_numbers,
)
from minitopo_dc.results.logs.connection import ConnectionLog, Cut, LossRecovery
from minitopo_dc.results.run_result import of_first_flow
from minitopo_dc.scenario.addresses import SERVER_PORT
from minitopo_dc.units import NS_PER_S

FILE = "tcp-info.csv"
NUMBERS = (
    *("time_ns", "client_port", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"),
    *("smoothed_rtt_ms", "rtt_variation_ms", "least_rtt_ms", "retransmissions", "bytes_acked"),
)
DECREASED = ("recovery", "loss")
"""States in which the window was cut for lost segments (Linux' `enum tcp_ca_state`)."""
TCP = 6
"""The number of the protocol in IP."""
FIN, SYN, RST = 0x01, 0x02, 0x04
APPLICATION_DATA = 23
"""The type of TLS records with application data (RFC 8446, section 5.1)."""
RECORD_HEADER = struct.Struct("!BHH")
"""The header of a TLS record: type, version, length."""
IPV6_HEADER = 40
Declared = tuple[float, int]
"""The time (s) at which a segment was sent again, and the number of its transmission before."""


def tcp_info_file(run: Path) -> Path | None:
    """Return the path of a run's first flow's `tcp-info.csv`; None when it recorded none."""
    return of_first_flow(run, FILE)


def tcp_info(run: Path) -> pd.DataFrame:
    """Return the first flow's samples (docs/results.md); NaN where a number is not known.

    Raises:
        ResultError: there are none, or the file is broken.
    """
    path = tcp_info_file(run)
    if path is None:
        raise ResultError(
            f"{run}: no {FILE}; its scenario, or the first of its flows, lacks options: "
            "tcp_info: true"
        )
    table = read_numbers(run, path.relative_to(run), NUMBERS)
    try:
        rows: pd.DataFrame = table[table["client_port"] == table["client_port"].iloc[0]]
        return rows.astype({"state": str}).reset_index(drop=True)
    except (KeyError, IndexError) as error:
        raise ResultError(f"{path}: {error!r}") from None


def tcp_recovery(run: Path) -> LossRecovery:
    """Return the loss recovery of the first flow's connection, at the server.

    `lost_packets` are segments sent again; `rtt_ms` is the mean of the smoothed round-trip time
    over the samples.

    Raises:
        ResultError: see `tcp_info`.
    """
    info = tcp_info(run)
    elapsed = (info["time_ns"] - info["time_ns"].iloc[0]) / NS_PER_S
    return LossRecovery(
        window=info[["cwnd_bytes"]].assign(time_s=elapsed)[["time_s", "cwnd_bytes"]],
        lost_packets=int(info["retransmissions"].max()),
        drop_occasions=int(_decreases(info).sum()),
        rtt_ms=float(info["smoothed_rtt_ms"].mean()),
    )


def tcp_log(run: Path, *, virtual: bool) -> ConnectionLog:
    """Read the records of a run's first flow's connection.

    Args:
        run: its directory.
        virtual: whether it was on the virtual clock.

    Raises:
        ResultError: a file is missing or broken, or nothing was downloaded.
    """
    info = tcp_info(run)
    port = int(info["client_port"].iloc[0])
    server, client = (_segments(run, f"{host}.pcap", port) for host in ("server", "client"))
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
        packets = _packets(content, client, begin_ns)
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
    windows = _windows(info, begin_ns - offset_ns)
    return ConnectionLog(
        packets=packets,
        acknowledgements=acknowledgements,
        windows=windows.drop(columns="state"),
        lost=tuple(number for _, number in declared),
        cuts=_cuts(windows, declared),
        least_rtt_s=float(info["least_rtt_ms"].min()) / 1000,
    )


class TcpSegment(NamedTuple):
    """One transmission of a TCP segment, as an end host's capture has it."""

    time_ns: int
    """Time since 1970."""
    client_port: int
    from_server: bool
    sequence: int
    flags: int
    payload: bytes
    identity: bytes
    """Bytes that are the same at both ends, and of no other transmission: IP's identification
    (IPv4) and TCP's header with its timestamp (RFC 7323)."""


def received_content(run: Path, role: Literal["client", "server"]) -> list[tuple[int, int, int]]:
    """Return what the segments of the first flow hold that an end received, by its capture.

    Returns:
        For each segment, in the order of receipt, the client's port, the segment's first byte in
        the stream, and that behind its last; equal where it has no data.

    Raises:
        ResultError: there is no capture, it is broken, or a connection has no beginning there.
    """
    received = [
        one for one in _segments(run, f"{role}.pcap") if one.from_server == (role == "client")
    ]
    begins = {one.client_port: one.sequence + 1 for one in received if one.flags & SYN}
    try:
        firsts = [(one.sequence - begins[one.client_port]) % 2**32 for one in received]
    except KeyError as error:
        raise ResultError(f"{run}/{role}.pcap: no SYN with port {error}") from None
    return [
        (one.client_port, first, first + len(one.payload))
        for first, one in zip(firsts, received, strict=True)
    ]


def _segments(run: Path, name: str, client_port: int | None = None) -> list[TcpSegment]:
    """Return the segments of one connection, or of all of the flow, in the capture's order."""
    path = run / name
    if not path.exists():
        raise ResultError(
            f"{run}: no {name}; its scenario lacks capture: [client, server] below real or virtual"
        )
    try:
        with opened_in(run, path, MAX_CAPTURE) as file:
            segments = [_segment(*packet) for packet in read_capture(file)]
    except ResultError:
        raise
    except (ValueError, struct.error, IndexError) as error:
        raise ResultError(f"{path}: {error}") from None
    return [one for one in segments if one is not None and client_port in (None, one.client_port)]


def _segment(time_ns: int, datagram: bytes) -> TcpSegment | None:
    """Return the TCP segment of a captured packet; None when it is none of the first server's."""
    if datagram[0] >> 4 == 4:
        header, protocol, identification = 4 * (datagram[0] & 15), datagram[9], datagram[4:6]
        end = struct.unpack_from("!H", datagram, 2)[0]
    else:
        header, protocol, identification = IPV6_HEADER, datagram[6], b""
        end = IPV6_HEADER + struct.unpack_from("!H", datagram, 4)[0]
    if protocol != TCP:
        return None
    source, destination, sequence = struct.unpack_from("!HHI", datagram, header)
    if SERVER_PORT not in (source, destination):
        return None
    data = header + 4 * (datagram[header + 12] >> 4)
    from_server = source == SERVER_PORT
    return TcpSegment(
        time_ns=time_ns,
        client_port=destination if from_server else source,
        from_server=from_server,
        sequence=sequence,
        flags=datagram[header + 13],
        payload=datagram[data:end],
        identity=identification + datagram[header:data],
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


def _packets(
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


def _windows(info: pd.DataFrame, begin: int) -> pd.DataFrame:
    columns = ["cwnd_bytes", "in_flight_bytes", "ssthresh_bytes", "state"]
    table = info[columns].copy()
    table.insert(0, "time_s", (info["time_ns"] - begin) / NS_PER_S)
    return table[table["time_s"].shift(-1) != table["time_s"]].reset_index(drop=True)


def _decreases(info: pd.DataFrame) -> pd.Series[bool]:
    """Return which samples are the first ones after a cut of the window for lost segments."""
    state = info["state"]
    return state.isin(DECREASED) & (state != state.shift())


def _cuts(windows: pd.DataFrame, declared: Sequence[Declared]) -> tuple[Cut, ...]:
    """Return the cuts of the window, each with the segments declared lost.

    These are the segments sent again from the sample before the cut to the end of its state.
    """
    times, states = windows["time_s"], (windows["state"] != windows["state"].shift()).cumsum()
    cuts = []
    for at in windows.index[_decreases(windows)]:
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
        return int(read_mapping(run, path)["wall_clock_offset_ns"])
    except ResultError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: {error!r}") from None
