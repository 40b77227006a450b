"""The wrapper of gtlsclient, with other programs in its place: no network is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from minitopo_dc.runners import ngtcp2 as quic_ngtcp2_client
from minitopo_dc.runners.ngtcp2 import run

NO_DESCRIPTOR = 999
STOPS_IN_ORDER = """
import signal, socket, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
time.sleep(float(sys.argv[1]))
"""
"""What gtlsclient does when it is told to end; by itself it ends after some time."""


@pytest.fixture(autouse=True)
def pidfd_getfd() -> None:
    """Skip where the kernel or a sandbox does not let a process borrow its child's sockets."""
    with subprocess.Popen(["sleep", "60"]) as child:
        pidfd = os.pidfd_open(child.pid)
        try:
            quic_ngtcp2_client._borrow(pidfd, 0)
        except OSError as error:
            if error.errno != 88:  # ENOTSOCK: it was borrowed, and is no socket
                pytest.skip(f"pidfd_getfd does not work here: {error}")
        finally:
            os.close(pidfd)
            child.kill()


def exits(code: int) -> list[str]:
    return [sys.executable, "-c", f"raise SystemExit({code})"]


def test_a_program_without_a_socket_ends_as_it_does() -> None:
    assert run(exits(3), None, None) == (3, {"local_address": None})


def test_a_socket_that_was_closed_meanwhile_is_not_borrowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def numbers(pid: int) -> Iterator[int]:  # noqa: ARG001
        yield NO_DESCRIPTOR

    monkeypatch.setattr(quic_ngtcp2_client, "socket_numbers", numbers)
    assert run(exits(3), None, None) == (3, {"local_address": None})


def test_a_program_that_has_ended_lends_nothing() -> None:
    with subprocess.Popen(exits(0)) as child:
        pidfd = os.pidfd_open(child.pid)
        child.wait()
        try:
            assert quic_ngtcp2_client._borrow(pidfd, 0) is None
        finally:
            os.close(pidfd)


def lives(seconds: float) -> list[str]:
    return [sys.executable, "-c", STOPS_IN_ORDER, str(seconds)]


@pytest.mark.alone
def test_after_its_duration_a_program_is_told_to_end() -> None:
    begun = time.monotonic()
    code, report = run(lives(60), None, 0.5)
    assert code == 0
    assert 0.5 <= report["stopped_s"] < 0.6
    assert time.monotonic() - begun < 30


def test_a_program_that_ends_before_its_duration_was_not_stopped() -> None:
    code, report = run(lives(0.2), None, 60)
    assert (code, report["stopped_s"]) == (0, None)
