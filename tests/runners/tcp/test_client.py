"""Attempts of the TCP client to connect."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence

import pytest

from minitopo_dc.runners.processes.kernel_socket import tcp_socket
from minitopo_dc.runners.tcp.client import Server, quickest


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as made:
        yield made


def bound(*addresses: str) -> list[socket.socket]:
    made = [tcp_socket(address, "tcp") for address in addresses]
    for attempt, address in zip(made, addresses, strict=True):
        attempt.bind((address, 0))
    return made


def connected(attempts: Sequence[socket.socket], delay_s: float, server: Server) -> socket.socket:
    """The one that is ready, soon."""

    async def wait() -> socket.socket:
        async with asyncio.timeout(10):
            return await quickest(attempts, delay_s, server)

    return asyncio.run(wait())


def test_the_first_that_is_ready_is_kept_and_the_others_are_closed(
    listener: socket.socket,
) -> None:
    attempts = bound("127.0.0.1", "127.0.0.2")
    with connected(attempts, 60, listener.getsockname()) as kept:
        assert kept.getpeername() == listener.getsockname()
    assert [attempt.fileno() for attempt in attempts] == [-1, -1]


def test_a_failed_attempt_is_followed_by_the_next_one_at_once(listener: socket.socket) -> None:
    failing, good = bound("127.0.0.1", "127.0.0.1")
    failing.listen()  # such a socket cannot connect
    with connected([failing, good], 60, listener.getsockname()) as kept:
        assert kept is good
    assert failing.fileno() == -1


def test_attempts_that_are_all_refused_are_an_error() -> None:
    deaf, *attempts = bound("127.0.0.1", "127.0.0.1", "127.0.0.2")
    with deaf, pytest.raises(ConnectionRefusedError):
        connected(attempts, 0, deaf.getsockname())
