"""TCP as its ends recorded it: the samples of the server's kernel (`tcp-info.csv`), captures."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from minitopo_dc.capture import read_capture
from minitopo_dc.results import files
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.run_result import of_first_flow
from minitopo_dc.scenario.addresses import SERVER_PORT

FILE = "tcp-info.csv"
NUMBERS = (
    *("time_ns", "client_port", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"),
    *("smoothed_rtt_ms", "rtt_variation_ms", "least_rtt_ms", "retransmissions", "bytes_acked"),
)
DECREASED = ("recovery", "loss")
"""States in which the window was cut for lost segments (Linux' `enum tcp_ca_state`)."""
TCP = 6
"""The number of the protocol in IP."""
SYN = 0x02
IPV6_HEADER = 40


def tcp_info(run: Path) -> pd.DataFrame:
    """Return the first flow's samples (docs/results.md); NaN where a number is not known.

    Raises:
        ResultError: there are none, or the file is broken.
    """
    path = of_first_flow(run, FILE)
    if path is None:
        raise ResultError(
            f"{run}: no {FILE}; its scenario, or the first of its flows, lacks options: "
            "tcp_info: true"
        )
    table = files.read_numbers(run, path.relative_to(run), NUMBERS)
    try:
        rows: pd.DataFrame = table[table["client_port"] == table["client_port"].iloc[0]]
        return rows.astype({"state": str}).reset_index(drop=True)
    except (KeyError, IndexError) as error:
        raise ResultError(f"{path}: {error!r}") from None


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
        one for one in segments(run, f"{role}.pcap") if one.from_server == (role == "client")
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


def segments(run: Path, name: str, client_port: int | None = None) -> list[TcpSegment]:
    """Return the segments of one connection, or of all of the flow, in the capture's order."""
    path = run / name
    if not path.exists():
        raise ResultError(
            f"{run}: no {name}; its scenario lacks capture: [client, server] below real or virtual"
        )
    try:
        with files.opened_in(run, path, files.MAX_CAPTURE) as file:
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


def decreases(info: pd.DataFrame) -> pd.Series[bool]:
    """Return which samples are the first ones after a cut of the window for lost segments."""
    state = info["state"]
    return state.isin(DECREASED) & (state != state.shift())
