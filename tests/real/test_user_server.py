"""The server beside a user's program: when it is ready, and how it ends."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from minitopo_dc.real.user_program import exit_code, user_server, wait_ready
from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.runners.base import TransferFailed
from tests.real.local_host import LocalHost

HERE = LocalHost()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_a_server_with_a_port_is_ready_when_it_has_it(kind: str, tmp_path: Path) -> None:
    port = free_port()
    code = (
        f"import socket, time; s = socket.socket(type=socket.{kind}); time.sleep(0.3); "
        f"s.bind(('127.0.0.1', {port})); getattr(s, 'listen')() if {kind!r} == 'SOCK_STREAM' "
        "else None; time.sleep(60)"
    )
    with user_server(HERE, [sys.executable, "-c", code], tmp_path) as server:
        wait_ready(server, HERE, port)
        assert is_port_bound(HERE.pid, port)
    assert not is_port_bound(HERE.pid, port)


@pytest.mark.parametrize("port", [None, 9])
def test_a_server_that_fails_at_once_says_how(port: int | None, tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no such disc >&2; exit 3"]
    words = "server ended with exit code 3 before it was ready: no such disc"
    with (
        user_server(HERE, command, tmp_path) as server,
        pytest.raises(TransferFailed, match=words),
    ):
        wait_ready(server, HERE, port)


@pytest.mark.parametrize(("end", "code"), [("exec sleep 60", None), ("exit 0", 0)])
def test_a_server_is_ready_after_a_moment_or_in_the_background_and_what_it_prints_is_kept(
    end: str, code: int | None, tmp_path: Path
) -> None:
    command = ["sh", "-c", f"echo good; echo bad >&2; {end}"]
    with user_server(HERE, command, tmp_path) as server:
        wait_ready(server, HERE, None)
        assert exit_code(server) == code
    assert (tmp_path / "server.out").read_text() == "good\n"
    assert (tmp_path / "server.err").read_text() == "bad\n"
