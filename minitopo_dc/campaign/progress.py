"""The progress of a campaign: one bar in a terminal or a notebook, a line now and then in a log."""

from __future__ import annotations

import builtins
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from minitopo_dc.numbers import duration
from minitopo_dc.results.run_result import FINE, RunResult
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.units import NS_PER_S

LINE_EVERY_S = 30.0
"""The interval of lines where nothing shows a bar: often enough to see that it goes on."""
MAX_REASONS = 5
"""The most runs whose reasons are printed while others run; the table has them all."""
NOTEBOOK_WIDTH = 40
"""The length of a notebook's bar, in characters."""
INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has ended: 128 plus the signal's number."""
REAL_OVERHEAD_S = 5.0
"""The time in which hosts, elements and programs start and end: 112 runs of 40 MB on two legs of 20
Mbit/s took 26 minutes, of which their bytes took 17 (docs/measurements.md)."""
RATE_OVER_S = 60.0
"""The time over which a capacity's mean is taken: as long as the embedded traces."""
Show = Callable[[float, str], object]
"""A function that shows which share (0 to 1) is done, and what there is to say."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C during a campaign: all has been said, so that a script ends without a traceback."""


class Bar:
    """What a campaign tells while it runs; on Ctrl-C it says in one line what is kept.

    Args:
        scenarios: of the runs that are to be done, by their identity.
        done: the number of runs that were finished before.
        shown: whether there is anything to be seen.
    """

    def __init__(self, scenarios: Mapping[str, Scenario], done: int, *, shown: bool) -> None:
        # On the virtual clock time depends on more than size and rate: there all runs are alike.
        real = all(scenario.clock == "real" for scenario in scenarios.values())
        self._weights = {name: expected_s(run) if real else 1.0 for name, run in scenarios.items()}
        self._left = self._total = sum(self._weights.values())
        self._done, self._runs = done, done + len(scenarios)
        self._statuses: Counter[str] = Counter()
        self._is_shown = shown and bool(scenarios)
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

    def end(self, identity: str, result: RunResult) -> None:
        """Count a run that has ended and is kept, and tell why it failed."""
        self._done += 1
        self._left -= self._weights[identity]
        self._statuses[result.status] += 1
        bad = sum(count for status, count in self._statuses.items() if status not in FINE)
        if self._is_shown and result.status not in FINE and bad <= MAX_REASONS:
            _say(f"{result.status}: {result.directory}: {result.reason.partition(chr(10))[0]}")
        self._update()

    def _update(self) -> None:
        words = [f"{self._done}/{self._runs} runs"]
        words += [f"{count} {name}" for name, count in self._statuses.items() if name != "ok"]
        worked = self._total - self._left
        if worked > 0 and self._done < self._runs:
            left_s = (time.monotonic() - self._begin) / worked * max(0.0, self._left)
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


def expected_s(scenario: Scenario) -> float:
    """Return the time in s of a run's longest flow over full legs, and what it needs beside."""
    longest = max(_flow_s(scenario, flow) for flow in scenario.resolved_flows)
    return longest + (REAL_OVERHEAD_S if scenario.clock == "real" else 0.0)


def _flow_s(scenario: Scenario, flow: ResolvedFlow) -> float:
    if flow.workload.lasts_s is not None:
        return flow.workload.lasts_s
    capacities = [scenario.legs[leg - 1].downlink.capacity() for leg in flow.legs]
    until = round(RATE_OVER_S * NS_PER_S)
    rate_bps = sum(capacity.bits_between(0, until) for capacity in capacities) / RATE_OVER_S
    bits = flow.workload.size_bytes * 8
    return min(bits / rate_bps, scenario.timeout_s) if rate_bps else scenario.timeout_s
