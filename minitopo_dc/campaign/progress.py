"""The progress of a campaign: one bar in a terminal or a notebook, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from minitopo_dc.numbers import duration
from minitopo_dc.runs.results import FINE, RunResult

LINE_EVERY_S = 30.0
"""The interval of lines where nothing shows a bar: often enough to see that it goes on."""
TOLD = 5
"""The most runs whose reasons are told while others run; the table has them all."""
NOTEBOOK_WIDTH = 40
"""The length of a notebook's bar, in characters."""


class Bar:
    """What a campaign tells while it runs.

    Args:
        weights_s: of each run that is to be done by its identity: its time in s, or any number that
            is proportional to it.
        done: runs that were finished before.
        shown: whether there is anything to be seen.
    """

    def __init__(self, weights_s: dict[str, float], *, done: int, shown: bool) -> None:
        self._weights_s = weights_s
        self._left = self._total = sum(weights_s.values())
        self._done, self._runs = done, done + len(weights_s)
        self._states: Counter[str] = Counter()
        self._screen = _screen() if shown and weights_s else None
        self._begin = time.monotonic()

    def __enter__(self) -> Self:
        if self._screen is not None and self._done:
            self._screen.say(f"{self._done} of {self._runs} runs were finished before")
        self._show()
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.close()

    @property
    def state(self) -> str:
        """Return in words how many of the runs are done."""
        return f"{self._done} of {self._runs} runs are done"

    def end(self, identity: str, result: RunResult) -> None:
        """Count a run that has ended and is kept, and tell why it failed."""
        self._done += 1
        self._left -= self._weights_s[identity]
        self._states[result.status] += 1
        bad = sum(count for status, count in self._states.items() if status not in FINE)
        if self._screen is not None and result.status not in FINE and bad <= TOLD:
            reason = (result.reason.splitlines() or [""])[0]
            self._screen.say(f"{result.status}: {result.directory}: {reason}")
        self._show()

    def _show(self) -> None:
        words = [f"{self._done}/{self._runs} runs"]
        words += [f"{count} {name}" for name, count in self._states.items() if name != "ok"]
        worked = self._total - self._left
        if worked > 0 and self._done < self._runs:
            left_s = (time.monotonic() - self._begin) / worked * max(0.0, self._left)
            words.append(f"about {duration(left_s)} left")
        if self._screen is not None:
            self._screen.show(self._done / self._runs, ", ".join(words))


class _Lines:
    """A log, which has a line now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def show(self, share: float, text: str) -> None:
        """Show which share (0 to 1) is done, and what there is to say."""
        if share >= 1 or time.monotonic() - self._last >= LINE_EVERY_S:
            self._last = time.monotonic()
            self.say(text)

    def say(self, line: str) -> None:
        """Print a line that stays."""
        print(line, file=sys.stderr)  # noqa: T201

    def close(self) -> None:
        """End what is shown for good."""


class _Terminal(_Lines):
    def __init__(self, console: Console) -> None:
        self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=console)
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def show(self, share: float, text: str) -> None:
        self._bar.update(self._task, completed=share, description=text)

    def say(self, line: str) -> None:
        self._bar.console.print(escape(line), highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()


class _Notebook(_Lines):
    """One output of the cell, which is replaced."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, share: float, text: str) -> None:
        full = round(share * NOTEBOOK_WIDTH)
        bar = "█" * full + "░" * (NOTEBOOK_WIDTH - full)
        self._handle.update({"text/plain": f"{bar} {text}"}, raw=True)


def _screen() -> _Lines:
    """Return a notebook's bar, a terminal's, or lines."""
    if "ipykernel" in sys.modules:
        from IPython.core.getipython import get_ipython  # noqa: PLC0415
        from IPython.display import display  # noqa: PLC0415

        if type(get_ipython()).__name__ == "ZMQInteractiveShell":
            return _Notebook(display)
    console = Console(stderr=True)
    return _Terminal(console) if console.is_terminal else _Lines()
