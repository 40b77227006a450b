"""Counters of packets that the IP layer of this network namespace refused.

An element sees only what reaches its queues. The kernel may refuse a packet before, or behind: one
that has its number, or its verdict on a leg.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

NET = Path("/proc/net")
REFUSALS = frozenset(
    (
        *("InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards", "InNoRoutes"),
        *("InTruncatedPkts", "InTooBigErrors", "OutDiscards", "OutNoRoutes"),
        *("ReasmFails", "FragFails", "InCsumErrors"),
    )
)
"""As Linux calls counters of RFC 4293 (ipSystemStatsTable); the last one is Linux's own."""
_IPV4 = ("Ip:", "IpExt:")
_IPV6 = "Ip6"


def read_refusals() -> dict[str, int]:
    """Return how many packets were refused since the namespace was made, by version and counter."""
    return {name: count for name, count in _counters() if name.split()[1] in REFUSALS}


def refused_since(before: dict[str, int]) -> dict[str, int]:
    """Return what was refused since `before` was read; counters that stayed are left out."""
    now = read_refusals()
    grown = {name: count - before.get(name, 0) for name, count in now.items()}
    return {name: count for name, count in grown.items() if count}


def _counters() -> Iterator[tuple[str, int]]:
    """Yield each counter; IPv4's are in pairs of lines, IPv6's in single ones (proc(5))."""
    for file in ("snmp", "netstat"):
        lines = [line.split() for line in (NET / file).read_text(encoding="ascii").splitlines()]
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            if names[0] in _IPV4:
                for name, value in zip(names[1:], values[1:], strict=True):
                    yield f"IPv4 {name}", int(value)
    ipv6 = NET / "snmp6"
    for line in ipv6.read_text(encoding="ascii").splitlines() if ipv6.exists() else ():
        name, value = line.split()
        if name.startswith(_IPV6):
            yield f"IPv6 {name.removeprefix(_IPV6)}", int(value)
