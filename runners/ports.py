"""Tests of whether a socket is bound, by the socket tables of a process' network namespace."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Literal

from minitopo_dc.runners.addresses import address_family

TCP_ESTABLISHED, TCP_LISTEN = "01", "0A"
"""linux/net/tcp_states.h."""


def is_bound(pid: int, table: Literal["tcp", "udp"], address: str, port: int) -> bool:
    """Return whether `address:port` is bound (UDP) or listens (TCP) where process `pid` lives."""
    local = _table_address(address, port)
    return any(
        row[1] == local and (table == "udp" or row[3] == TCP_LISTEN)
        for row in _rows(pid, table, address)
    )


def is_port_bound(pid: int, port: int) -> bool:
    """Return whether a port is bound (UDP) or listens (TCP) on any address where `pid` lives."""
    suffix = f":{port:04X}"
    return any(
        row[1].endswith(suffix) and (table == "udp" or row[3] == TCP_LISTEN)
        for table in ("tcp", "udp")
        for address in ("0.0.0.0", "::")
        for row in _rows(pid, table, address)
    )


def is_connected(pid: int | Literal["self"], address: str, peer: tuple[str, int]) -> bool:
    """Return whether a TCP connection of `address` to `peer` is established where `pid` lives."""
    local, remote = _table_address(address, 0).partition(":")[0], _table_address(*peer)
    return any(
        row[1].partition(":")[0] == local and row[2:4] == [remote, TCP_ESTABLISHED]
        for row in _rows(pid, "tcp", address)
    )


def _rows(pid: int | Literal["self"], table: str, address: str) -> list[list[str]]:
    """Return the fields of each socket of an address' IP version (proc(5))."""
    suffix = "6" if address_family(address) == socket.AF_INET6 else ""
    try:
        lines = Path(f"/proc/{pid}/net/{table}{suffix}").read_text(encoding="ascii").splitlines()
    except OSError:
        return []  # the process has ended, or its kernel has no IPv6
    return [line.split() for line in lines[1:]]


def _table_address(address: str, port: int) -> str:
    # The kernel prints an address as numbers of 32 bits in the machine's order (proc(5)).
    packed = socket.inet_pton(address_family(address), address)
    numbers = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{number:08X}' for number in numbers)}:{port:04X}"
