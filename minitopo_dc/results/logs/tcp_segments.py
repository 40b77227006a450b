"""Segments of one TCP connection, as an end host's capture has them (docs/element.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.tables.run_files import opened_in
from minitopo_dc.capture import read_capture
from minitopo_dc.runs.seal import MAX_CAPTURE

TCP = 6
"""The number of the protocol in IP."""
FIN, SYN, RST = 0x01, 0x02, 0x04
APPLICATION_DATA = 23
"""The type of TLS records with application data (RFC 8446, section 5.1)."""
RECORD_HEADER = struct.Struct("!BHH")
"""The header of a TLS record: type, version, length."""
IPV6_HEADER = 40


class Segment(NamedTuple):
    """One transmission of a TCP segment."""

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

    @property
    def only_acknowledges(self) -> bool:
        """Return whether it has no data, and neither begins nor ends the connection."""
        return not self.payload and not self.flags & (FIN | SYN | RST)


def captured_segments(run: Path, name: str, server_port: int, client_port: int) -> list[Segment]:
    """Return the segments of one connection, in the capture's order.

    Raises:
        ResultError: there is no such file, or it is broken.
    """
    path = run / name
    if not path.exists():
        raise ResultError(
            f"{run}: no {name}; its scenario lacks real: {{capture: [client, server]}}"
        )
    try:
        with opened_in(run, path, MAX_CAPTURE) as file:
            found = [_segment(*each, server_port) for each in read_capture(file)]
    except ResultError:
        raise
    except (ValueError, struct.error, IndexError) as error:
        raise ResultError(f"{path}: {error}") from None
    return [each for each in found if each is not None and each.client_port == client_port]


def request_ns(segments: Sequence[Segment]) -> int:
    """Return when the client's request passed (ns): its first TLS record of application data.

    TLS 1.3 begins that with the end of its handshake. Its segments may pass in another order.

    Raises:
        ValueError: there was no request.
    """
    data = [each for each in segments if each.payload and not each.from_server]
    pieces = sorted(zip(positions(data), data, strict=True), key=lambda piece: piece[0])
    at = pieces[0][0] if pieces else 0
    for position, each in pieces:
        while position <= at <= position + len(each.payload) - RECORD_HEADER.size:
            kind, _, size = RECORD_HEADER.unpack_from(each.payload, at - position)
            if kind == APPLICATION_DATA:
                return each.time_ns
            at += RECORD_HEADER.size + size
    raise ValueError("no request over TLS")


def client_end_ns(segments: Sequence[Segment]) -> int:
    """Return when the client's first segment passed that ends the connection (ns).

    Without one it is a time after the last segment.
    """
    ends = (each.time_ns for each in segments if not each.from_server and each.flags & (FIN | RST))
    return next(ends, segments[-1].time_ns + 1)


def positions(segments: Iterable[Segment]) -> Iterator[int]:
    """Yield the place in the stream of each segment's first byte, which does not wrap at 2^32."""
    last = 0
    for number, each in enumerate(segments):
        ahead = (each.sequence - last + 2**31) % 2**32 - 2**31
        last = last + ahead if number else each.sequence
        yield last


def _segment(time_ns: int, datagram: bytes, server_port: int) -> Segment | None:
    """Return the TCP segment of a captured packet; None when it is none of this server's."""
    if datagram[0] >> 4 == 4:
        header, protocol, identification = 4 * (datagram[0] & 15), datagram[9], datagram[4:6]
        end = struct.unpack_from("!H", datagram, 2)[0]
    else:
        header, protocol, identification = IPV6_HEADER, datagram[6], b""
        end = IPV6_HEADER + struct.unpack_from("!H", datagram, 4)[0]
    if protocol != TCP:
        return None
    source, destination, sequence = struct.unpack_from("!HHI", datagram, header)
    if server_port not in (source, destination):
        return None
    data = header + 4 * (datagram[header + 12] >> 4)
    from_server = source == server_port
    return Segment(
        time_ns=time_ns,
        client_port=destination if from_server else source,
        from_server=from_server,
        sequence=sequence,
        flags=datagram[header + 13],
        payload=datagram[data:end],
        identity=identification + datagram[header:data],
    )
