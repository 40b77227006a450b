"""A host that is this machine: what runs there needs neither root nor namespaces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
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
        environment: Mapping[str, str] | None = None,
        in_terminal: bool = False,
        **outputs: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a process here."""
        return subprocess.Popen(
            arguments,
            env={**os.environ, **(environment or {})},
            start_new_session=not in_terminal,
            **outputs,
        )
