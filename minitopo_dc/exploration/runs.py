"""Runs of a page's choice in processes that stay, the newest choice overtaking all older ones."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np

from minitopo_dc.campaign.executors import Results, Scenarios, perform, pooled
from minitopo_dc.clocks import build_missing
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.exploration.choice import Choice
from minitopo_dc.pool import Pool
from minitopo_dc.results import leg_series
from minitopo_dc.results.measures.account import reordering_wait_ms
from minitopo_dc.runs.perform import Retries
from minitopo_dc.ways import Comparison, compare

MOST_S = 60.0
"""A lot of runs that has not ended by then is given up."""
SAMPLE_MS = 10
"""How often the elements sample their queues in a run of a page."""
DELAYS = ("queue", "propagation", "reordering")
"""What the delay of a packet consists of."""


def mean_delays_ms(run: Path) -> dict[str, float]:
    """Return how long a downlink packet waits on the mean, and where (`DELAYS`).

    Queue and propagation follow from the samples of the packets that were there, by Little's law;
    the queue has the time of the transmission. PDCP counts the wait for the order itself.

    Raises:
        ResultError: a file of the run is missing or broken.
    """
    packets, there = 0, np.zeros(2)
    for _, rows in leg_series(run).groupby("leg"):
        packets += rows["delivered_packets"].max()
        there += np.trapezoid(rows[["queue_packets", "air_packets"]], rows["time_s"], axis=0)
    queue, air = (1000 * there / max(1, packets)).tolist()
    wait = reordering_wait_ms(run)
    return dict(zip(DELAYS, (queue, air, 0.0 if math.isnan(wait) else wait), strict=True))


@cache
def _pool() -> Pool:
    """Return the processes of all pages of this process."""
    return Pool(perform, len(os.sched_getaffinity(0)))


_one_at_a_time = Lock()


def compared(choice: Choice, is_old: Callable[[], bool]) -> Comparison | None:
    """Compare the ways of a choice; None when a newer choice has overtaken this one.

    Its runs have the mean delays of a packet beside their measures: `queue_ms`, ... (`DELAYS`).

    Raises:
        InputError: a value of the choice is wrong.
        MinitopoDcError: a run took too long, or its process ended.
    """
    chosen = choice.ways().items()
    ways = {name: way.evolve(statistics_ms=SAMPLE_MS) for name, way in chosen}
    build_missing(ways.values())
    workers = partial(_in_lots, is_old)
    made = compare(ways, choice.seed_numbers(), executor=workers, progress=False)
    if (made.runs["status"] == "missing").any():
        if is_old():
            return None
        raise MinitopoDcError(f"given up: not done after {MOST_S:g} s; a smaller size may be")
    places = [made.directory / run for run in made.runs["run"]]
    good = made.runs["status"] == "ok"
    delays = [mean_delays_ms(run) if ok else {} for run, ok in zip(places, good, strict=True)]
    for part in DELAYS:
        made.runs[f"{part}_ms"] = [own.get(part, math.nan) for own in delays]
    return made


def _in_lots(
    is_old: Callable[[], bool], scenarios: Scenarios, retries: Retries, working: Path
) -> Results:
    """Make runs in lots, each of a run a process; between two it is asked whether they are old."""
    names, number = [*scenarios], len(os.sched_getaffinity(0))
    for begin in range(0, len(names), number):
        lot = {name: scenarios[name] for name in names[begin : begin + number]}
        with _one_at_a_time:
            if is_old():
                return
            yield from pooled(_pool(), time.monotonic() + MOST_S, lot, retries, working)


class Newest:
    """Answers the newest request in a thread of its own; those that came before it are dropped.

    Args:
        answer: gets a request, and a function that tells whether a newer one waits.
    """

    def __init__(self, answer: Callable[[Any, Callable[[], bool]], None]) -> None:
        self._answer, self._lock = answer, Lock()
        self._waiting: list[Any] = []
        self._thread: Thread | None = None

    def ask(self, request: Any) -> None:
        """Have a request answered, in place of one that waits."""
        with self._lock:
            self._waiting = [request]
            if self._thread is None:
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()

    def settle(self) -> None:
        """Wait until the newest request is answered."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._answer(request, lambda: bool(self._waiting))

    def _next(self) -> Any:
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
            self._thread = None
            return None
