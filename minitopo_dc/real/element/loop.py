"""The event loop of an element, and what its process asks of the kernel for itself.

The loop is the only place that waits and reads a clock. The kernel gives the process exact timers,
short pauses and other hosts' networks: a socket, a queue of the kernel and a TAP interface belong
for good to the network namespace in which they were opened, so a process that serves several hosts
has to be there only then.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.router.drivers import Timed

clock = time.monotonic_ns
IDLE_NS = 1_000_000_000
"""The longest sleep: nothing depends on it."""
LEAD_STEP_NS = 5_000
"""By which the alarm is set earlier after a late sleep, and later after an early one."""
MAX_LEAD_NS = 150_000
"""The most by which it is set earlier; what is left of a sleep that ends early is spent polling."""
SLEPT_PER_POLLED = 4
"""It is set earlier by at most one part in so many of the time between two moments.

So polling takes a quarter of the time at most, and leaves sleeps to learn from. This project's
choice: with a moment each 0.3 ms (two legs of 20 Mbit/s, 1,500 bytes) it still allows 75 us.
"""
STALL_NS = 5_000_000
"""An alarm that is as late is kept with its moment: it is a good part of the papers' delays."""
MAX_STALLS = 1000
"""Kept of one run."""
ORDERS = 0
"""Standard input carries the orders, and its end says that who started the element is gone."""


class PacketSource(Protocol):
    """A source of packets: a kernel queue or an interface."""

    def fileno(self) -> int:
        """Return the file descriptor to wait on."""

    def read(self) -> None:
        """Take the packets that wait, up to a budget."""


class RealLoop:
    """Serves sources of packets, timed parts and the orders on standard input until told to stop.

    `due` is the earliest moment any part named. Every packet callback compares it with its own
    `now` (`catch_up`), so that a stream of packets cannot delay what is due.

    The kernel ends a sleep some 50 to 100 us late on a virtual machine. The alarm is therefore set
    earlier by what has been the median of that, within limits.
    """

    def __init__(self) -> None:
        self.due = 0
        self._sources: dict[int, PacketSource] = {}
        self._timed: list[Timed] = []
        self._stopping = False
        self._lead = 0
        self._served = 0
        self._cut_order = b""
        self.lateness = [0] * 64
        """How late `serve` was: entry `i` counts delays of `i` bits in ns."""
        self.stalls: list[tuple[int, int]] = []
        """When `serve` was late by `STALL_NS` or more, and by how much (ns)."""

    def add_source(self, source: PacketSource) -> None:
        """Read this source whenever packets wait."""
        self._sources[source.fileno()] = source

    def add_timed(self, part: Timed, *, first: bool = False) -> Callable[[], None]:
        """Call this part when it is due; a part that changes what others wait for comes first.

        Returns:
            what wakes the loop for the part if it names another moment than when it was served.
        """
        self._timed.insert(0 if first else len(self._timed), part)
        return lambda: self.wake_at(part.next_timeout())

    def wake_at(self, moment: int | None) -> None:
        """Note that some part has to act at `moment` (ns)."""
        if moment is not None and moment < self.due:
            self.due = moment

    def catch_up(self, now: int) -> int:
        """Let every part do what is due before a packet that came at `now`, which is returned."""
        if now >= self.due:
            self.serve(now)
        return now

    def serve(self, now: int) -> None:
        """Let every part do what is due, and find the next moment."""
        due = now + IDLE_NS
        latest = 0
        for part in self._timed:
            moment = part.next_timeout()
            if moment is not None and moment <= now:
                late = now - moment
                self.lateness[late.bit_length()] += 1
                latest = max(latest, late)
                part.handle(now)
                moment = part.next_timeout()
            if moment is not None and moment < due:
                due = moment
        if latest >= STALL_NS and len(self.stalls) < MAX_STALLS:
            self.stalls.append((now, latest))
        self.due = due
        self._served = now

    def stop(self) -> None:
        """End `run` soon; safe in a signal handler."""
        self._stopping = True
        self.due = 0

    def run(self, order: Callable[[str], None]) -> None:
        """Work until `stop` or until standard input ends, with each line of it to `order`."""
        descriptors = self._descriptors()
        while not self._stopping:
            now = clock()
            if now >= self.due:
                self.serve(now)
                now = clock()
            self._read(self._wait(descriptors, now), order)

    def _descriptors(self) -> list[int]:
        """Return the file descriptors to wait on."""
        return [ORDERS, *self._sources]

    def _read(self, descriptors: Iterable[int], order: Callable[[str], None]) -> None:
        """Take what can be read from these descriptors."""
        for ready in descriptors:
            if ready == ORDERS:
                self._read_orders(order)
            else:
                self._sources[ready].read()

    def _wait(self, descriptors: Sequence[int], now: int) -> list[int]:
        """Return the descriptors that can be read, none when the sleep is over."""
        alarm = self.due - min(self._lead, (self.due - self._served) // SLEPT_PER_POLLED)
        if now >= alarm:
            return select.select(descriptors, (), (), 0)[0]
        ready = select.select(descriptors, (), (), (alarm - now) / 1e9)[0]
        if not ready:
            self._learn(clock() - alarm)
        return ready

    def _learn(self, late_ns: int) -> None:
        """Follow the median of how late sleeps end."""
        step = LEAD_STEP_NS if late_ns > self._lead else -LEAD_STEP_NS
        self._lead = min(max(0, self._lead + step), MAX_LEAD_NS)

    def _read_orders(self, order: Callable[[str], None]) -> None:
        # Not through sys.stdin: its buffer would hide a second line from select.
        read = os.read(ORDERS, 4096)
        *lines, self._cut_order = (self._cut_order + read).split(b"\n")
        for line in lines:
            order(line.decode("ascii", "replace").strip())
        if not read:
            self.stop()


PR_SET_TIMERSLACK = 29
"""linux/prctl.h."""
MCL_CURRENT = 1
"""sys/mman.h."""
FIFO_PRIORITY = 10
"""Above every ordinary process, below the kernel's own threads (50)."""

CPU_LATENCY = "/dev/cpu_dma_latency"
_held: list[int] = []


class ElementError(MinitopoDcError, RuntimeError):
    """Error: the element cannot run; the message says what to do."""


def command(*words: str) -> None:
    """Run a program of the system; raise ElementError with its words if it fails."""
    done = subprocess.run(
        words, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        raise ElementError(f"{' '.join(words)}: {done.stderr.strip()}")


def configure_realtime(*, realtime: bool) -> list[str]:
    """Set timer slack, scheduling, memory locking and the garbage collector for the hot path.

    Returns:
        What the kernel refused, in words: the element runs on, with less exact timers.
    """
    refused = []
    libc = ctypes.CDLL(None, use_errno=True)
    # The default slack of 50 us would be added to every wait (prctl(2)); 1 ns is the least.
    if libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0):
        refused.append("timer slack: " + os.strerror(ctypes.get_errno()))
    if libc.mlockall(MCL_CURRENT):
        refused.append("memory locking: " + os.strerror(ctypes.get_errno()))
    if realtime:
        refused += _demand_awake_processors()
        try:
            policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(FIFO_PRIORITY))
        except OSError as error:
            refused.append(f"real-time scheduling: {error.strerror}")
    # The hot path makes no reference cycles, so the collector could only pause it.
    gc.collect()
    gc.freeze()
    gc.disable()
    return refused


def _demand_awake_processors() -> list[str]:
    """Let idle processors poll instead of sleep: waking one costs more than a packet's work.

    The kernel keeps to this as long as the file stays open (its pm_qos_interface document), that is
    until this process ends.
    """
    try:
        _held.append(os.open(CPU_LATENCY, os.O_WRONLY))
        os.write(_held[-1], (0).to_bytes(4, sys.byteorder))
    except OSError as error:
        return [f"awake processors: {CPU_LATENCY}: {error.strerror}"]
    return []


CLONE_NEWNET = 0x40000000
"""linux/sched.h: not in Python's modules."""


@contextmanager
def inside(pid: int | None) -> Iterator[None]:
    """Enter the network namespace of a process for a block; None stays in the own one.

    Raises:
        OSError: there is no such process, or this one may not.
    """
    if pid is None:
        yield
        return
    with (
        Path("/proc/thread-self/ns/net").open("rb") as here,
        Path(f"/proc/{pid}/ns/net").open("rb") as there,
    ):
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(here.fileno())


def _enter(namespace: int) -> None:
    # os.setns is Python 3.12's.
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
