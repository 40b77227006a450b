"""Servers and clients for workload `command`, one module each; here what they share."""

from __future__ import annotations

import argparse
import asyncio
import math
import socket
import statistics
from collections.abc import Sequence

from minitopo_dc.runners.processes.kernel_socket import tcp_socket


def send_at_once(made: socket.socket) -> None:
    """Set TCP_NODELAY, so that small packets do not wait."""
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def listening(given: argparse.Namespace, port: float, backlog: int) -> socket.socket:
    """Return a socket that listens, with `backlog` connections waiting."""
    made = tcp_socket(given.server, given.protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((given.server, int(port)))
    made.listen(backlog)
    return made


async def connect(
    given: argparse.Namespace, port: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the two ends of a connection to the server."""
    made = tcp_socket(given.server, given.protocol)
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, (given.server, int(port)))
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
    """Return the role, `server` or `client`, the server's address, the protocol, these numbers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("role", choices=("server", "client"))
    parser.add_argument("--server", required=True, help="the server's address")
    parser.add_argument(
        "--mptcp",
        action="store_const",
        const="mptcp",
        default="tcp",
        dest="protocol",
        help="sockets of MPTCP",
    )
    for option in options:
        parser.add_argument(option, type=float, required=True)
    return parser.parse_args()
