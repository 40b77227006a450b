"""NFQUEUE's netlink socket, in a user namespace as a rootless container has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from minitopo_dc.real.element.kernel.queues import NetlinkQueues
queues = NetlinkQueues()
print(queues.add(64), queues.add(64))
queues.close()
"""
UNSHARE = ("unshare", "--map-root-user", "--net", "--kill-child")


def test_queues_open_where_buffers_may_not_exceed_the_machine_s_limit() -> None:
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces for this user on this machine")
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == "0 1\n", done.stderr
