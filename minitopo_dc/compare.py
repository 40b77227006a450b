"""The comparison: which scenarios it takes, and running them one after the other or at once."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.clocks import chosen_jobs, require_clock, run_checked
from minitopo_dc.data_model import write_version
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


def run_directory(root: Path, repetition: int, scenario: Scenario, variant: str = "") -> Path:
    """Where one run of a comparison is kept."""
    slug = re.sub("[^a-z0-9.]+", "-", variant.lower())
    return root / "-".join(filter(None, (scenario.label, slug, str(repetition))))


def variants(scenarios: Sequence[Scenario]) -> list[str]:
    """Return what sets each row apart from others of its transport and mode; empty: there are none.

    `least-delay`, or where split policies do not tell them apart `batch, t-Reordering 50 ms`.
    """
    rows = [(each.label, _flat(each.model_dump(mode="json"))) for each in scenarios]
    found = []
    for label, mine in rows:
        same = [fields for other, fields in rows if other == label]
        differ = [key for key in mine if len({str(fields.get(key)) for fields in same}) > 1]
        told = [key for key in TELLING if key in differ]
        if sum(all(fields.get(key) == mine[key] for key in told) for fields in same) > 1:
            told = differ
        found.append(", ".join(_told(key, mine[key]) for key in told))
    return found


def _told(field: str, value: Any) -> str:
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return TELLING.get(field, f"{field} {{}}").format(shown)


TELLING = {"leg": "leg {}", "pdcp.split": "{}", "pdcp.t_reordering_ms": "t-Reordering {} ms"}
"""Fields by which rows are told apart before all others, and in which words."""


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the fields of a scenario by their paths; a list is one field."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{before}{name}"
        found |= _flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


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
    with contextlib.suppress(OSError):  # then no run can be written either, each says why
        root.mkdir(parents=True, exist_ok=True)
        write_version(root)
    named = _variants_of_runs(planned)
    arguments = [
        (execute, scenario, run_directory(root, repetition, scenario, variant), retry_disturbed)
        for (repetition, scenario), variant in zip(planned, named, strict=True)
    ]
    outcomes = _in_order(arguments, jobs) if jobs > 1 else (attempt(*each) for each in arguments)
    for (repetition, scenario), variant, (_, _, directory, _), outcome in zip(
        planned, named, arguments, outcomes, strict=True
    ):
        result = _of_row(scenario, directory, outcome)
        yield _kept(replace(result, repetition=repetition, variant=variant), directory)


def _variants_of_runs(planned: Sequence[tuple[int, Scenario]]) -> list[str]:
    """Return each run's variant: that of its row, as every repetition has the rows of the first."""
    rows = [scenario for repetition, scenario in planned if repetition == planned[0][0]]
    return list(itertools.islice(itertools.cycle(variants(rows)), len(planned)))


def attempt(
    execute: Execute, scenario: Scenario, directory: Path, retry_disturbed: int = 0
) -> RunResult:
    """Run, and again if the machine disturbed it; an error that is none of a run's own fails it."""

    def once() -> RunResult:
        try:
            return execute(scenario, directory)
        except Exception as error:
            return crashed(scenario, directory, error)

    return tried(once, directory, Retries(disturbed=retry_disturbed))


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
        return replace(result.without_numbers("failed", reason), leg_bytes=None)
    return result
