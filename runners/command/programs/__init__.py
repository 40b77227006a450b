"""Servers and clients for workload `command`, one module each; here what they share."""

from __future__ import annotations

import argparse
import asyncio
import math
import socket
import statistics
from collections.abc import Sequence

from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.processes.kernel_socket import PROTOCOLS


def tcp_socket(address: str, *, multipath: bool) -> socket.socket:
    """Return a socket of TCP or MPTCP that sends small packets at once (TCP_NODELAY)."""
    protocol = PROTOCOLS["mptcp" if multipath else "tcp"]
    family = address_family(address)
    made = socket.socket(family, socket.SOCK_STREAM, protocol)
    send_at_once(made)
    # As asyncio resolves addresses for protocols that it knows only, MPTCP's is not named to it.
    return socket.socket(family, socket.SOCK_STREAM, 0, fileno=made.detach())


def send_at_once(made: socket.socket) -> None:
    """Set TCP_NODELAY, so that small packets do not wait."""
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def listening(address: str, port: int, backlog: int, *, multipath: bool) -> socket.socket:
    """Return a socket that listens, with `backlog` connections waiting."""
    made = tcp_socket(address, multipath=multipath)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    made.listen(backlog)
    return made


async def connect(
    address: str, port: int, *, multipath: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the two ends of a connection to a server."""
    made = tcp_socket(address, multipath=multipath)
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, (address, port))
        return await asyncio.open_connection(sock=made)
    except BaseException:
        made.close()
        raise


async def end(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, and raise what one of them has raised."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def delays(prefix: str, seconds: Sequence[float]) -> dict[str, float]:
    """Return mean, median, 95th percentile (nearest rank) and maximum in ms; at least one."""
    ascending = sorted(1e3 * each for each in seconds)
    return {
        f"{prefix}_mean_ms": statistics.fmean(ascending),
        f"{prefix}_median_ms": statistics.median(ascending),
        f"{prefix}_p95_ms": ascending[math.ceil(0.95 * len(ascending)) - 1],
        f"{prefix}_max_ms": ascending[-1],
    }


def arguments(description: str, options: Sequence[str]) -> argparse.Namespace:
    """Return the role, `server` or `client`, the server's address, `mptcp`, and these numbers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("role", choices=("server", "client"))
    parser.add_argument("--server", required=True, help="the server's address")
    parser.add_argument("--mptcp", action="store_true", help="sockets of MPTCP")
    for option in options:
        parser.add_argument(option, type=float, required=True)
    return parser.parse_args()
