"""The comparison: which scenarios it takes, and running them one after the other or at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.clocks import chosen_jobs, require_clock, run_checked
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.run.attempts import Retries, tried
from minitopo_dc.run.check import check_scenario
from minitopo_dc.run.judge import blank_result, crashed
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario

Execute = Callable[[Scenario, Path], RunResult]


def run_comparison(
    base: Scenario,
    rows: Sequence[Mapping[str, Any]],
    directory: Path,
    *,
    repetitions: int = 1,
    jobs: int = 1,
    retry_disturbed: int = Retries.disturbed,
) -> list[RunResult]:
    """Run every row `repetitions` times; return the results, which `results_table` makes a table.

    Args:
        base: what all rows have in common.
        rows: of each the fields in which it differs: `{"transport": "quic", "mode": "dc"}`.
        directory: gets a folder per run; `load_results` reads it later.
        repetitions: each with a seed of its own, which all rows share.
        jobs: runs at once, in processes; on the real clock 1, as runs would disturb each other.
        retry_disturbed: how often a run is done again that the machine disturbed.

    Raises:
        InputError: a scenario is wrong, or its clock cannot run here. Nothing has been run then.
    """
    planned = list(planned_runs(base, rows, repetitions))
    for _, scenario in planned[: len(rows)]:  # repetitions differ in their seed only
        check_scenario(scenario)
        require_clock(scenario.clock)
    jobs = chosen_jobs(jobs, base.clock)
    return list(run_all(planned, directory, run_checked, jobs, retry_disturbed))


def planned_runs(
    base: Scenario, rows: Sequence[Mapping[str, Any]], repetitions: int
) -> Iterator[tuple[int, Scenario]]:
    """Yield (repetition, scenario): every row once, then all of them again.

    A row is the fields in which a scenario differs from `base`: transport, mode, options.
    Repetition `i` has the seed of `base` plus `i - 1` for all rows, so that within one
    repetition all meet the same losses and jitter.
    """
    for repetition in range(1, repetitions + 1):
        seed = {"seed": base.seed + repetition - 1}
        for row in rows:
            yield repetition, Scenario.check({**base.model_dump(), **row, **seed}, "compare")


def run_directory(root: Path, repetition: int, scenario: Scenario) -> Path:
    """Where one run of a comparison is kept."""
    return root / f"{scenario.label}-{repetition}"


def run_all(
    planned: Sequence[tuple[int, Scenario]],
    root: Path,
    execute: Execute,
    jobs: int = 1,
    retry_disturbed: int = Retries.disturbed,
) -> Iterator[RunResult]:
    """Run them, each in its directory below `root`; yield the results in order, as they come.

    Whatever happens to one is its result, failed, and the others go on. With more than one of
    `jobs`, `execute` is a function of a module: processes import it.
    """
    arguments = [
        (execute, scenario, run_directory(root, repetition, scenario), retry_disturbed)
        for repetition, scenario in planned
    ]
    outcomes = _in_order(arguments, jobs) if jobs > 1 else (attempt(*each) for each in arguments)
    for (repetition, scenario), (_, _, directory, _), outcome in zip(
        planned, arguments, outcomes, strict=True
    ):
        result = _of_row(scenario, directory, outcome)
        yield _kept(replace(result, repetition=repetition), directory)


def attempt(
    execute: Execute, scenario: Scenario, directory: Path, retry_disturbed: int = 0
) -> RunResult:
    """Run, and again if the machine disturbed it; an error that is none of a run's own fails it."""

    def once() -> RunResult:
        for old in directory.glob("*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        try:
            return execute(scenario, directory)
        except Exception as error:
            return crashed(scenario, directory, error)

    return tried(once, Retries(disturbed=retry_disturbed))


def _in_order(arguments: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """The outcomes in the order of the arguments."""
    early: dict[int, Any] = {}
    awaited = 0
    for place, outcome in in_processes(attempt, arguments, jobs):
        early[place] = outcome
        while awaited in early:
            yield early.pop(awaited)
            awaited += 1


def _of_row(scenario: Scenario, directory: Path, outcome: Any) -> RunResult:
    if isinstance(outcome, RunResult):
        return outcome
    if isinstance(outcome, Killed):
        return replace(blank_result(scenario, directory), reason=outcome.reason)
    return crashed(scenario, directory, outcome)  # what was sent back could not be


def _kept(result: RunResult, directory: Path) -> RunResult:
    """The result, saved; one that cannot be saved is no result."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        result.save(directory)
    except OSError as error:
        reason = result.reason or f"its result cannot be written: {error.strerror}"
        return replace(
            result,
            status="failed",
            reason=reason,
            goodput_mbps=None,
            completion_s=None,
            capacity_share=None,
            leg_bytes=None,
        )
    return result
