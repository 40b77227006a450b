"""A line on standard error that says what is under way: standard output holds results only."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.status import Status


class StatusLine:
    """Shown in a terminal while the block runs; what is printed to its console goes above it."""

    def __init__(self, text: str) -> None:
        self._begin = time.monotonic()
        self._console = Console(stderr=True)
        self._status = Status(text, console=self._console)

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def _passed_s(self) -> float:
        return time.monotonic() - self._begin


def about_left(seconds: float) -> str:
    """In words."""
    return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"
