"""A pool of processes, any of which may be killed: only the call that it was making is lost then.

(A `concurrent.futures.ProcessPoolExecutor` gives up all calls that are not done.) Each process
begins afresh, so that nothing is shared, and ends with its parent, however that ends.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Self

from minitopo_dc.installation import safe_path
from minitopo_dc.interruption import NUMBERS

SPAWN = multiprocessing.get_context("spawn")
_number: int | None = None


def worker_number() -> int | None:
    """Return which process of a pool this is, from 0 on; None: it is none."""
    return _number


@dataclass(frozen=True, slots=True)
class Killed:
    """The outcome of a call whose process ended before the call did."""

    exit_code: int | None
    """The exit code of the process; if below 0, the number of a signal."""


ASKED_S = 0.1
Deadline = Callable[[], float]
"""Tells a moment on `time.monotonic()`, anew each `ASKED_S`."""
Ended = tuple[int, Any]
"""A call that has ended: its place among all, and what it returned or raised, or `Killed`."""


class _Worker:
    def __init__(self, call: Callable[..., Any], number: int) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self.place: int | None = None
        self.number = number
        self._process: SpawnProcess = SPAWN.Process(
            target=_serve, args=(theirs, call, number), daemon=True
        )
        with safe_path(), _held_signals(), _hidden_main(call):
            self._process.start()
        theirs.close()

    def begin(self, place: int, arguments: tuple[Any, ...]) -> None:
        """Send a call to the process; when the process has gone, `end` reports it."""
        self.place = place
        with suppress(BrokenPipeError):
            self.connection.send(arguments)

    def end(self) -> Ended:
        """Return the outcome of the call, once the connection is ready to be read."""
        assert self.place is not None
        place, self.place = self.place, None
        try:
            return place, self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return place, Killed(self._process.exitcode)

    def kill(self) -> None:
        """End the process at once; the outcome of its call is not wanted."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class Pool:
    """Processes that wait for calls, so that one lot of calls after the other starts none anew.

    Args:
        call: a function of a module, which the processes import.
        number: of processes, at most; each is started when it is first needed.
    """

    def __init__(self, call: Callable[..., Any], number: int) -> None:
        self._call, self._number = call, number
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._workers)

    def results(
        self, arguments: Sequence[tuple[Any, ...]], until: Deadline = lambda: math.inf
    ) -> Iterator[Ended]:
        """Make a call with each of the arguments; yield them as they end.

        A call whose process was killed ends as `Killed`, one that raised ends as its exception, and
        the others go on. Who stops asking ends those that are under way.

        Args:
            arguments: of each call.
            until: calls that have not ended by then are given up.
        """
        left = list(enumerate(arguments))[::-1]
        try:
            while left or self._busy():
                self._start(left)
                left_s = max(0.0, until() - time.monotonic())
                busy = [worker.connection for worker in self._busy()]
                ready = wait(busy, min(left_s, ASKED_S))
                if not ready and time.monotonic() >= until():
                    return
                for worker in [busy for busy in self._busy() if busy.connection in ready]:
                    ended = worker.end()
                    if isinstance(ended[1], Killed):
                        self._end([worker])
                    self._start(left)
                    yield ended
        finally:
            self._end(self._busy())

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.place is not None]

    def _start(self, left: list[tuple[int, tuple[Any, ...]]]) -> None:
        """Give calls to processes that have none, and to new ones."""
        while left and len(busy := self._busy()) < self._number:
            idle = [worker for worker in self._workers if worker not in busy]
            if not idle:
                free = set(range(self._number)) - {worker.number for worker in busy}
                idle = [_Worker(self._call, min(free))]
                self._workers += idle
            idle[0].begin(*left.pop())

    def _end(self, workers: list[_Worker]) -> None:
        for worker in list(workers):
            self._workers.remove(worker)
            worker.kill()


@contextmanager
def _held_signals() -> Iterator[None]:
    """Block the signals in processes started meanwhile, until those can ignore them."""
    resource_tracker.ensure_running()  # not by the first of them: it unblocks SIGINT when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _hidden_main(call: Callable[..., Any]) -> Iterator[None]:
    """Let processes that are started meanwhile not import the user's program.

    A script then needs no `if __name__ == "__main__"`, and a program from standard input, which
    nobody can import, has processes, too. Only a call that is the program's own needs it there.
    """
    main = sys.modules["__main__"]
    if getattr(getattr(call, "func", call), "__module__", "") == "__main__":
        yield
        return
    before: dict[str, Any] = {
        name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)
    }
    vars(main).pop("__file__", None)
    vars(main)["__spec__"] = None
    try:
        yield
    finally:
        vars(main).update(before)


def _serve(connection: Connection, call: Callable[..., Any], number: int) -> None:
    """Make calls until the other end of the connection is closed."""
    global _number  # noqa: PLW0603 (of the process, as its pid is)
    _number = number
    for key in (signal.SIGINT, signal.SIGQUIT):  # a terminal's, which the parent has, too
        signal.signal(key, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
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


def _follow(parent: int) -> None:
    """End with the parent process: else this one would hold its standard output open."""
    wait([parent])
    os._exit(1)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # also one whose constructor wants more than its message
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def repeated(call: Callable[[], object], interval_s: float) -> Iterator[None]:
    """Call a function again and again in a thread: at once, each interval, and at the block's end.

    Args:
        call: the function.
        interval_s: between two calls, in s.
    """
    is_over = threading.Event()

    def run() -> None:
        call()
        while not is_over.wait(interval_s):
            call()
        call()

    thread = threading.Thread(target=run, name=call.__qualname__, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
