"""IPv4 and IPv6 addresses in the forms of sockets, URLs and command lines."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable


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
