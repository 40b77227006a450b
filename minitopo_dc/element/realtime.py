"""Turning an ordinary process into one whose timers are exact and whose pauses are short."""

from __future__ import annotations

import ctypes
import gc
import os

PR_SET_TIMERSLACK = 29  # linux/prctl.h
MCL_CURRENT = 1  # sys/mman.h
FIFO_PRIORITY = 10
"""Above every ordinary process, below the kernel's own threads (50)."""


class ElementError(RuntimeError):
    """The element cannot run; the message says what to do."""


def become_exact(*, realtime: bool) -> list[str]:
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
