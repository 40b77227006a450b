"""What the machine did to a run: its processes' processor time, sampled while they work.

The kernel counts, for each thread, how long it ran and how long it could have run but had no
processor (Documentation/scheduler/sched-stats.rst: `/proc/PID/schedstat`); proc(5) says whether it
was stopped. Samples of both, taken each `INTERVAL_S`, show gaps of the programs that take no
measurements themselves. This module decides what is read and when; `minitopo_dc.results.trust`
decides what it means.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

from minitopo_dc.pool import repeated
from minitopo_dc.results.trust import Evidence, Part, judge_trust, overlap_s
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement

INTERVAL_S = 0.05
"""Between samples: the shortest stop that calibration makes (0.1 s) meets one at least."""
CHILDREN_EVERY = 10
"""Samples between two looks for a program's own children."""
LONG_WAIT_NS = 10_000_000
"""Between two samples: half a round trip of the papers' shortest legs. Shorter waits, of which two
programs on one processor have many, delay less than a packet's own time on such a leg."""
STRETCH_S = 0.2
SATURATED = 0.9
"""Of a stretch: the kernel counts a program's time in ticks of up to 10 ms."""
HALTED = frozenset("tT")
"""proc(5): stopped by a tracer, stopped by a signal."""
STOPPED = HALTED | {"D"}
"""And waiting for a disk."""
RECOVERY_S = 0.1
"""The most that a stop by a signal costs beyond the time in which samples show it: it may be longer
by `INTERVAL_S`, and its transfer then takes as long to be as fast as before."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a process, with its threads and children, at a moment."""

    at_ns: int
    ran_ns: int
    """Time (ns) that it ran on a processor, since it was started."""
    waited_ns: int
    """Time (ns) that it waited for a processor, since it was started."""
    state: str
    """proc(5): R, S, D, T, ..."""


@dataclass
class _Process:
    """A watched process, and the samples of it."""

    pid: int
    pids: list[int] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    times: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How long each thread ran and waited (ns) when it was last seen, by its number: what ended
    threads and children had used stays in the sum."""

    def look(self, now: int) -> None:
        """Take a sample, unless the process has ended."""
        states = []
        for pid in self.pids:
            with contextlib.suppress(OSError, ValueError):
                states.append(_state(pid))
                self.times |= _times(pid)
        if states and self.times:
            ran, waited = map(sum, zip(*self.times.values(), strict=True))
            self.samples.append(Sample(now, ran, waited, states[0]))


@dataclass(frozen=True, slots=True)
class _Machine:
    """Counters of all processors together at a moment."""

    at_ns: int
    stolen_s: float
    busy_s: float
    pressure_s: float | None
    backlog_drops: int


class Watch:
    """Samples the processes of a run, in a thread, while the block lasts."""

    def __init__(self) -> None:
        self._processes: dict[str, _Process] = {}
        self._machine: list[_Machine] = []
        self._load_before = os.getloadavg()[0]
        self._zero_ns = 0
        self._turns = itertools.count()
        self._sampling = repeated(self._sample, INTERVAL_S)

    def __enter__(self) -> Self:
        self._sampling.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._sampling.__exit__(*error)

    def add(self, part: str, pid: int) -> None:
        """Watch a process from now on; the second of a part is called `PART-2`."""
        number = sum(name.partition("-")[0] == part for name in self._processes) + 1
        self._processes[part if number == 1 else f"{part}-{number}"] = _Process(pid)

    def pids(self) -> dict[str, int]:
        """Return the processes by part, so that a benchmark can stop one."""
        return {part: process.pid for part, process in self._processes.copy().items()}

    def transfers_begin(self) -> None:
        """Take note of the moment from which measurements count their clients' start."""
        self._zero_ns = time.monotonic_ns()

    def judge(
        self,
        measurements: Sequence[Measurement],
        summaries: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Judge the time from the first client's start of connecting to the last one's end.

        Args:
            measurements: of the flows.
            summaries: of the elements, when they have ended.
        """
        begin_s = min(measured.started_s for measured in measurements)
        end_s = max(measured.started_s + measured.completion_s for measured in measurements)
        begin_ns, end_ns = (self._zero_ns + round(moment * NS_PER_S) for moment in (begin_s, end_s))
        stalls = {summary["host"]: summary["stalls_ns"] for summary in summaries}
        return judge_trust(self.evidence(begin_ns, end_ns, stalls))

    def evidence(
        self, begin_ns: int, end_ns: int, stalls: Mapping[str, Sequence[Sequence[int]]]
    ) -> Evidence:
        """Return what happened in a window of the monotonic clock (ns).

        Args:
            begin_ns: the first client began to connect.
            end_ns: the last one had what it wanted.
            stalls: of each element when its alarms were late, and by how much (ns).
        """
        samples = {
            name: _within(process.samples, begin_ns, end_ns)
            for name, process in self._processes.items()
        }
        parts = {name: _part(of_part) for name, of_part in samples.items()}
        stalled = {name: overlap_s(late, begin_ns, end_ns) for name, late in stalls.items()}
        stops = [stop for of_part in samples.values() for stop in _stops(of_part)]
        held_up = [*stops, *((end, lasted) for late in stalls.values() for end, lasted in late)]
        halts = sum(map(_halts, samples.values()))
        turns = [turn.at_ns for turn in self._machine]
        gaps = ((after, after - before) for before, after in pairwise(turns))
        paused = [(at, gap) for at, gap in gaps if gap > 2 * INTERVAL_S * NS_PER_S]
        return Evidence(
            transfer_s=(end_ns - begin_ns) / NS_PER_S,
            parts={name: part for name, part in parts.items() if part is not None},
            stalled_s=stalled,
            held_up_s=overlap_s(sorted(held_up), begin_ns, end_ns) + halts * RECOVERY_S,
            paused_s=overlap_s(paused, begin_ns, end_ns),
            **self._of_machine(begin_ns, end_ns, parts),
        )

    def _of_machine(
        self, begin_ns: int, end_ns: int, parts: Mapping[str, Part | None]
    ) -> dict[str, Any]:
        seen = _within(self._machine, begin_ns, end_ns)
        first, last = seen[0], seen[-1]
        seconds = max((last.at_ns - first.at_ns) / NS_PER_S, INTERVAL_S)
        ours = sum(part.ran_s for part in parts.values() if part is not None)
        pressure = None
        if first.pressure_s is not None and last.pressure_s is not None:
            pressure = (last.pressure_s - first.pressure_s) / seconds
        return {
            "stolen_s": last.stolen_s - first.stolen_s,
            "backlog_drops": last.backlog_drops - first.backlog_drops,
            "pressure": pressure,
            "other_processors": max(0.0, (last.busy_s - first.busy_s - ours) / seconds),
            "load": (self._load_before, os.getloadavg()[0]),
        }

    def _sample(self) -> None:
        turn, now = next(self._turns), time.monotonic_ns()
        for process in self._processes.copy().values():
            if turn % CHILDREN_EVERY == 0 or not process.pids:
                process.pids = list(_with_children(process.pid))
            process.look(now)
        self._machine.append(_machine(now))


_AnyDated = TypeVar("_AnyDated", Sample, _Machine)


def _within(samples: Sequence[_AnyDated], begin_ns: int, end_ns: int) -> Sequence[_AnyDated]:
    """Return the samples of a window, with the last one before it and the first one behind it."""
    moments = [sample.at_ns for sample in samples]
    first = max(0, bisect_right(moments, begin_ns) - 1)
    return samples[first : bisect_left(moments, end_ns) + 1]


def _part(samples: Sequence[Sample]) -> Part | None:
    """Return the sum of what was seen of a process, None if it was seen less than twice."""
    if len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    waits = [b.waited_ns - a.waited_ns for a, b in pairwise(samples)]
    return Part(
        ran_s=(last.ran_ns - first.ran_ns) / NS_PER_S,
        waited_s=(last.waited_ns - first.waited_ns) / NS_PER_S,
        delayed_s=sum(wait for wait in waits if wait >= LONG_WAIT_NS) / NS_PER_S,
        stopped_s=sum(lasted for _, lasted in _stops(samples)) / NS_PER_S,
        saturated_s=_saturated_s(samples),
    )


def _stops(samples: Sequence[Sample]) -> Iterator[tuple[int, int]]:
    """Yield the end of each interval in which a process was stopped, and how long it was (ns)."""
    for before, after in pairwise(samples):
        if after.state in STOPPED:
            yield after.at_ns, after.at_ns - before.at_ns


def _halts(samples: Sequence[Sample]) -> int:
    """Return how often a process was stopped by a signal or a tracer."""
    halted = [sample.state in HALTED for sample in samples]
    return sum(after and not before for before, after in pairwise(halted))


def _saturated_s(samples: Sequence[Sample]) -> float:
    """Return for how long (s) a process could have used more processor time than it had.

    In each stretch of `STRETCH_S` it ran, or waited for a processor, nearly all the time.
    """
    total, first = 0, samples[0]
    for sample in samples[1:]:
        stretch = sample.at_ns - first.at_ns
        if stretch >= STRETCH_S * NS_PER_S:
            runnable = sample.ran_ns + sample.waited_ns - first.ran_ns - first.waited_ns
            total += stretch if runnable >= SATURATED * stretch else 0
            first = sample
    return total / NS_PER_S


def _with_children(pid: int) -> Iterator[int]:
    """Yield a process and those that it has started, as far as the kernel tells (proc(5))."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text(encoding="ascii").split():
                yield from _with_children(int(child))


def _state(pid: int) -> str:
    """Return the state of a process (proc(5))."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0]


def _times(pid: int) -> dict[int, tuple[int, int]]:
    """Return how long each thread of a process ran and waited (ns), by its number (proc(5))."""
    times = {}
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 (a hundred times a second)
        with contextlib.suppress(OSError):  # one that ends at this moment
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:  # noqa: PTH123
                ran, waited, _ = file.read().split()
            times[int(thread)] = int(ran), int(waited)
    return times


def _machine(now: int) -> _Machine:
    """Read the counters of all processors (proc(5); Documentation/accounting/psi.rst)."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields)
    ticks = os.sysconf("SC_CLK_TCK")
    pressure = None
    with contextlib.suppress(OSError, IndexError, ValueError):
        some = Path("/proc/pressure/cpu").read_text(encoding="ascii").partition("\n")[0]
        pressure = int(some.rpartition("=")[2]) / 1e6
    rows = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
    return _Machine(
        at_ns=now,
        stolen_s=steal / ticks,
        busy_s=(user + nice + system + irq + softirq) / ticks,
        pressure_s=pressure,
        backlog_drops=sum(int(row.split()[1], 16) for row in rows),
    )
