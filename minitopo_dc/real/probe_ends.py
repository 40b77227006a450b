"""The ends of a probe as programs: numbered, timestamped UDP packets, and a file of what arrived.

`python -m minitopo_dc.real.probe_ends send|receive ...` runs on a host. It imports little, as
nearly all the time of a short probe would be that of the imports.
"""

from __future__ import annotations

import signal
import socket
import struct
import sys
import threading
import time
from array import array
from pathlib import Path

from minitopo_dc.runners.addresses import address_family

PORT = 5000
HEADERS: dict[socket.AddressFamily, int] = {socket.AF_INET: 28, socket.AF_INET6: 48}
"""Bytes of the IP and UDP headers (RFC 791, RFC 8200, RFC 768)."""
STAMP = struct.Struct("!qq")
"""Number of the packet, and when it was sent (ns of the monotonic clock)."""
BUFFER = 256 << 20
"""Bytes of receive buffer: what gets lost is to be lost on the way, not here."""
SILENCE_S = 0.25
"""Told to end, the receiver does when nothing has come for this long: a queue may still drain."""
SHORTEST_SLEEP_S = 0.0005
"""Pauses below this are not worth a wake-up; the packets go out in small groups then."""
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # asm-generic/socket.h: not in Python's socket module
TIMESPEC = struct.Struct("@ll")
READY = b"ready\n"
COLUMNS = ("number", "sent", "received")
"""Of the file, 64-bit integers; times in ns."""


def _send(address: str, rate: float, seconds: float, size: int) -> None:
    connection = socket.socket(address_family(address), socket.SOCK_DGRAM)
    connection.connect((address, PORT))
    filler = bytes(size - HEADERS[connection.family] - STAMP.size)
    begin = time.monotonic()
    for number in range(round(rate * seconds)):
        ahead = begin + number / rate - time.monotonic()
        if ahead > SHORTEST_SLEEP_S:
            time.sleep(ahead)
        connection.send(STAMP.pack(number, time.monotonic_ns()) + filler)


def _receive(address: str, packets: int, path: Path) -> None:
    """Write what arrives until all have come, or after SIGTERM none for `SILENCE_S`."""
    connection = socket.socket(address_family(address), socket.SOCK_DGRAM)
    connection.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    # The kernel's time of arrival, so that this process' own wake-up is not part of the delay.
    connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    connection.bind((address, PORT))
    connection.settimeout(SILENCE_S)
    is_ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_ending.set())
    since_boot = time.time_ns() - time.monotonic_ns()
    print("ready", flush=True)  # noqa: T201 - the other side waits for this line
    table = array("q")
    while len(table) < len(COLUMNS) * packets:
        try:
            data, ancillary, _, _ = connection.recvmsg(65_535, 64)
        except TimeoutError:
            if is_ending.is_set():
                break
            continue
        seconds, nanoseconds = TIMESPEC.unpack(ancillary[0][2])
        table.extend((*STAMP.unpack_from(data), seconds * 1_000_000_000 + nanoseconds - since_boot))
    path.write_bytes(table.tobytes())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["send", address, rate, seconds, size]:
            _send(address, float(rate), float(seconds), int(size))
        case ["receive", address, packets, path]:
            _receive(address, int(packets), Path(path))
