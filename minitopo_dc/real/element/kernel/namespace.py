"""Stays in other hosts' network namespaces, so that one process can serve several hosts.

A socket, a queue of the kernel and a TAP interface belong for good to the namespace in which they
were opened, so a process has to be there only then.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
