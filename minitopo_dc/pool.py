"""Calls in processes of their own, of which any may be killed: only what it was at is lost then.

(A `concurrent.futures.ProcessPoolExecutor` gives up all that is not done.) Each process begins
afresh, so that nothing is shared; it ends with this one, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from minitopo_dc.interruption import NUMBERS
from minitopo_dc.shipped import safe_path

SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Killed:
    """What becomes of a call whose process ended in the midst of it."""

    exit_code: int | None
    """Of the process; below 0 the number of a signal."""

    @property
    def reason(self) -> str:
        """In words."""
        code = self.exit_code
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            memory = ", maybe for want of memory" if -code == signal.SIGKILL else ""
            return f"the process that ran it was ended by {name}{memory}"
        return f"the process that ran it ended with exit code {code}"


class Ended(NamedTuple):
    """A call that has ended: its place among all, and what it returned or raised, or `Killed`."""

    place: int
    outcome: Any


class _Worker:
    """A process that makes one call after the other."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self.place: int | None = None
        self._process: SpawnProcess = SPAWN.Process(target=_serve, args=(theirs, call), daemon=True)
        with safe_path(), _held_signals():
            self._process.start()
        theirs.close()

    def begin(self, place: int, arguments: tuple[Any, ...]) -> None:
        """Make a call; when the process has gone, `end` says so."""
        self.place = place
        with suppress(BrokenPipeError):
            self.connection.send(arguments)

    def end(self) -> Ended:
        """The outcome of the call, which the connection is ready to tell."""
        assert self.place is not None
        place, self.place = self.place, None
        try:
            return Ended(place, self.connection.recv())
        except (EOFError, ConnectionResetError):
            self._process.join()
            return Ended(place, Killed(self._process.exitcode))

    def kill(self) -> None:
        """End it at once: what it was at is not wanted."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def in_processes(
    call: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], number: int
) -> Iterator[Ended]:
    """Make a call with each of the arguments, so many at a time; yield them as they end.

    A call whose process was killed ends as `Killed`, one that raised ends as its exception, and the
    others go on. Who stops asking ends those that are under way.

    Args:
        call: a function of a module, which the processes import.
        arguments: of each call.
        number: of processes.
    """
    left = list(enumerate(arguments))[::-1]
    workers: list[_Worker] = []
    try:
        while left or any(worker.place is not None for worker in workers):
            while left and len(workers) < number:
                workers.append(_Worker(call))
                workers[-1].begin(*left.pop())
            busy = {worker.connection: worker for worker in workers if worker.place is not None}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                ended = worker.end()
                if isinstance(ended.outcome, Killed):
                    workers.remove(worker)
                    worker.kill()
                elif left:
                    worker.begin(*left.pop())
                yield ended
    finally:
        for worker in workers:
            worker.kill()


@contextmanager
def _held_signals() -> Iterator[None]:
    """Processes that are started meanwhile have them blocked until they can ignore them."""
    resource_tracker.ensure_running()  # not by the first of them: it unblocks SIGINT when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, call: Callable[..., Any]) -> None:
    """Make calls until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's, which the parent has, too
    signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)
    follow_parent()
    while True:
        try:
            arguments = connection.recv()
        except EOFError:
            return
        try:
            outcome = call(*arguments)
        except Exception as error:
            outcome = _sendable(error)
        connection.send(outcome)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # also one whose constructor wants more than its message
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def follow_parent() -> None:
    """End this process, of `multiprocessing`'s, at once when the one that started it ends.

    A worker that outlived it would go on for minutes, and hold its standard output open.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()
