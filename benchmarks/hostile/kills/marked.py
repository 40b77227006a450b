"""A command in the background whose processes are found by a mark that all of them inherit.

So they are found also when the command has lost track of them, or has been killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minitopo_dc.real.machine.run_registry import REGISTRY

VARIABLE = "HOSTILE_BENCHMARK"


class Marked:
    """A command, and all that it started.

    Args:
        words: of the command.
        said: gets its standard output and error.
    """

    def __init__(self, words: Sequence[str], said: Path) -> None:
        self._mark = f"{VARIABLE}={uuid.uuid4().hex}"
        self.said = said
        name, _, value = self._mark.partition("=")
        with said.open("wb") as output:
            self.process = subprocess.Popen(
                words, stdout=output, stderr=output, env={**os.environ, name: value}
            )

    @property
    def has_ended(self) -> bool:
        """Return whether the command has ended; others of its processes may be there."""
        return self.process.poll() is not None

    def handles(self, number: int) -> bool:
        """Return whether the command handles a signal (proc(5)), as Python needs a moment to."""
        status = _read(self.process.pid, "status").decode().splitlines()
        caught = next((line.split()[1] for line in status if line.startswith("SigCgt")), "0")
        return bool(int(caught, 16) >> (number - 1) & 1)

    def others(self) -> list[int]:
        """Return the processes that it started, and theirs."""
        pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        mark = self._mark.encode()
        return [
            pid
            for pid in pids
            if pid != self.process.pid and mark in _read(pid, "environ").split(b"\0")
        ]

    def with_word(self, word: str) -> list[int]:
        """Return those of them with this word in their command line."""
        return [pid for pid in self.others() if word.encode() in _read(pid, "cmdline")]

    def entries(self) -> list[Path]:
        """Return its entries in the register of runs."""
        return [path for path in REGISTRY.glob("*.json") if _owner(path) == self.process.pid]


def _owner(entry: Path) -> int | None:
    try:
        owner: dict[str, Any] = json.loads(entry.read_text())
    except OSError:
        return None  # another run's, which has ended
    return int(owner["pid"])


def _read(pid: int, name: str) -> bytes:
    """Return a file of proc(5), empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
