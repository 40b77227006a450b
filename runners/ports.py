"""Whether a socket is bound, by the kernel's socket tables of a process's network namespace."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Literal

TCP_LISTEN = "0A"  # linux/net/tcp_states.h


def is_bound(pid: int, table: Literal["tcp", "udp"], address: str, port: int) -> bool:
    """Whether `address:port` is bound (UDP) or listened at (TCP) where process `pid` lives."""
    try:
        lines = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()
    except OSError:
        return False  # the process has ended
    local = _table_address(address, port)
    for line in lines[1:]:
        fields = line.split()
        if fields[1] == local and (table == "udp" or fields[3] == TCP_LISTEN):
            return True
    return False


def _table_address(address: str, port: int) -> str:
    # The kernel prints the address as one number in the machine's order (proc(5)).
    number = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    return f"{number:08X}:{port:04X}"
