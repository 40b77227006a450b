"""A disk that is soon full, and is gone with the process that asked for it, however that ends."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS = 0x00020000
"""linux/sched.h: not in Python's modules before 3.12."""


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a small disk where only this process and its children see it; needs root.

    They stay in a mount namespace of their own, which the kernel removes with the last of them.

    Args:
        place: a directory that is made for it.
        size: as tmpfs(5) takes it, `150000` or `2m`.
    """
    _leave_shared_mounts()
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def enlarge(disk: Path, size: str) -> None:
    """Give a disk more room."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def _leave_shared_mounts() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # What is mounted in a copy of a shared mount is mounted in all (mount_namespaces(7)).
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
