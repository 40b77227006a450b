"""A client's host whose clients are ended from another thread."""

from __future__ import annotations

import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.real import AbortableHost
from minitopo_dc.real.run.watch import Watch

pytestmark = pytest.mark.root
SLEEP = ["sleep", "60"]


@pytest.fixture
def host() -> AbortableHost:
    """This machine itself."""
    return AbortableHost(
        EmulatedHost(SimpleNamespace(name="client", pid=os.getpid(), shell=None)), Watch()
    )


def test_an_abort_ends_the_clients_that_run(host: AbortableHost) -> None:
    client = host.popen(SLEEP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    host.abort()
    assert client.wait(10) == -signal.SIGKILL


def test_an_abort_ends_a_client_that_is_started_behind_it(host: AbortableHost) -> None:
    host.abort()
    client = host.popen(SLEEP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert client.wait(10) == -signal.SIGKILL


def test_an_abort_lets_the_host_be_set_back(host: AbortableHost) -> None:
    host.abort()
    command = host.popen(["echo", "undone"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, _ = command.communicate(timeout=10)
    assert (command.returncode, output) == (0, b"undone\n")
