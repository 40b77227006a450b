"""Makes an ordinary process one whose timers are exact and whose pauses are short."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

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
