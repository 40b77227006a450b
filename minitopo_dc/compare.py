"""The comparison: which scenarios it takes, and running them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario

Execute = Callable[[Scenario, Path], RunResult]


def plan(
    base: Scenario, rows: Sequence[Mapping[str, Any]], repetitions: int
) -> Iterator[tuple[int, Scenario]]:
    """Yield (repetition, scenario): every row once, then all of them again.

    A row is the fields in which a scenario differs from ``base``: transport, mode, options.
    Repetition ``i`` has the seed of ``base`` plus ``i - 1`` for all rows, so that within one
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
    planned: Sequence[tuple[int, Scenario]], root: Path, execute: Execute
) -> Iterator[RunResult]:
    """Run them in order, each in its directory below ``root``; yield each result as it comes."""
    for repetition, scenario in planned:
        directory = run_directory(root, repetition, scenario)
        result = replace(execute(scenario, directory), repetition=repetition)
        result.save(directory)
        yield result
