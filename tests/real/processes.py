"""Processes of the machine, for what a test has left behind."""

from __future__ import annotations

from pathlib import Path


def with_word(word: str) -> list[str]:
    """Ids of the processes whose command line has this word."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
            found.append(process.name)
    return found
