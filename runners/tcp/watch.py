"""The kernel's view of a server's TCP and MPTCP connections, reported at the end of each."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from minitopo_dc.runners.processes.kernel_socket import (
    congestion_control,
    has_delivered,
    is_closed_by_peer,
    is_multipath,
    socket_with_peer,
    subflows,
)
from minitopo_dc.runners.tcp.info import INTERVAL_S, SubflowHistory, TcpInfoFile

SAMPLE_S = 0.1
DELIVERY_S = 0.01
"""How often to look whether the last bytes were acknowledged. It delays nothing but the report."""


class TcpWatch:
    """Reads the kernel's view of one connection while it lasts."""

    def __init__(self, peer: tuple[str, int], info: TcpInfoFile | None = None) -> None:
        """Take the client's address, and the file of the connections' samples or None.

        Raises:
            RuntimeError: the client's connection has gone already.
        """
        connection = socket_with_peer(peer)
        if connection is None:
            raise RuntimeError(f"no socket of this process is connected to {peer}")
        self._peer = peer
        self._connection = connection
        self._info = info
        self._interval_s = SAMPLE_S if info is None else INTERVAL_S
        self._kind = _kind(connection)
        self._history = SubflowHistory(samples=self._kind["multipath"])
        self._open_requests = 0
        self._answered = asyncio.Event()
        self.sample()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as open until its answer is complete."""
        self._open_requests += 1
        try:
            yield
        finally:
            self._open_requests -= 1
            if not self._open_requests:
                self._answered.set()

    def sample(self) -> None:
        """Note what the kernel says, unless the connection was closed meanwhile."""
        try:
            current = subflows(self._connection, self._peer)
            self._kind = _kind(self._connection)
        except OSError:
            return
        # Looked at behind the subflows: a client closes the connection first, then they go.
        ended = is_closed_by_peer(self._connection)
        now_ns = time.monotonic_ns()
        self._history.take(now_ns, current, ended=ended)
        if self._info is not None:
            self._info.write(now_ns, current)

    async def run(self) -> None:
        """Sample until the client closes the connection, often while last bytes are awaited.

        At its end, or at the server's if that comes first, print the report.
        """
        try:
            while not is_closed_by_peer(self._connection):
                self.sample()
                delivering = not self._open_requests and not has_delivered(self._connection)
                await self._pause(DELIVERY_S if delivering else self._interval_s)
        finally:
            self.sample()
            self._connection.close()
            report = {**self._kind, "subflows": self._history.report()}
            print(json.dumps(report), flush=True)  # noqa: T201

    async def _pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until the last open request is answered."""
        self._answered.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._answered.wait()


def _kind(connection: socket.socket) -> dict[str, Any]:
    return {
        "multipath": is_multipath(connection),
        "congestion_control": congestion_control(connection),
    }
