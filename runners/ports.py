"""Whether a socket is bound, by the kernel's socket tables of a process's network namespace."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Literal

from minitopo_dc.runners.addresses import address_family

TCP_LISTEN = "0A"
"""linux/net/tcp_states.h."""


def is_bound(pid: int, table: Literal["tcp", "udp"], address: str, port: int) -> bool:
    """Whether `address:port` is bound (UDP) or listened at (TCP) where process `pid` lives."""
    suffix = "6" if address_family(address) == socket.AF_INET6 else ""
    try:
        lines = Path(f"/proc/{pid}/net/{table}{suffix}").read_text(encoding="ascii").splitlines()
    except OSError:
        return False  # the process has ended, or its kernel has no IPv6
    local = _table_address(address, port)
    for line in lines[1:]:
        fields = line.split()
        if fields[1] == local and (table == "udp" or fields[3] == TCP_LISTEN):
            return True
    return False


def _table_address(address: str, port: int) -> str:
    # The kernel prints an address as numbers of 32 bits in the machine's order (proc(5)).
    packed = socket.inet_pton(address_family(address), address)
    numbers = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{number:08X}' for number in numbers)}:{port:04X}"
