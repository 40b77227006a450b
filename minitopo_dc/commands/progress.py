"""Progress on standard error, so that standard output holds results only."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario


class Progress:
    """Says which run is under way, how each ended, and about how long the rest will take."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._begin = time.monotonic()
        self._console = Console(stderr=True)
        self._status = Status("starting", console=self._console)

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.stop()

    def begin(self, scenario: Scenario) -> None:
        """A run starts."""
        self._status.update(
            f"{self._position()} {scenario.transport} {scenario.mode} …{self._left()}"
        )

    def end(self, result: RunResult) -> None:
        """A run has ended."""
        if result.status == "ok":
            outcome = (
                f"[green]ok[/] {result.goodput_mbps:.2f} Mbit/s in {result.completion_s:.1f} s"
            )
        else:
            colour = "red" if result.status == "failed" else "yellow"
            outcome = f"[{colour}]{result.status}[/] {result.reason.splitlines()[0]}"
        position = self._position()
        self._done += 1
        self._console.print(
            f"{position} {result.transport} {result.mode} (seed {result.seed}): {outcome}"
        )

    def _position(self) -> str:
        return f"{self._done + 1}/{self._total}"

    def _left(self) -> str:
        if not self._done:
            return ""
        seconds = (time.monotonic() - self._begin) / self._done * (self._total - self._done)
        return f" about {seconds:.0f} s left"
