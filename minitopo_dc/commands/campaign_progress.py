"""The progress of a campaign on standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from minitopo_dc.campaign.plan import PlannedRun
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario

MB_PER_S = 5.0
"""What the papers' two legs of 20 Mbit/s carry: turns a duration into a size."""
LINE_EVERY_S = 30.0
"""Where no terminal shows the status: often enough to see that it goes on."""


class CampaignProgress:
    """Says how many runs are done, each failure, and about how long the rest will take."""

    def __init__(self, missing: Sequence[PlannedRun], planned: int) -> None:
        self._left_mb = sum(_size_mb(run.scenario) for run in missing)
        self._done_mb = 0.0
        self._planned = planned
        self._done = planned - len(missing)
        self._failed = 0
        self._unsupported = 0
        self._begin = self._last_line = time.monotonic()
        self._console = Console(stderr=True)
        self._status = Status(self._text(), console=self._console)

    def __enter__(self) -> Self:
        if self._done:
            self._console.print(f"{self._done} of {self._planned} runs were done before")
        self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._console.print(
                f"{self._done} of {self._planned} runs are done; the same command does the rest"
            )

    def end(self, run: PlannedRun, result: RunResult) -> None:
        """A run has ended and is recorded."""
        self._done += 1
        size = _size_mb(run.scenario)
        self._done_mb += size
        self._left_mb -= size
        if result.status == "failed":
            self._failed += 1
            where = f"{run.id} ({result.transport} {result.mode}, seed {result.seed})"
            reason = (result.reason.splitlines() or [""])[0]
            self._console.print(f"failed: {where}: {reason}", markup=False)
        self._unsupported += result.status == "unsupported"
        self._status.update(self._text())
        self._line()

    def _line(self) -> None:
        now = time.monotonic()
        last = self._done == self._planned
        if not self._console.is_terminal and (last or now - self._last_line >= LINE_EVERY_S):
            self._last_line = now
            self._console.print(self._text())

    def _text(self) -> str:
        counts = f"{self._failed} failed, {self._unsupported} unsupported"
        return f"{self._done}/{self._planned} runs done, {counts}{self._left()}"

    def _left(self) -> str:
        if not self._done_mb or self._left_mb <= 0:
            return ""
        seconds = (time.monotonic() - self._begin) / self._done_mb * self._left_mb
        return (
            f", about {seconds / 60:.0f} min left"
            if seconds > 90
            else (f", about {seconds:.0f} s left")
        )


def _size_mb(scenario: Scenario) -> float:
    """How long a run takes goes with what it carries."""
    if scenario.duration_s is not None:
        return scenario.duration_s * MB_PER_S
    return scenario.size_mb
