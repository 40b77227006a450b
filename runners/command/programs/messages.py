"""Queries as Siri's beside slow messages, each on a connection of its own: Minitopo's `sirimsg`.

A query is sent in small packets at a steady pace, whether or not those before were answered; when
too many bytes are unanswered it is left out (missed). A message waits for the answer of the one
before, and for a pause. The client ends with its queries. It prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from random import Random

from minitopo_dc.runners.command.programs import (
    arguments,
    connect,
    delays,
    end,
    listening,
    send_at_once,
)

OPTIONS = (
    *("--port", "--message-port", "--seed", "--seconds"),
    *("--query-bytes", "--response-bytes", "--response-delay", "--least-payload"),
    *("--most-payload", "--interval-ms", "--buffer-queries", "--burst-queries"),
    *("--burst-interval-ms", "--message-pause", "--message-delay", "--messages", "--message-bytes"),
)
BACKLOG = 4
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


async def serve(given: argparse.Namespace) -> None:
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
        made = listening(given, port, BACKLOG)
        await asyncio.start_server(service, sock=made, limit=LONGEST, backlog=BACKLOG)
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


def client(given: argparse.Namespace) -> None:
    """Send queries for the time that is given, and print what came of them."""
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


if __name__ == "__main__":
    options = arguments("Queries as Siri's beside slow messages", OPTIONS)
    asyncio.run(serve(options)) if options.role == "server" else client(options)
