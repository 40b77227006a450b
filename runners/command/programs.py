"""Servers and clients for workload `command`: what Minitopo's experiments `ab` and `sirimsg` start.

`web_load` is a web server of one request at a time with a client of many, as Minitopo's
`http_server.py` and ApacheBench; `messages` are queries as Siri's beside slow messages.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import socket
import socketserver
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from random import Random
from typing import ClassVar

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


LOAD_OPTIONS = ("--port", "--bytes", "--concurrent", "--seconds")
WEB_BACKLOG = 5
"""Connections that wait for the server: of Python's own HTTP servers, which Minitopo uses."""
MAX_REQUESTS = 50_000
"""What ab's option -t implies."""
MAX_FAILURES = 10
"""After which ab gives up."""
REQUEST = b"GET /random HTTP/1.0\r\nAccept: */*\r\n\r\n"
PIECE = 65536


class WebHandler(BaseHTTPRequestHandler):
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


def serve_web(given: argparse.Namespace) -> None:
    """Serve until the process is ended."""
    WebHandler.content = Random(1).randbytes(int(given.bytes))
    address = (given.server, int(given.port))
    with socketserver.TCPServer(address, WebHandler, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = listening(given, given.port, WEB_BACKLOG)
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


def load_web(given: argparse.Namespace) -> None:
    """Keep connections of HTTP/1.0 busy, one request each, as `ab -c CONCURRENT -t SECONDS` does.

    It ends after that time or 50,000 requests, and prints one line of JSON.
    """
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


MESSAGE_OPTIONS = (
    *("--port", "--message-port", "--seed", "--seconds"),
    *("--query-bytes", "--response-bytes", "--response-delay", "--least-payload"),
    *("--most-payload", "--interval-ms", "--buffer-queries", "--burst-queries"),
    *("--burst-interval-ms", "--message-pause", "--message-delay", "--messages", "--message-bytes"),
)
MESSAGE_BACKLOG = 4
"""Connections that wait for a server, as of Minitopo's."""
LONGEST = 1 << 20


def payloads(query: int, least: int, most: int, random: Random) -> Iterator[int]:
    """Yield the sizes of a query's packets, between `least` and `most` bytes, drawn evenly.

    A packet after which fewer than `least` bytes were left is at most `most - least` long.
    """
    left = query
    while left > most:
        size = random.randint(least, most if left - most >= least else most - least)
        yield size
        left -= size
    yield left


async def serve_messages(given: argparse.Namespace) -> None:
    """Answer the queries and messages of clients until the process is ended."""
    size = int(given.message_bytes)

    async def query(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each query, a line, with its number in so many bytes."""
        send_at_once(writer.get_extra_info("socket"))
        with suppress(ConnectionError):
            while line := await reader.readline():
                number = line.split()[0]
                await asyncio.sleep(given.response_delay)
                writer.write(number.ljust(int(given.response_bytes) - 1) + b"\n")
        writer.close()

    async def message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each message with itself."""
        send_at_once(writer.get_extra_info("socket"))
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                data = await reader.readexactly(size)
                await asyncio.sleep(given.message_delay)
                writer.write(data)
        writer.close()

    # Whoever waits for the queries' port finds both.
    for port, service in ((given.message_port, message), (given.port, query)):
        made = listening(given, port, MESSAGE_BACKLOG)
        await asyncio.start_server(service, sock=made, limit=LONGEST, backlog=MESSAGE_BACKLOG)
    await asyncio.Event().wait()


class MessageClient:
    """Send queries and messages, and note when their answers come."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._random = Random(int(given.seed))
        self.sent: list[float] = []
        """When each query was sent (s)."""
        self.answers: list[float] = []
        """After what time each was answered (s), in their order."""
        self.missed = 0
        self.messages = self.answered_messages = 0

    async def run(self) -> None:
        """Send both; return when the time of the queries is over."""
        messages = asyncio.create_task(self._send_messages())
        reader, writer = await connect(self._given, self._given.port)
        answers = asyncio.create_task(self._take_answers(reader))
        await self._send_queries(writer)
        writer.close()
        await end(answers, messages)

    async def _send_queries(self, writer: asyncio.StreamWriter) -> None:
        given = self._given
        begun, in_burst = time.monotonic(), 0
        while True:
            pause_ms = given.interval_ms
            if 0 < given.burst_queries <= in_burst:
                in_burst, pause_ms = 0, given.burst_interval_ms
            await asyncio.sleep(pause_ms / 1e3)
            if time.monotonic() - begun >= given.seconds:
                return
            if len(self.sent) - len(self.answers) > given.buffer_queries:
                self.missed += 1
            else:
                self._send_query(writer)
                in_burst += 1

    def _send_query(self, writer: asyncio.StreamWriter) -> None:
        given = self._given
        query, least, most = map(int, (given.query_bytes, given.least_payload, given.most_payload))
        left = f"{len(self.sent)} ".encode().ljust(query - 1, b"0") + b"\n"
        self.sent.append(time.monotonic())
        for size in payloads(query, least, most, self._random):
            writer.write(left[:size])
            left = left[size:]

    async def _take_answers(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            number = int(line.split()[0])
            if number != len(self.answers) or len(line) != int(self._given.response_bytes):
                raise ValueError(f"answer {number} of {len(line)} bytes, not {len(self.answers)}")
            self.answers.append(time.monotonic() - self.sent[number])

    async def _send_messages(self) -> None:
        given = self._given
        size = int(given.message_bytes)
        reader, writer = await connect(given, given.message_port)
        for _ in range(int(given.messages)):
            await asyncio.sleep(given.message_pause)
            writer.write(bytes(size))
            self.messages += 1
            await reader.readexactly(size)
            self.answered_messages += 1


def send_messages(given: argparse.Namespace) -> None:
    """Send queries beside slow messages, each on a connection of its own.

    A query is sent in small packets at a steady pace, whether or not those before were answered;
    when too many bytes are unanswered it is left out (missed). A message waits for the answer of
    the one before, and for a pause. The client ends with its queries, and prints one line of JSON.
    """
    ends = MessageClient(given)
    asyncio.run(ends.run())
    if not ends.answers:
        sys.exit(f"none of {len(ends.sent)} queries was answered")
    report = {
        "queries": len(ends.sent),
        "answered_queries": len(ends.answers),
        "missed_queries": ends.missed,
        **delays("query", ends.answers),
        "messages": ends.messages,
        "answered_messages": ends.answered_messages,
        "queries_s": ends.answers,
    }
    print(json.dumps(report))  # noqa: T201


def _arguments() -> argparse.Namespace:
    """Return the program, its role, the server's address, the protocol, and its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    programs = parser.add_subparsers(dest="program", required=True)
    for name, options in (("web_load", LOAD_OPTIONS), ("messages", MESSAGE_OPTIONS)):
        program = programs.add_parser(name)
        program.add_argument("role", choices=("server", "client"))
        program.add_argument("--server", required=True, help="the server's address")
        program.add_argument(
            "--mptcp",
            action="store_const",
            const="mptcp",
            default="tcp",
            dest="protocol",
            help="sockets of MPTCP",
        )
        for option in options:
            program.add_argument(option, type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.role == "client":
        load_web(given) if given.program == "web_load" else send_messages(given)
    elif given.program == "web_load":
        serve_web(given)
    else:
        asyncio.run(serve_messages(given))
