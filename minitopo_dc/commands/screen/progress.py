"""The progress of a comparison or a run."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import get_workload


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


class Progress(StatusLine):
    """Says which run is under way, how each ended, and about how long the rest will take."""

    def __init__(self, total: int) -> None:
        super().__init__("starting")
        self._total = total
        self._done = 0

    def begin(self, scenario: Scenario) -> None:
        """A run starts."""
        under_way = f"{self._position()} {scenario.transport} {scenario.mode} …"
        self._status.update(f"{under_way} {self._left()}" if self._done else under_way)

    def end(self, result: RunResult) -> None:
        """A run has ended."""
        if result.status == "ok":
            outcome = f"[green]ok[/] {_headline(result)}"
        else:
            colour = "red" if result.status == "failed" else "yellow"
            outcome = f"[{colour}]{result.status}[/] {escape(result.reason.splitlines()[0])}"
        position = self._position()
        self._done += 1
        self._console.print(
            f"{position} {result.transport} {result.mode} (seed {result.seed}): {outcome}"
        )

    def _left(self) -> str:
        """About how long the rest takes at the pace of the runs so far."""
        return about_left(self._passed_s() / self._done * (self._total - self._done))

    def _position(self) -> str:
        return f"{self._done + 1}/{self._total}"


def _headline(result: RunResult) -> str:
    """Goodput and time, or the first numbers of the workload's table."""
    if result.goodput_mbps is not None:
        return f"{result.goodput_mbps:.2f} Mbit/s in {result.completion_s:.1f} s"
    columns = get_workload(result.workload).columns
    shown = (
        f"{' '.join(column.heading.split())} {result.details[column.measure]:.{column.digits}f}"
        for column in columns
        if column.measure in result.details
    )
    return ", ".join(shown)
