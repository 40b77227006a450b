"""Benchmarks of the element on real packets (root), of the cores, and of what a run costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console

from minitopo_dc.numbers import duration

Step = TypeVar("Step")


def told(steps: Sequence[Step], words: Callable[[Step], str] = str) -> Iterator[Step]:
    """Yield the steps of a benchmark, and show on standard error which one is under way.

    Args:
        steps: of which each takes some seconds.
        words: says what a step is.
    """
    begin = time.monotonic()
    with Console(stderr=True).status("starting") as line:
        for done, step in enumerate(steps):
            passed_s = time.monotonic() - begin
            left = f", about {duration(passed_s / done * (len(steps) - done))} left" if done else ""
            text = f"{done + 1}/{len(steps)} {words(step)}{left}"
            line.update(text)
            if not sys.stderr.isatty():
                print(text, file=sys.stderr, flush=True)  # noqa: T201
            yield step
