"""Numbered, timestamped UDP packets through the testbed, for calibration and benchmarks.

Runs as a process on a host: `python -m minitopo_dc.real.run.probe send|receive ...`. All hosts
are on one machine, so both ends read the same monotonic clock and one-way delays are exact.
"""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minitopo_dc.installation import module_command
from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.runners.addresses import address_family

PORT = 5000
HEADERS: dict[socket.AddressFamily, int] = {socket.AF_INET: 28, socket.AF_INET6: 48}
"""Bytes of the IP and UDP headers (RFC 791, RFC 8200, RFC 768)."""
STAMP = struct.Struct("!qq")
"""Number of the packet, and when it was sent (ns of the monotonic clock)."""
BUFFER = 256 << 20
"""Bytes of receive buffer: what gets lost is to be lost on the way, not here."""
LINGER_S = 1.0
"""For what is on the way when the sender ends: five times the papers' t-Reordering."""
SILENCE_S = 0.25
"""Told to end, the receiver does when nothing has come for this long: a queue may still drain."""
SHORTEST_SLEEP_S = 0.0005
"""Pauses below this are not worth a wake-up; the packets go out in small groups then."""
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # asm-generic/socket.h: not in Python's socket module
TIMESPEC = struct.Struct("@ll")
READY = b"ready\n"


@dataclass(frozen=True)
class Arrivals:
    """The packets that arrived, in order of arrival; times in ns of the monotonic clock."""

    number: npt.NDArray[np.int64]
    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]

    @property
    def in_order(self) -> bool:
        """Return whether every packet came after all that were sent before it."""
        return bool(np.all(np.diff(self.number) > 0))

    @property
    def delays_ms(self) -> npt.NDArray[np.float64]:
        """Return the one-way delays in ms, in order of arrival."""
        return (self.received - self.sent) / 1e6


def send_through(
    sender: EmulatedHost,
    receiver: EmulatedHost,
    address: str,
    *,
    rate: float,
    seconds: float,
    size: int,
    scratch: Path,
    linger_s: float = LINGER_S,
) -> Arrivals:
    """Send `rate` packets of `size` IP bytes a second for `seconds`; return what arrived.

    `linger_s`: for how long after the sender's end a packet may still come. However long none
    comes before that, as in an outage, the receiver waits.
    """
    module = module_command("minitopo_dc.real.run.probe")
    listening = receiver.popen([*module, "receive", address, str(scratch)], stdout=subprocess.PIPE)
    try:
        assert listening.stdout is not None
        if listening.stdout.readline() != READY:
            raise RuntimeError(f"the probe on {receiver.name} did not start")
        sending = sender.popen([*module, "send", address, str(rate), str(seconds), str(size)])
        if sending.wait():
            raise RuntimeError(f"the probe on {sender.name} failed")
        time.sleep(linger_s)
        listening.terminate()
        listening.wait()
        listening.stdout.close()
    finally:
        listening.kill()
        listening.wait()
    table = np.fromfile(scratch, dtype=np.int64).reshape(-1, 3)
    scratch.unlink()
    return Arrivals(table[:, 0], table[:, 1], table[:, 2])


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


def _receive(address: str, path: Path) -> None:
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
    while True:
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
        case ["receive", address, path]:
            _receive(address, Path(path))
