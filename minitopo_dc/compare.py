"""The comparison: which scenarios it takes, and running them one after the other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.shipped import safe_path

Execute = Callable[[Scenario, Path], RunResult]


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
    planned: Sequence[tuple[int, Scenario]], root: Path, execute: Execute, jobs: int = 1
) -> Iterator[RunResult]:
    """Run them, each in its directory below `root`; yield the results in order, as they come.

    With more than one of `jobs`, `execute` is a function of a module: processes import it.
    """
    scenarios = [scenario for _, scenario in planned]
    directories = [run_directory(root, *each) for each in planned]
    if jobs == 1:
        results: Iterator[RunResult] = map(execute, scenarios, directories)
    else:
        results = _in_processes(execute, scenarios, directories, jobs)
    for (repetition, _), directory, result in zip(planned, directories, results, strict=True):
        numbered = replace(result, repetition=repetition)
        numbered.save(directory)
        yield numbered


def _in_processes(
    execute: Execute, scenarios: Sequence[Scenario], directories: Sequence[Path], jobs: int
) -> Iterator[RunResult]:
    """As `map`; each process starts afresh, so that nothing is shared."""
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))
    try:
        with safe_path():
            results = pool.map(execute, scenarios, directories)
        yield from results
    finally:
        pool.shutdown(cancel_futures=True)
