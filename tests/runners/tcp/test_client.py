"""Attempts of the TCP client to connect."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from minitopo_dc.runners.tcp.client import quickest


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as made:
        yield made


def bound(*addresses: str) -> list[socket.socket]:
    made = [socket.socket() for _ in addresses]
    for each, address in zip(made, addresses, strict=True):
        each.bind((address, 0))
    return made


def soon() -> float:
    return time.monotonic() + 0.2


def test_the_first_that_is_ready_is_kept_and_the_others_are_closed(
    listener: socket.socket,
) -> None:
    attempts = bound("127.0.0.1", "127.0.0.2")
    with quickest(attempts, 0, listener.getsockname(), soon()) as kept:
        assert kept.getpeername() == listener.getsockname()
    assert [each.fileno() for each in attempts] == [-1, -1]


def test_a_failed_attempt_is_followed_by_the_next_one_at_once(listener: socket.socket) -> None:
    failing, good = bound("127.0.0.1", "127.0.0.1")
    failing.listen()  # such a socket cannot connect
    with failing, quickest([failing, good], 60, listener.getsockname(), soon()) as kept:
        assert kept is good


def test_attempts_that_are_all_refused_are_an_error() -> None:
    deaf, *attempts = bound("127.0.0.1", "127.0.0.1", "127.0.0.2")
    with deaf, attempts[0], attempts[1], pytest.raises(ConnectionRefusedError):
        quickest(attempts, 0, deaf.getsockname(), soon())
