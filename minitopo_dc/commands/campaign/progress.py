"""Progress of a campaign, printed while its runs are under way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Self

from minitopo_dc.campaign.execution.cost import Observed
from minitopo_dc.campaign.execution.time_left import TimeLeft
from minitopo_dc.campaign.file.plan import Run
from minitopo_dc.commands.screen import StatusLine, resume_text, time_left_text
from minitopo_dc.runs.results import FINE, RunResult

LINE_EVERY_S = 30.0
"""The interval of lines where no terminal shows the status: often enough to see that it goes on."""


class CampaignProgress(StatusLine):
    """A progress display: how many runs are done, each failure, and the approximate time left.

    Args:
        missing: the runs that are to be done.
        planned: how many runs the campaign has.
        known: runs that were done and timed before.
    """

    def __init__(
        self, missing: Sequence[Run], planned: int, known: Iterable[Observed] = ()
    ) -> None:
        super().__init__("")
        self._time_left = TimeLeft([run.scenario for run in missing], known)
        self._planned = planned
        self._done = planned - len(missing)
        self._counts = dict.fromkeys(("failed", "disturbed", "unsupported"), 0)
        self._status.update(self._text())
        self._last_line = self._begin

    def __enter__(self) -> Self:
        if self._done:
            self._console.print(f"{self._done} of {self._planned} runs were finished earlier")
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        """End the display; an interruption says what is kept (`say_interrupted`).

        Raises:
            KeyboardInterrupt: there was one.
        """
        super().__exit__(*error)
        if error[0] is KeyboardInterrupt:
            raise KeyboardInterrupt(resume_text(self._done, self._planned)) from None

    def end(self, run: Run, result: RunResult) -> None:
        """Count a run that has ended and is recorded, and print its failure, if any."""
        self._done += 1
        self._time_left.end(run.scenario, result)
        if result.status in self._counts:
            self._counts[result.status] += 1
        if result.status not in FINE:
            where = f"{run.id} ({result.transport} {result.mode}, seed {result.seed})"
            reason = (result.reason.splitlines() or [""])[0]
            self._console.print(f"{result.status}: {where}: {reason}", markup=False)
        self._status.update(self._text())
        self._line()

    def _line(self) -> None:
        now = time.monotonic()
        last = self._done == self._planned
        if not self._console.is_terminal and (last or now - self._last_line >= LINE_EVERY_S):
            self._last_line = now
            self._console.print(self._text())

    def _text(self) -> str:
        counts = ", ".join(f"{number} {status}" for status, number in self._counts.items())
        left = self._time_left.seconds(self._passed_s()) if self._done < self._planned else None
        words = [f"{self._done}/{self._planned} runs done", counts]
        return ", ".join(words if left is None else [*words, time_left_text(left)])
