"""Advice for a user's own legs: Dual Connectivity or multipath, a tie, or not enough evidence.

`minitopo-dc advise` and `advise` are the same: each leg alone, Dual Connectivity and multipath run
over the legs on the virtual clock, seed after seed, until the interval of the difference is on one
side of the margin or the time is up (docs/advise.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitopo_dc import data_model
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.flips import Searched, find_flips, runs_of_flips
from minitopo_dc.advice.neighbours import Neighbours, neighbours_of
from minitopo_dc.advice.position import Position, position_of
from minitopo_dc.advice.real import REAL_SEEDS, REAL_START_S, on_packets
from minitopo_dc.advice.runs import Progress, Runs
from minitopo_dc.advice.sequence import Asked, decide
from minitopo_dc.advice.sides import QUIC, Sides, sides_of
from minitopo_dc.advice.verdict import Difference, Verdict
from minitopo_dc.clocks import chosen_jobs, require_clock, run_checked, unavailable_reason
from minitopo_dc.comparison_runs import Execute
from minitopo_dc.numbers import duration
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError, defaults

__all__ = ["Advice", "Difference", "Request", "Verdict", "advise", "advise_on", "base_of"]

SECONDS = 60.0
"""For a verdict on one stack: as long as one waits for an answer."""
MIN_S, MAX_S = 1.0, 86_400.0
OVERHEAD_S = 8.0
"""Of `SECONDS`, for what is imported before, and for tables and figures behind the runs."""


@dataclass(frozen=True)
class Advice:
    """What is found out: a verdict for each stack."""

    verdicts: tuple[Verdict, ...]
    position: Position
    """Where the network lies."""
    neighbours: tuple[Neighbours, ...] = ()
    """What the study found near it; of the stacks, workloads and legs that it has."""

    @property
    def sentences(self) -> list[str]:
        """Return all that is said."""
        said = [sentence for verdict in self.verdicts for sentence in verdict.sentences()]
        return [*said, self.position.sentence, *(each.sentence for each in self.neighbours)]

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a number that there is not."""
        position = {
            name: value if math.isfinite(value) else None
            for name, value in asdict(self.position).items()
        }
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        return {
            "sentences": self.sentences,
            "verdicts": verdicts,
            "position": position,
            "neighbours": [each.to_json() for each in self.neighbours],
        }


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        base: the legs, the workload, the congestion control, the first seed (`base_of`).
        transports: names of runners; of each stack one with Dual Connectivity and one with
            multipath.
        seconds: for the verdict on one stack, at most; an interrupted or undecided one goes on in
            its directory.
        margin_percent: within which both are a tie; None: the workload's (`criterion.MARGINS`).
        flips: whether to look for what would flip the verdict, which has no time limit.
        real: whether to run both sides on the real clock too.
        jobs: runs at once; None: one per processor.
    """

    base: Scenario
    transports: tuple[str, ...] = QUIC
    seconds: float = SECONDS
    margin_percent: float | None = None
    flips: bool = False
    real: bool = False
    jobs: int | None = None

    def __post_init__(self) -> None:
        if not MIN_S <= self.seconds <= MAX_S:
            allowed = f"{MIN_S:g} to {MAX_S:g} s"
            raise SettingsError(f"--time: {self.seconds:g}; allowed: {allowed}")

    def sides(self) -> list[Sides]:
        """Return who is set against whom, after all has been checked.

        Raises:
            SettingsError: something is wrong, or a transport or the clock cannot run here.
            TraceError: a trace is wrong.
        """
        criterion(self.base.workload, self.margin_percent)
        chosen_jobs(self.jobs, "virtual")
        found = sides_of(self.base, self.transports)
        for row in (row for sides in found for row in sides.rows):
            scenario = row.scenario(self.base, self.base.seed)
            check_scenario(scenario)
            if (reason := unavailable_reason(scenario)) is not None:
                raise SettingsError(f"--transports: {scenario.transport} cannot run here: {reason}")
        if self.real:
            require_clock("real")
        return found


def base_of(legs: Sequence[Mapping[str, Any]], **fields: Any) -> Scenario:
    """Return what all runs have in common, from legs and other fields of a scenario.

    Raises:
        SettingsError: a field is wrong, with what is allowed.
    """
    options = {"receive_buffer_bytes": defaults.RECEIVE_BUFFER_BYTES, **fields.pop("options", {})}
    own = {"transport": QUIC[0], "mode": "sc", "clock": "virtual", "options": options}
    return Scenario.check({**fields, **own, "legs": list(legs)}, "advise")


def advise(
    legs: Sequence[Mapping[str, Any]],
    *,
    transports: Sequence[str] = QUIC,
    seconds: float = SECONDS,
    margin_percent: float | None = None,
    flips: bool = False,
    real: bool = False,
    jobs: int | None = 1,
    output: Path | None = None,
    progress: Progress = str,
    **fields: Any,
) -> Advice:
    """Say whether Dual Connectivity or multipath is better over some legs, or neither.

    Args:
        legs: two or more, as in a scenario: `{"downlink": {"rate_mbps": 30}, "delay_ms": 10}`.
        transports: as those of `Request`, and so the next five.
        seconds: for a verdict.
        margin_percent: within which both are a tie.
        flips: whether to look for what would flip the verdict.
        real: whether to confirm on packets.
        jobs: runs at once, in processes; None: one per processor.
        output: a directory where runs are kept, and which goes on; None: they are not kept.
        progress: hears what is under way.
        fields: any other field of a scenario: `workload`, `congestion_control`, `seed`, ...

    Raises:
        SettingsError, TraceError: something is wrong, or cannot run here; nothing has been run.
    """
    request = Request(base_of(legs, **fields), tuple(transports), seconds, margin_percent, flips,
                      real, jobs)  # fmt: skip
    with _directory(output) as root:
        return advise_on(request, request.sides(), root, progress)


@contextmanager
def _directory(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted
        return
    with TemporaryDirectory() as directory:
        yield Path(directory)


def advise_on(
    request: Request,
    sides: Sequence[Sides],
    root: Path,
    progress: Progress = str,
    *,
    announced: Progress = str,
    execute: Execute = run_checked,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Run what is asked for and return the advice.

    Args:
        request: what is asked for.
        sides: its own (`Request.sides`).
        root: an existing directory, where runs are kept.
        progress: hears what is under way.
        announced: hears beforehand how long it will take.
        execute: makes a run.
        clock: by which time is kept, in s.
    """
    verdicts = []
    data_model.write_version(root)
    has_run = False
    limit = f"the verdict takes at most {duration(len(sides) * request.seconds)} (--time)"
    jobs = chosen_jobs(request.jobs, "virtual")
    with Runs(jobs, execute, clock, begun=lambda: announced(limit)) as runs:
        for each in sides:
            until = clock() + max(request.seconds - OVERHEAD_S, request.seconds / 2)
            asked = Asked(
                base=request.base,
                sides=each,
                criterion=criterion(request.base.workload, request.margin_percent),
                root=root,
            )
            for words in _beforehand(request, asked, runs, until, progress):
                announced(words)
            verdict = decide(asked, runs, until, progress)
            if request.real:
                with Runs(1, execute, clock) as alone:
                    verdict = on_packets(verdict, asked, alone, progress)
                has_run |= alone.has_begun
            if request.flips:
                searched = Searched(
                    base=request.base,
                    sides=each,
                    transports=request.transports,
                    criterion=asked.criterion,
                    outcome=verdict.outcome,
                    kept=root,
                )
                verdict = replace(verdict, flips=tuple(find_flips(searched, runs, progress)))
            verdicts.append(verdict)
    if not (has_run or runs.has_begun):
        announced("nothing was run: all runs of this verdict were there already")
    position = position_of(request.base)
    near = (neighbours_of(request.base, position, each) for each in verdicts)
    return Advice(tuple(verdicts), position, tuple(each for each in near if each is not None))


def _beforehand(
    request: Request, asked: Asked, runs: Runs, until: float, progress: Progress
) -> Iterator[str]:
    """Make the first seed's runs, and say by them how long what has no time limit will take."""
    if not (request.flips or request.real):
        return
    begin = runs.now()
    done = runs.make(asked.wanted(asked.sides.rows, [1]), asked.root, until, progress)
    if request.flips:
        number = runs_of_flips(request.base, asked.sides)
        seconds = number * (runs.now() - begin) / max(1, len(done))
        yield f"--flips: takes at most {number} more runs, about {duration(seconds)}"
    if request.real:
        longest = max((each.result.completion_s or 0.0 for each in done), default=0.0)
        seconds = 2 * REAL_SEEDS * (longest + REAL_START_S)
        yield f"--real: takes {2 * REAL_SEEDS} more runs, about {duration(seconds)}"
