"""A host that is this machine: what runs there needs neither root nor namespaces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from minitopo_dc.real.hosts import EmulatedHost


class LocalHost(EmulatedHost):
    """As a host of the testbed, without one."""

    def __init__(self) -> None:
        self.name, self.pid = "here", os.getpid()

    def popen(
        self,
        arguments: Sequence[str],
        *,
        in_terminal: bool = False,
        **outputs: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a process here."""
        return subprocess.Popen(
            arguments,
            start_new_session=not in_terminal,
            **outputs,
        )
