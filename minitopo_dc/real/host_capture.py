"""Captures at end hosts: every IP datagram that enters or leaves a host, as `HOST.pcap`.

Runs as a process on the host: `python -m minitopo_dc.real.host_capture FILE`. It costs
some 10 us of CPU a packet, so it is off unless asked for.
"""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from minitopo_dc.capture import CaptureFile, wall_clock_offset
from minitopo_dc.installation import module_command
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.runs.perform import RunFailedError

READY = b"ready\n"
END_TIMEOUT_S = 10.0
BUFFER = 64 << 20
"""Bytes of socket buffer: a second at the highest rate aimed at."""
IP_PROTOCOLS = (0x0800, 0x86DD)
"""IPv4, IPv6 (linux/if_ether.h)."""
ETH_P_ALL = 0x0003
"""linux/if_ether.h."""
SO_RCVBUFFORCE = 33
"""asm-generic/socket.h."""
SOL_PACKET, PACKET_STATISTICS = 263, 6  # linux/if_packet.h
_STATISTICS = struct.Struct("@II")
"""Packets, and those dropped, since the last reading (packet(7))."""


@contextmanager
def captured(hosts: Iterable[EmulatedHost], directory: Path) -> Iterator[None]:
    """Capture on each of these hosts until the end.

    Raises:
        RunFailedError: a capture did not start, or packets are missing in it.
    """
    with ExitStack() as stack:
        for host in hosts:
            stack.enter_context(_host_capture(host, directory / f"{host.name}.pcap"))
        yield


@contextmanager
def _host_capture(host: EmulatedHost, path: Path) -> Iterator[None]:
    command = [*module_command("minitopo_dc.real.host_capture"), str(path)]
    with host.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != READY:
                raise RunFailedError(f"the capture on {host.name} did not start")
            yield
        except BaseException:
            process.kill()
            raise
        process.terminate()
        _, errors = process.communicate(timeout=END_TIMEOUT_S)
        if process.returncode:
            words = errors.decode(errors="replace").strip()
            raise RunFailedError(f"the capture on {host.name}: {words}")


def _main(path: Path) -> int:
    def stop(*_: object) -> None:
        raise InterruptedError

    capture = CaptureFile(path, wall_clock_offset())
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        signal.signal(signal.SIGTERM, stop)
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        try:
            _copy(packets, capture)
        except InterruptedError:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        packets.setblocking(False)
        try:
            _copy(packets, capture)  # what has come already
        except BlockingIOError:
            capture.close()
        _, dropped = _STATISTICS.unpack(packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    if dropped:
        words = "the kernel dropped them; probably the machine is too slow"
        print(f"{dropped} packets are missing: {words}", file=sys.stderr)  # noqa: T201
    return 1 if dropped else 0


def _copy(packets: socket.socket, capture: CaptureFile) -> None:
    while True:
        datagram, address = packets.recvfrom(1 << 16)
        if address[1] in IP_PROTOCOLS:
            capture.write(time.monotonic_ns(), datagram)


if __name__ == "__main__":
    raise SystemExit(_main(Path(sys.argv[1])))
