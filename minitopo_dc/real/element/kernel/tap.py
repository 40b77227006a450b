"""One end of a cable in user space: a TAP interface in the network namespace of some process."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.real.element.kernel.process import ElementError, inside
from minitopo_dc.units import ETHERNET_HEADER_BYTES

DEVICE = "/dev/net/tun"
# linux/if_tun.h, linux/sockios.h, linux/if_arp.h: not in Python's modules.
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SIOCSIFHWADDR, SIOCSIFTXQLEN, ARPHRD_ETHER = 0x8924, 0x8943, 1
REQUEST = struct.Struct("16s24s")
"""struct ifreq: an interface's name and a union (netdevice(7))."""
KERNEL_QUEUE = 100_000
"""Frames that the kernel keeps until they are read, instead of its 1,000: a second of the highest
rate aimed at. The emulated queue is the leg's; this one must never be full."""
LARGEST_FRAME = 65_535 + ETHERNET_HEADER_BYTES
TRANSMIT_DROPS = 11
"""Column of `/proc/net/dev` behind the name (proc(5))."""


class End(NamedTuple):
    """An interface to be made: its name, a process in its network namespace, its MAC address.

    Without an address the kernel makes one up.
    """

    interface: str
    pid: int
    mac: str


class Tap:
    """A TAP interface; it exists as long as this object is open.

    What the host sends is read here, and what is written here the host receives. The kernel takes
    a frame off its sender's account when it hands it over (tun_net_xmit orphans it), so that TCP
    small queues do not see how long it is held.

    Raises:
        ElementError: the interface cannot be made.
    """

    def __init__(self, end: End) -> None:
        self.interface = end.interface
        self._pid = end.pid
        name = end.interface.encode()
        try:
            with inside(end.pid):
                self._descriptor = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                self._request(TUNSETIFF, name, struct.pack("H", IFF_TAP | IFF_NO_PI))
                if end.mac:
                    address = bytes.fromhex(end.mac.replace(":", ""))
                    self._request(SIOCSIFHWADDR, name, struct.pack("=H6s", ARPHRD_ETHER, address))
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                    length = REQUEST.pack(name, struct.pack("i", KERNEL_QUEUE))
                    fcntl.ioctl(control, SIOCSIFTXQLEN, length)
        except OSError as error:
            raise ElementError(
                f"interface {end.interface}: {error.strerror} (it needs root and {DEVICE})"
            ) from None
        self._buffer = bytearray(LARGEST_FRAME)
        self._view = memoryview(self._buffer)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._descriptor

    def receive(self) -> bytes | None:
        """Return the next Ethernet frame that the host has sent, None if there is none."""
        try:
            size = os.readv(self._descriptor, (self._buffer,))
        except BlockingIOError:
            return None
        return bytes(self._view[:size])

    def send(self, frame: bytes) -> bool:
        """Let the host receive a frame; return False when its interface is down."""
        try:
            os.write(self._descriptor, frame)
        except OSError:
            return False
        return True

    def dropped(self) -> int:
        """Return how many frames the kernel dropped because they were not read in time."""
        table = Path(f"/proc/{self._pid}/net/dev").read_text(encoding="ascii")
        rows = dict(line.split(":", 1) for line in table.splitlines() if ":" in line)
        counts = {name.strip(): row.split() for name, row in rows.items()}
        return int(counts[self.interface][TRANSMIT_DROPS])

    def close(self) -> None:
        """Remove the TAP interface from its host."""
        os.close(self._descriptor)

    def _request(self, number: int, name: bytes, value: bytes) -> None:
        fcntl.ioctl(self._descriptor, number, REQUEST.pack(name, value))
