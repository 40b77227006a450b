"""Commands that run in the background: by what id they are registered, what of them lives."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitopo_dc.real.run_registry import REGISTRY


def identity(process: subprocess.Popen[Any]) -> str:
    """The id of a command's run; empty text if it is registered no more."""
    entries = (entry for entry in REGISTRY.glob("*.json") if entry.exists())
    owned = (entry.stem for entry in entries if json.loads(entry.read_text())["pid"] == process.pid)
    return next(owned, "")


def alive(pid: int) -> bool:
    """Whether a process lives."""
    return Path("/proc", str(pid), "exe").exists()


def wait_until(
    is_so: Callable[[], bool], process: subprocess.Popen[Any], seconds: float = 60
) -> None:
    """Wait until something is so, while a process runs."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
