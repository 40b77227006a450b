"""Runs of a page's choice in processes that stay, the newest choice overtaking all older ones."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.clocks import build_missing, run_scenario
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.exploration.choice import Choice
from minitopo_dc.pool import Killed, Pool
from minitopo_dc.results import client_rate, leg_series
from minitopo_dc.results.measures.pdcp import reordering_wait_ms
from minitopo_dc.runs.check import check_rows
from minitopo_dc.runs.script_plugins import registered_in_script, with_script_plugins
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch

MOST_S = 60.0
"""A lot of runs that has not ended by then is given up."""
SAMPLE_MS = 10
"""How often the elements sample their queues in a run of a page."""
BINS = 40
"""The bins of a run's rate over time, each at least two samples wide."""
DELAYS = ("queue", "propagation", "reordering")
"""What the delay of a packet consists of."""


@dataclass(frozen=True)
class Outcome:
    """What the page shows of one run."""

    way: str
    seed: int
    status: str
    reason: str = ""
    goodput_mbps: float = math.nan
    capacity_share: float = math.nan
    leg_bytes: tuple[int, ...] = ()
    rate: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`time_s`, `rate_mbps`: what the client received."""
    delay_ms: dict[str, float] = field(default_factory=dict)
    """The mean of a packet, by `DELAYS`."""


def outcome_of(way: str, scenario: Scenario) -> Outcome:
    """Run a scenario, and return what the page shows of it; its files are gone then."""
    with scratch() as place:
        run = place / "run"
        result = run_scenario(scenario.evolve(statistics_ms=SAMPLE_MS), run)
        if result.status != "ok" or result.completion_s is None:
            return Outcome(way, scenario.seed, result.status, result.reason)
        bin_s = max(2 * SAMPLE_MS / 1000, result.completion_s / BINS)
        return Outcome(
            way,
            scenario.seed,
            result.status,
            goodput_mbps=result.measures["goodput_mbps"],
            capacity_share=result.measures["capacity_share"],
            leg_bytes=tuple(result.leg_bytes or ()),
            rate=client_rate(run, bin_s),
            delay_ms=mean_delays_ms(run),
        )


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
    return Pool(outcome_of, len(os.sched_getaffinity(0)))


_one_at_a_time = Lock()


def outcomes(choice: Choice, is_old: Callable[[], bool]) -> list[Outcome] | None:
    """Return the outcome of each way and seed; None when a newer choice has overtaken this one.

    Between two lots of runs, each of a run a process, it is asked whether that is so.

    Raises:
        InputError: a value of the choice is wrong.
        MinitopoDcError: a run took too long, or its process ended.
    """
    ways = choice.ways()
    check_rows([*ways.values()])
    build_missing(ways.values())
    own = registered_in_script()
    calls = [
        (way, with_script_plugins(scenario.evolve(seed=seed), own))
        for seed in choice.seed_numbers()
        for way, scenario in ways.items()
    ]
    number, ended = len(os.sched_getaffinity(0)), list[Outcome]()
    for begin in range(0, len(calls), number):
        with _one_at_a_time:
            if is_old():
                return None
            ended += _lot(calls[begin : begin + number])
    return ended


def _lot(calls: Sequence[tuple[str, Scenario]]) -> list[Outcome]:
    lot = dict(_pool().results(calls, time.monotonic() + MOST_S))
    if len(lot) < len(calls):
        raise MinitopoDcError(f"given up: not done after {MOST_S:g} s; a smaller size may be")
    for outcome in lot.values():
        if isinstance(outcome, Killed):
            raise MinitopoDcError(outcome.reason)
        if isinstance(outcome, Exception):
            raise outcome
    return [lot[place] for place in range(len(calls))]


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
