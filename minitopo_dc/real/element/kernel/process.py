"""What a process asks of the kernel for itself: exact timers, short pauses, other hosts' networks.

A socket, a queue of the kernel and a TAP interface belong for good to the network namespace in
which they were opened, so a process that serves several hosts has to be there only then.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.errors import MinitopoDcError

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
            os.sched_setscheduler(
                0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(FIFO_PRIORITY)
            )
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
