"""The guest's first file system: an archive of files in memory.

The format is cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of Linux).
"""

from __future__ import annotations

from collections.abc import Mapping

DIRECTORY, PROGRAM = 0o040755, 0o100755
"""Modes: the guest is root, and reads all files as programs."""


def archive(files: Mapping[str, bytes], directories: tuple[str, ...] = ()) -> bytes:
    """Pack directories and files, by their names below the root, in this order."""
    entries = [(name, DIRECTORY, b"") for name in directories]
    entries += [(name, PROGRAM, data) for name, data in files.items()]
    packed = [_entry(number, *each) for number, each in enumerate(entries, start=1)]
    return b"".join([*packed, _entry(0, "TRAILER!!!", 0, b"")])


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    path = name.encode() + b"\0"
    # inode, mode, user, group, links, time, size, devices (4), length of the name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(head + path) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
