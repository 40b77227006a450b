"""The congestion control of programs that open their sockets themselves, in two namespaces."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.command import runner as module
from minitopo_dc.runners.command.runner import default_control
from tests.runners.hosts import SERVER_ADDRESS, NamespaceHost, TwoHosts

pytestmark = pytest.mark.root
KINDS = {"tcp": 6, "mptcp": 262}
"""Protocol numbers of a socket (linux/in.h)."""
SERVER = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {kind}); "
    "s.bind(('{address}', 4433)); s.listen(); print('up', flush=True); c = s.accept()[0]; c.recv(1)"
)
CLIENT = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {kind}); "
    "s.connect(('{address}', 4433)); print('up', flush=True); s.recv(1)"
)


@contextmanager
def program(host: NamespaceHost, text: str, kind: int) -> Iterator[None]:
    words = [sys.executable, "-c", text.format(kind=kind, address=SERVER_ADDRESS)]
    with host.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield
        process.kill()


def controls(host: NamespaceHost) -> set[str]:
    """Return what a host's established TCP connections have, subflows among them."""
    shown = host.run("ss", "--no-header", "--info", "--tcp", "--numeric", "state", "established")
    return {word for word in shown.split() if word in ("reno", "cubic", "bbr")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_routes", [False, True])
def test_a_program_has_the_control_at_both_ends_and_the_hosts_have_their_own_again(
    kind: str, by_routes: bool, hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By routes also where this machine allows it as a default."""

    def refused(*_: object) -> object:
        raise TransferFailed("not permitted")

    if by_routes:
        monkeypatch.setattr(module, "kernel_setting", refused)
    number = KINDS[kind]
    before = [host.run("ip", "-4", "route", "show", "table", "all") for host in ends(hosts)]
    with (
        default_control(hosts.server, "cubic"),
        default_control(hosts.client, "cubic"),
        program(hosts.server, SERVER, number),
        program(hosts.client, CLIENT, number),
    ):
        time.sleep(0.1)
        assert [controls(host) for host in ends(hosts)] == [{"cubic"}, {"cubic"}]
    assert [host.run("ip", "-4", "route", "show", "table", "all") for host in ends(hosts)] == before


def ends(hosts: TwoHosts) -> tuple[NamespaceHost, NamespaceHost]:
    return hosts.server, hosts.client


def test_a_control_that_the_kernel_lacks_is_an_error_and_changes_nothing(hosts: TwoHosts) -> None:
    before = hosts.client.run("ip", "-4", "route", "show", "table", "all")
    with pytest.raises(TransferFailed, match="nosuch"), default_control(hosts.client, "nosuch"):
        pass
    assert hosts.client.run("ip", "-4", "route", "show", "table", "all") == before
