"""The server beside a user's program: when it is ready, and how it ends."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from minitopo_dc.real.run.user_program import exit_code, user_server, wait_ready
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
    with user_server(HERE, [sys.executable, "-c", code], {}, tmp_path) as server:
        wait_ready(server, HERE, port)
        assert is_port_bound(HERE.pid, port)
    assert not is_port_bound(HERE.pid, port)


def test_a_server_that_lives_for_a_moment_is_ready(tmp_path: Path) -> None:
    with user_server(HERE, ["sleep", "60"], {}, tmp_path) as server:
        wait_ready(server, HERE, None)
        assert exit_code(server) is None


@pytest.mark.parametrize("port", [None, 9])
def test_a_server_that_fails_at_once_says_how(port: int | None, tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no such disc >&2; exit 3"]
    words = "server ended with exit code 3 before it was ready: no such disc"
    with (
        user_server(HERE, command, {}, tmp_path) as server,
        pytest.raises(TransferFailed, match=words),
    ):
        wait_ready(server, HERE, port)


def test_a_server_that_has_gone_to_the_background_is_no_error(tmp_path: Path) -> None:
    with user_server(HERE, ["true"], {}, tmp_path) as server:
        wait_ready(server, HERE, None)
        assert exit_code(server) == 0


def test_what_a_server_prints_is_kept_and_it_has_the_variables(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo $WORD; echo bad >&2; exec sleep 60"]
    with user_server(HERE, command, {"WORD": "good"}, tmp_path) as server:
        wait_ready(server, HERE, None)
    assert (tmp_path / "server.out").read_text() == "good\n"
    assert (tmp_path / "server.err").read_text() == "bad\n"
