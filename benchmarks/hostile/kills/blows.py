"""Blows that can hit a process: it gets a signal, stands still, or has no CPU time.

A run may not be blamed for a process that stands still for a while, or waits for the CPU: it may go
well, be disturbed, or fail with a reason.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from random import Random

from minitopo_dc.real.network.cpu_limit import cpu_limit

STOPS_S = 0.1, 3.0
HOGS_S = 0.5, 5.0
LIMITS_PERCENT = 10, 100
NICE = 0, -20
MAX_CPU_S = 60
"""Of a process that only takes time, should nobody end it."""
HOG = ("sh", "-c", f"ulimit -t {MAX_CPU_S}; while :; do :; done")
Strike = Callable[[int, Random, ExitStack], None]
"""Does it to a process; what is to be undone when the run has ended is pushed on the stack.

OSError: it cannot be done to this process, e.g. because it has ended.
"""


def _signal(number: signal.Signals) -> Strike:
    def strike(pid: int, _: Random, __: ExitStack) -> None:
        os.kill(pid, number)

    return strike


def _stop(pid: int, rng: Random, _: ExitStack) -> None:
    """Stop a process by SIGSTOP, and continue it some time later by SIGCONT."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(rng.uniform(*STOPS_S))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _hogs(_: int, rng: Random, __: ExitStack) -> None:
    """Run as many busy processes as processors for some time, whatever the victim is."""
    nice = ("nice", "-n", str(rng.choice(NICE)))
    hogs = [subprocess.Popen([*nice, *HOG]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(rng.uniform(*HOGS_S))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def _limit(pid: int, rng: Random, stack: ExitStack) -> None:
    """Limit a process to a share of one CPU to its end, without real-time priority."""
    os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    stack.enter_context(cpu_limit(rng.uniform(*LIMITS_PERCENT))).add(pid)


KILLS = {each.name: _signal(each) for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)}
BLOWS: dict[str, Strike] = {**KILLS, "stop": _stop, "hogs": _hogs, "limit": _limit}
