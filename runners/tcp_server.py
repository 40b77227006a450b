"""HTTP/2 over TLS 1.3 on hypercorn, over TCP or MPTCP, with a stated congestion control.

hypercorn cannot set a socket's congestion control or protocol, so this launcher makes the
listening socket and hands it over. For each request it prints one line of JSON: what the kernel
says of the connection once all bytes were acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import socket
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config

from runners.addresses import address_family
from runners.asgi import Message, Receive, Send, application
from runners.kernel_socket import (
    IPPROTO_MPTCP,
    congestion_control,
    has_delivered,
    is_multipath,
    set_congestion_control,
    socket_with_peer,
    subflows,
)

PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "mptcp": IPPROTO_MPTCP}
SAMPLE_S = 0.1
# How often to look whether the last bytes were acknowledged. It delays nothing but the report.
DELIVERY_S = 0.01


class Watch:
    """Reads what the kernel says of one connection while it lasts.

    A subflow's counters are gone once the client has closed it, which may be before the server
    learns that the last byte arrived; so they are sampled and the last good sample is kept.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._peer = connection.getpeername()[0]
        self.report = describe(connection, self._peer)
        self._connection = connection

    def sample(self) -> None:
        """Replace the report unless the connection, or a subflow of it, was closed meanwhile."""
        try:
            report = describe(self._connection, self._peer)
        except OSError:
            return
        if _bytes_sent(report) >= _bytes_sent(self.report):
            self.report = report

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self.sample()
            await asyncio.sleep(SAMPLE_S)

    async def delivered(self) -> None:
        """Return when the client has acknowledged everything or closed the connection."""
        self.sample()
        while not has_delivered(self._connection):
            await asyncio.sleep(DELIVERY_S)
            self.sample()


async def reporting_application(scope: Message, receive: Receive, send: Send) -> None:
    """The application, and a report of the connection behind each request."""
    if scope["type"] != "http":
        await application(scope, receive, send)
        return
    connection = socket_with_peer(tuple(scope["client"]))
    if connection is None:
        raise RuntimeError(f"no socket of this process is connected to {scope['client']}")
    with closing(connection):
        watch = Watch(connection)
        sampling = asyncio.create_task(watch.run())
        await application(scope, receive, send)
        sampling.cancel()
        await watch.delivered()
        print(json.dumps(watch.report), flush=True)  # noqa: T201


def describe(connection: socket.socket, peer: str) -> dict[str, Any]:
    """What the kernel says of a connection to `peer`, for JSON.

    Raises:
        OSError: it is closed.
    """
    return {
        "multipath": is_multipath(connection),
        "congestion_control": congestion_control(connection),
        "subflows": [asdict(subflow) for subflow in subflows(connection, peer)],
    }


def _bytes_sent(report: dict[str, Any]) -> int:
    return sum(subflow["bytes_sent"] for subflow in report["subflows"])


def listen(address: str, port: int, protocol: int, algorithm: str) -> socket.socket:
    """A listening socket whose accepted sockets use the congestion control `algorithm`."""
    listener = socket.socket(address_family(address), socket.SOCK_STREAM, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Accepted sockets inherit this; asyncio sets it for TCP only, and MPTCP is to be the same.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    set_congestion_control(listener, algorithm)
    listener.bind((address, port))
    listener.listen()
    return listener


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    options = _options()
    listener = listen(
        options.address, options.port, PROTOCOLS[options.protocol], options.congestion_control
    )
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.certfile, config.keyfile = str(options.certificate), str(options.key)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    asyncio.run(serve(reporting_application, config))  # type: ignore[arg-type]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--protocol", choices=PROTOCOLS, required=True)
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--congestion-control", required=True, help="as the kernel names it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
