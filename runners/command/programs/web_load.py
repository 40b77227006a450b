"""A web server of one request at a time, and a client of many: Minitopo's `http_server.py` and ab.

As `ab -c CONCURRENT -t SECONDS`, the client keeps so many connections of HTTP/1.0 busy, one request
each, and ends after that time or 50,000 requests. It prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socketserver
import statistics
import sys
import time
from http.server import BaseHTTPRequestHandler
from random import Random
from typing import ClassVar

from minitopo_dc.runners.command.programs import arguments, connect, delays, end, listening

OPTIONS = ("--port", "--bytes", "--concurrent", "--seconds")
BACKLOG = 5
"""Connections that wait for the server: of Python's own HTTP servers, which Minitopo uses."""
MAX_REQUESTS = 50_000
"""What ab's option -t implies."""
MAX_FAILURES = 10
"""After which ab gives up."""
REQUEST = b"GET /random HTTP/1.0\r\nAccept: */*\r\n\r\n"
PIECE = 65536


class Handler(BaseHTTPRequestHandler):
    """Answers every request with the same bytes."""

    content: ClassVar[bytes]

    def do_GET(self) -> None:
        """Send the content with its length."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *words: object) -> None:
        """Log no line for a request."""


def serve(given: argparse.Namespace) -> None:
    """Serve until the process is ended."""
    Handler.content = Random(1).randbytes(int(given.bytes))
    address = (given.server, int(given.port))
    with socketserver.TCPServer(address, Handler, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = listening(given, given.port, BACKLOG)
        server.serve_forever()


class WebLoad:
    """The requests of a client, and what came of them."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._begun = time.monotonic()
        self._sent = 0
        self.received_bytes = 0
        self.connects: list[float] = []
        self.requests: list[float] = []
        """The times (s) of connecting, and of complete requests from there on to their end."""
        self.failures: list[str] = []

    async def run(self) -> float:
        """Send requests; return for how long (s)."""
        concurrent = int(self._given.concurrent)
        tasks = [asyncio.create_task(self._repeat()) for _ in range(concurrent)]
        await asyncio.wait(tasks, timeout=self._given.seconds)
        took = time.monotonic() - self._begun
        await end(*tasks)
        return took

    async def _repeat(self) -> None:
        while self._sent < MAX_REQUESTS and len(self.failures) < MAX_FAILURES:
            self._sent += 1
            try:
                await self._request()
            except (OSError, ValueError) as error:
                self.failures.append(str(error))

    async def _request(self) -> None:
        begun = time.monotonic()
        given = self._given
        reader, writer = await connect(given, given.port)
        connected = time.monotonic()
        self.connects.append(connected - begun)
        try:
            writer.write(REQUEST)
            head = await reader.readuntil(b"\r\n\r\n")
            length = await self._count(reader)
        except asyncio.IncompleteReadError as error:
            raise ValueError(f"an answer of {len(error.partial)} bytes") from None
        finally:
            writer.close()
        if b" 200 " not in head.splitlines()[0] or length != int(given.bytes):
            raise ValueError(f"an answer of {length} bytes: {head.splitlines()[0]!r}")
        self.requests.append(time.monotonic() - begun)

    async def _count(self, reader: asyncio.StreamReader) -> int:
        """Return the bytes up to the end of the connection, each counted as it comes."""
        count = 0
        while piece := await reader.read(PIECE):
            count += len(piece)
            self.received_bytes += len(piece)
        return count


def client(given: argparse.Namespace) -> None:
    """Send requests for the time that is given, and print what came of them."""
    load = WebLoad(given)
    took = asyncio.run(load.run())
    if not load.requests:
        last = f"; the last failure: {load.failures[-1]}" if load.failures else ""
        sys.exit(f"no request was complete after {took:.3f} s{last}")
    report = {
        "complete_requests": len(load.requests),
        "failed_requests": len(load.failures),
        "requests_per_s": len(load.requests) / took,
        "received_mbps": 8e-6 * load.received_bytes / took,
        "connect_mean_ms": 1e3 * statistics.fmean(load.connects),
        **delays("request", load.requests),
        "requests_s": load.requests,
    }
    print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    options = arguments("Web server of one request at a time, and its load", OPTIONS)
    serve(options) if options.role == "server" else client(options)
