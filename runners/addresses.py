"""A server's name and certificate; IP addresses as sockets and URLs have them; bound addresses."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

SERVER_NAME = "server.test"
"""Of each run's server: RFC 6761 section 6.2 has it that .test is never a real name."""


class Certificate(NamedTuple):
    """The files of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


SIMULATED = Certificate(
    *(Path(__file__).with_name(f"certificate{end}.pem") for end in ("", "-key"))
)
"""The certificate of servers on the virtual clock, which `certificate.write_files` made: a process
that reads it need not import what makes one."""


def request_headers(method: str, path: str, size: int | None) -> list[tuple[bytes, bytes]]:
    """Return a request's headers in HTTP/2 and HTTP/3, with the bytes of its body if it has one."""
    headers = [
        (b":method", method.encode()),
        (b":scheme", b"https"),
        (b":authority", SERVER_NAME.encode()),
        (b":path", path.encode()),
    ]
    return headers + ([] if size is None else [(b"content-length", str(size).encode())])


def ip_version(addresses: Iterable[str]) -> int:
    """Return the IP version of all of these addresses, 4 or 6.

    Raises:
        ValueError: one is no IP address, or their versions differ.
    """
    versions = {address: ipaddress.ip_address(address).version for address in addresses}
    if len(set(versions.values())) != 1:
        raise ValueError(f"{', '.join(versions)}: allowed are IPv4 addresses or IPv6 addresses")
    return next(iter(versions.values()))


def address_family(address: str) -> socket.AddressFamily:
    """Return the family of sockets for an IP address."""
    is_ipv6 = ipaddress.ip_address(address).version == 6
    return socket.AF_INET6 if is_ipv6 else socket.AF_INET


def socket_address(address: str, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
    """Return an address as a socket's `recvfrom` gives it: with flow label and scope for IPv6."""
    if address_family(address) == socket.AF_INET:
        return (address, port)
    return (address, port, 0, 0)


def bracketed(address: str) -> str:
    """Return an address as it stands before a colon and a port (RFC 3986, section 3.2.2)."""
    return address if address_family(address) == socket.AF_INET else f"[{address}]"


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
