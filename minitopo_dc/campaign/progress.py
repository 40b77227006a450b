"""The progress of a campaign: one bar in a terminal or a notebook, a line now and then in a log."""

from __future__ import annotations

import builtins
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from minitopo_dc.numbers import duration
from minitopo_dc.results.run_result import FINE, RunResult

LINE_EVERY_S = 30.0
"""The interval of lines where nothing shows a bar: often enough to see that it goes on."""
MAX_REASONS = 5
"""The most runs whose reasons are printed; the table has them all."""
NOTEBOOK_WIDTH = 40
"""The length of a notebook's bar, in characters."""
INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has ended: 128 plus the signal's number."""
Show = Callable[[float, str], object]
"""A function that shows which share (0 to 1) is done, and what there is to say."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C during a campaign: all has been said, so that a script ends without a traceback."""


class Bar:
    """What a campaign tells while it runs; on Ctrl-C it says in one line what is kept.

    Args:
        runs: the number of runs that are to be done.
        done: the number of runs that were finished before.
        shown: whether there is anything to be seen.
    """

    def __init__(self, runs: int, done: int, *, shown: bool) -> None:
        self._before = self._done = done
        self._runs = done + runs
        self._statuses: Counter[str] = Counter()
        self._is_shown = shown and runs > 0
        self._screen = _screen() if self._is_shown else nullcontext(lambda *_: None)
        self._begin = time.monotonic()

    def __enter__(self) -> Self:
        if self._is_shown and self._done:
            _say(f"{self._done} of {self._runs} runs were finished before")
        self._show = self._screen.__enter__()
        self._update()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._screen.__exit__(None, None, None)
        if isinstance(error, KeyboardInterrupt):
            words = f"{self._done} of {self._runs} runs are done"
            _say(f"minitopo-dc: interrupted; {words}; the same lines go on with the others")
            if not hasattr(builtins, "__IPYTHON__"):  # which would explain how to exit
                raise Interrupted(INTERRUPTED) from None

    def end(self, result: RunResult) -> None:
        """Count a run that has ended and is kept, and tell why it failed."""
        self._done += 1
        self._statuses[result.status] += 1
        bad = sum(count for status, count in self._statuses.items() if status not in FINE)
        if self._is_shown and result.status not in FINE and bad <= MAX_REASONS:
            _say(f"{result.status}: {result.directory}: {result.reason.partition(chr(10))[0]}")
        self._update()

    def _update(self) -> None:
        words = [f"{self._done}/{self._runs} runs"]
        words += [f"{count} {name}" for name, count in self._statuses.items() if name != "ok"]
        ended, left = self._done - self._before, self._runs - self._done
        if ended and left:
            left_s = (time.monotonic() - self._begin) / ended * left
            words.append(f"about {duration(left_s)} left")
        self._show(self._done / max(1, self._runs), ", ".join(words))


def _say(line: str) -> None:
    """Print a line that stays, above the bar of a terminal."""
    print(line, file=sys.stderr)  # noqa: T201


@contextmanager
def _screen() -> Iterator[Show]:
    """Open a notebook's bar, a terminal's, or a log, which has a line now and then."""
    console = Console(stderr=True)
    if (notebook := _notebook()) is not None:
        yield notebook
    elif console.is_terminal:
        with Progress(BarColumn(), TextColumn("{task.description}"), console=console) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda share, text: bar.update(task, completed=share, description=text)
    else:
        last = time.monotonic()

        def show(share: float, text: str) -> None:
            nonlocal last
            if share >= 1 or time.monotonic() - last >= LINE_EVERY_S:
                last = time.monotonic()
                _say(text)

        yield show


def _notebook() -> Show | None:
    """Return what replaces one output of a notebook's cell; None outside of a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython  # noqa: PLC0415
    from IPython.display import display  # noqa: PLC0415

    if type(get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    options = {"raw": True, "display_id": True}
    handle = display({"text/plain": ""}, **options)  # type: ignore[no-untyped-call]

    def show(share: float, text: str) -> None:
        bar = ("█" * round(share * NOTEBOOK_WIDTH)).ljust(NOTEBOOK_WIDTH, "░")
        handle.update({"text/plain": f"{bar} {text}"}, raw=True)

    return show
