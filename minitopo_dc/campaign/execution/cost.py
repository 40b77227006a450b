"""An estimate of how long a campaign's runs will take on this machine, before they are run.

Rules:

* On the virtual clock a run takes a constant, and so much for each megabyte that it carries; both
  are those of its kind (transport, mode, split, numbering). They are measured: from how long the
  runs took that the campaign's directory has, else from the CPU time of a run of each kind, now,
  with at most `CALIBRATION_MB`.
* On the real clock a run takes the time in which the legs carry it when they are full, or as long
  as its workload says, and `REAL_OVERHEAD_S`.
* What neither rule knows, losses above all, is covered by the limits (`VIRTUAL_FACTOR`,
  `REAL_FACTOR`).
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.executors import Execute
from minitopo_dc.campaign.file.plan import Run
from minitopo_dc.campaign.timing import REAL_OVERHEAD_S, mean_mbps
from minitopo_dc.runs.results import RunResult, load_recorded
from minitopo_dc.scenario import DUAL_CONNECTIVITY, ResolvedFlow, Scenario
from minitopo_dc.workloads import Download, Realtime, RequestResponse, Video, Workload

T = TypeVar("T")

CALIBRATION_MB = 1.0
"""The size of a run that calibrates: it takes 0.1 s, and slow start is over by then."""
MIN_MB = 0.01
"""The size of a run that takes hardly more than the constant."""
CALIBRATION_S = 2.0
"""The duration of a calibrating run whose workload lasts a given time."""
SESSION_S = 6.0
"""The duration of a calibrating video or call: two segments of the embedded videos."""
MAX_CALIBRATIONS = 16
"""The most kinds that are calibrated, the commonest first; others count as their mean. They take
some seconds in all."""
MAX_TIMED = 300
"""The most runs of a directory that are read: more make the estimate no better."""
VIRTUAL_FACTOR = 2.0
"""The error of an estimate, up or down: that of two campaigns, with some margin
(docs/measurements.md)."""
REAL_FACTOR = 2.0
"""The upper error of an estimate, as legs that lose packets are not full."""
BYTES_PER_MB = 1_000_000

Kind = tuple[str, ...]
Timer = Callable[[], float]
Weighted = tuple[Scenario, int]
"""A scenario, and how many runs have it (repetitions differ in their seeds only)."""


@dataclass(frozen=True)
class Cost:
    """The estimated time in s of all runs, one after the other, with its limits."""

    seconds: float
    low: float
    high: float
    basis: str
    """What the estimate is made from."""


@dataclass(frozen=True)
class Load:
    """A number of runs of one kind, and the megabytes that they carry together."""

    kind: Kind
    runs: int
    megabytes: float

    @classmethod
    def of(cls, scenario: Scenario, runs: int) -> Load:
        """Return the load of runs that have this scenario."""
        return cls(kind_of(scenario), runs, runs * megabytes(scenario))


@dataclass(frozen=True)
class Observed:
    """The measured time of one run, with its kind and the megabytes that it carried."""

    kind: Kind
    megabytes: float
    seconds: float


class Weights:
    """The times of runs on the virtual clock: a constant, and a time per megabyte of each kind.

    Args:
        observed: runs that were timed; more may come (`add`).
    """

    def __init__(self, observed: Iterable[Observed] = ()) -> None:
        self._constant = math.inf
        self._number: Counter[Kind] = Counter()
        self._seconds: dict[Kind, float] = {}
        self._megabytes: dict[Kind, float] = {}
        for each in observed:
            self.add(each)

    def add(self, observed: Observed) -> None:
        """Add a run that was timed."""
        kind = observed.kind
        self._constant = min(self._constant, observed.seconds)
        self._number[kind] += 1
        self._seconds[kind] = self._seconds.get(kind, 0.0) + observed.seconds
        self._megabytes[kind] = self._megabytes.get(kind, 0.0) + observed.megabytes

    def seconds(self, loads: Iterable[Load]) -> float:
        """Return the time in s that loads take together; untimed kinds count as the mean of others.

        It is 0.0 as long as no run was timed.
        """
        if not self._number:
            return 0.0
        rates = {kind: self._rate(kind) for kind, carried in self._megabytes.items() if carried}
        usual = statistics.fmean(rates.values()) if rates else 0.0
        return sum(
            each.runs * self._constant + each.megabytes * rates.get(each.kind, usual)
            for each in loads
        )

    def _rate(self, kind: Kind) -> float:
        """Return the time in s for a megabyte, beyond the constant."""
        beyond = self._seconds[kind] - self._number[kind] * self._constant
        return beyond / self._megabytes[kind]


def real_cost(runs: Iterable[Weighted]) -> Cost:
    """Return the estimated cost of runs on the real clock."""
    full, number = 0.0, 0
    for scenario, times in runs:
        full += times * lasts_s(scenario)
        number += times
    overhead = number * REAL_OVERHEAD_S
    basis = f"full legs and {REAL_OVERHEAD_S:g} s a run"
    return Cost(full + overhead, full + overhead, REAL_FACTOR * full + overhead, basis)


def virtual_cost(runs: Sequence[Weighted], observed: Sequence[Observed], basis: str) -> Cost:
    """Return the estimated cost of runs on the virtual clock, by runs that were timed.

    Args:
        runs: all that are to be run.
        observed: runs that were timed, at least one.
        basis: what those runs are, for a reader.
    """
    loads = (Load.of(scenario, times) for scenario, times in runs)
    seconds = Weights(observed).seconds(loads)
    return Cost(seconds, seconds / VIRTUAL_FACTOR, seconds * VIRTUAL_FACTOR, basis)


def calibrate(
    runs: Sequence[Weighted], execute: Execute, clock: Timer = time.process_time
) -> list[Observed]:
    """Time a small run of each kind, the commonest kinds first.

    Args:
        runs: all that are to be run.
        execute: runs one scenario.
        clock: the clock (s) by which it is timed: CPU time, which others' load hardly changes.
    """
    alike: dict[Kind, list[Weighted]] = {}
    for scenario, times in runs:
        alike.setdefault(kind_of(scenario), []).append((scenario, times))
    commonest = sorted(alike.values(), key=lambda those: -sum(times for _, times in those))
    chosen = [_middle([each for each, _ in those]) for those in commonest[:MAX_CALIBRATIONS]]
    with TemporaryDirectory() as directory:
        root = Path(directory)
        least, *others = [
            smaller(chosen[0], MIN_MB),
            *(smaller(scenario, CALIBRATION_MB) for scenario in chosen),
        ]
        _timed(least, execute, root / "first", clock)  # loads the modules
        return [
            _timed(scenario, execute, root / str(place), clock)
            for place, scenario in enumerate((least, *others))
        ]


def timed_runs(store: Store) -> list[Observed]:
    """Return the timed runs of a campaign's directory, at most `MAX_TIMED`, evenly chosen."""
    directories = sorted(each for each in store.runs.glob("*") if each.is_dir())
    return _known(_recorded(each) for each in _evenly(directories))


def timed_before(runs: Sequence[Run], store: Store) -> list[Observed]:
    """Return the timed runs among planned ones, whose scenarios then need not be read."""
    found = ((run.scenario, load_result(store.runs / run.id)) for run in _evenly(runs))
    return _known(starmap(observed_of, found))


def _evenly(things: Sequence[T]) -> Sequence[T]:
    """Return at most `MAX_TIMED` of a sequence, evenly chosen."""
    return things[:: 1 + len(things) // MAX_TIMED]


def _known(found: Iterable[Observed | None]) -> list[Observed]:
    return [each for each in found if each is not None]


def _recorded(run: Path) -> Observed | None:
    """Return the time of a run by its files; None when they are no run or it was not timed."""
    try:
        scenario, result = load_recorded(run), load_result(run)
    except (OSError, ValueError):
        return None
    return observed_of(scenario, result)


def observed_of(scenario: Scenario, result: RunResult) -> Observed | None:
    """Return the time of a run by its result; None when it was not timed, or did not take place."""
    seconds = result.details.get("wall_s")
    if result.status == "unsupported" or not isinstance(seconds, int | float):
        return None
    return Observed(kind_of(scenario), megabytes(scenario), float(seconds))


def kind_of(scenario: Scenario) -> Kind:
    """Return what runs of equal cost share: number of flows, transports, modes, splits, kinds."""
    flows = scenario.resolved_flows
    parts = {
        part
        for flow in flows
        for part in (flow.transport, flow.mode, *_splitting(flow), flow.workload.kind)
    }
    return (str(len(flows)), *sorted(parts))


def megabytes(scenario: Scenario) -> float:
    """Return what a run's clients receive, in 10^6 bytes.

    For a timed download it is what its legs can carry.
    """
    return sum(_megabytes(scenario, flow) for flow in scenario.resolved_flows)


def smaller(scenario: Scenario, most_mb: float) -> Scenario:
    """Return the scenario with at most so many megabytes to carry, to be timed in its place."""
    flows = [flow.model_copy(update={"workload": None}) for flow in scenario.flows]
    changed = _smaller(scenario.workload, most_mb)
    return scenario.model_copy(update={"workload": changed, "flows": tuple(flows)})


def _smaller(workload: Workload, most_mb: float) -> Workload:
    if isinstance(workload, RequestResponse):
        most = max(1, int(most_mb * BYTES_PER_MB / workload.response_bytes))
        return workload.model_copy(
            update={"count": min(workload.requests, most), "duration_s": None}
        )
    if isinstance(workload, Video | Realtime):
        return workload.model_copy(update={"duration_s": min(workload.duration_s, SESSION_S)})
    if isinstance(workload, Download) and workload.duration_s is not None:
        return workload.model_copy(update={"duration_s": min(workload.duration_s, CALIBRATION_S)})
    if isinstance(workload, Download):
        size = min(workload.size_bytes / BYTES_PER_MB, most_mb)
        return workload.model_copy(update={"size_mb": size})
    return workload


def _timed(scenario: Scenario, execute: Execute, directory: Path, clock: Timer) -> Observed:
    directory.mkdir()
    begin = clock()
    result = execute(scenario, directory)
    seconds = clock() - begin
    carried = result.size_bytes / BYTES_PER_MB if result.status == "ok" else megabytes(scenario)
    return Observed(kind_of(scenario), carried, seconds)


def _splitting(flow: ResolvedFlow) -> Iterator[str]:
    if flow.mode in DUAL_CONNECTIVITY:
        yield from (flow.pdcp.split, flow.pdcp.numbering)


def _megabytes(scenario: Scenario, flow: ResolvedFlow) -> float:
    if flow.workload.size_bytes:
        return flow.workload.size_bytes / BYTES_PER_MB
    return (flow.workload.lasts_s or 0.0) * _rate_mbps(scenario, flow) / 8


def lasts_s(scenario: Scenario) -> float:
    """Return the time in s of a run's longest flow over full legs, at most its time limit."""
    return max(_flow_s(scenario, flow) for flow in scenario.resolved_flows)


def _flow_s(scenario: Scenario, flow: ResolvedFlow) -> float:
    if flow.workload.lasts_s is not None:
        return flow.workload.lasts_s
    rate = _rate_mbps(scenario, flow)
    carried = _megabytes(scenario, flow) * 8
    return min(carried / rate, scenario.timeout_s) if rate else scenario.timeout_s


def _rate_mbps(scenario: Scenario, flow: ResolvedFlow) -> float:
    """Return what a flow's legs carry together in Mbit/s; the slowest leg limits a static split."""
    rates = [mean_mbps(scenario.legs[leg - 1].downlink) for leg in flow.legs]
    if flow.mode == "dc-duplicate":
        return max(rates)
    if flow.mode == "dc" and flow.pdcp.split == "batch":
        parts = flow.pdcp.ratio or [1] * len(rates)
        return min(
            rate * sum(parts) / part for rate, part in zip(rates, parts, strict=True) if part
        )
    return sum(rates)


def _middle(scenarios: Sequence[Scenario]) -> Scenario:
    """Return the scenario that carries the median."""
    return sorted(scenarios, key=megabytes)[len(scenarios) // 2]
