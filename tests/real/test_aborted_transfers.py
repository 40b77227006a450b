"""A client's host whose clients are ended from another thread."""

from __future__ import annotations

import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.real.run import WatchedHost
from minitopo_dc.real.watch import Watch


@pytest.mark.root
def test_an_abort_ends_clients_before_and_behind_it_and_lets_the_host_be_set_back() -> None:
    here = SimpleNamespace(name="client", pid=os.getpid(), shell=None)
    host = WatchedHost(EmulatedHost(here), Watch())
    before = host.popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    host.abort()
    behind = host.popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    for client in (before, behind):
        assert client.wait(10) == -signal.SIGKILL
    command = host.popen(["echo", "undone"], stdout=subprocess.PIPE)
    output, _ = command.communicate(timeout=10)
    assert (command.returncode, output) == (0, b"undone\n")
