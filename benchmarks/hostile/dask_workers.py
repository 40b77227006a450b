"""A Dask scheduler on this machine with workers that can be killed: docs/campaigns.md."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

PATIENCE_S = 60
"""For the scheduler to listen, and for a process to end that was told to."""
STARTS_S = 0.05
"""Between two looks at whether it listens."""


class DaskWorkers:
    """Workers of one thread each, which nothing restarts.

    Args:
        address: the scheduler's.
        stack: ends them.
    """

    def __init__(self, address: str, stack: ExitStack) -> None:
        self.address = address
        self._stack = stack
        self._alive: list[subprocess.Popen[bytes]] = []

    def add(self) -> None:
        """Start one more worker process."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self._alive.append(_begin(self._stack, "dask_worker", self.address, *options))

    def kill(self, rng: Random) -> None:
        """Kill one of the workers without notice to anybody."""
        victim = self._alive.pop(rng.randrange(len(self._alive)))
        victim.kill()
        victim.wait()


@contextmanager
def dask_workers(directory: Path, count: int) -> Iterator[DaskWorkers]:
    """Start a scheduler on the loopback interface, and workers; all of them end after the block.

    Args:
        directory: for a file of the scheduler's.
        count: of workers.
    """
    place = directory / "scheduler.json"
    with ExitStack() as stack:
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        scheduler = _begin(stack, "dask_scheduler", *options, "--scheduler-file", str(place))
        workers = DaskWorkers(_address(scheduler, place), stack)
        for _ in range(count):
            workers.add()
        yield workers


def _begin(stack: ExitStack, program: str, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{program}", *words]
    silent = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=silent, stderr=silent)
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE_S)


def _address(scheduler: subprocess.Popen[bytes], place: Path) -> str:
    """Return the address that a scheduler writes into its file when it listens."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and scheduler.poll() is None:
        try:
            told: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
            return str(told["address"])
        except (OSError, ValueError):  # not there yet, or not whole
            time.sleep(STARTS_S)
    raise RuntimeError("the Dask scheduler does not listen")
