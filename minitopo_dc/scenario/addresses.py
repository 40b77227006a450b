"""The addresses of end hosts and of legs, on either clock.

The two-path topology repeats these addresses, because it also works without this package. A test
compares them.
"""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import Literal

from minitopo_dc.fields.ranges import IpVersion

SERVER_PORT = 4433
"""The server's port of the first flow; the next flows have the ports after it."""
REPORT_PORT = 49_152
"""The port of PDCP bearers' reports, to which the bearer's number is added: such ports are assigned
to nobody (RFC 6335)."""
ECHO_PORT = 55_000
"""The port of the echoes over a bearer's legs, likewise."""


def client_address(leg: int, version: IpVersion = 4) -> str:
    """Return the client's address whose traffic takes leg `leg` (1, 2, ...)."""
    return _of_version(version, 2, leg, 2)


def server_address(link: int = 1, version: IpVersion = 4) -> str:
    """Return the server's address on backhaul link `link` (1, 2, ...); without backhaul: link 1."""
    return _of_version(version, 0, link - 1, 2)


def proxy_address(version: IpVersion = 4, *, agg: bool = False) -> str:
    """Return the address of a proxy on gnb, or on agg, the host beside it on the real clock.

    What gnb itself sends would have too few packets in the legs' queues there: the kernel's TCP
    lets a socket have about 1 ms of its rate in queues of its own host (TCP small queues).
    """
    return _of_version(version, 4, 0, 1) if agg else leg_address("gnb", 1, version)


def client_gateway(leg: int, version: IpVersion = 4) -> str:
    """Return the address of ue on the client's network for traffic of leg `leg` (1, 2, ...)."""
    return _of_version(version, 2, leg, 1)


def leg_address(host: Literal["gnb", "ue"], leg: int, version: IpVersion = 4) -> str:
    """Return the address of a router's interface to leg `leg` (1, 2, ...)."""
    return _of_version(version, 1, leg, 1 if host == "gnb" else 2)


def _of_version(version: IpVersion, network: int, subnet: int, host: int) -> str:
    """Return 10.A.B.C, or fd00:10:A:B::C with the same digits, as RFC 5952 writes it."""
    if version == 4:
        return f"10.{network}.{subnet}.{host}"
    return str(IPv6Address(f"fd00:10:{network}:{subnet}::{host}"))
