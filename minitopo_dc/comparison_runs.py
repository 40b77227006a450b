"""The comparison of several scenarios, which are run one after the other or at once.

A directory has `comparison.json`, which says what was asked, and a directory for each run. A run
with a `result.json` is done: who asks for the same comparison again gets what is missing.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minitopo_dc import data_model
from minitopo_dc.clocks import chosen_jobs, require_clock, run_checked
from minitopo_dc.files import parse_json, read_text, write_whole
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.runs.attempts import ATTEMPTS, Retries, check_retries, tried
from minitopo_dc.runs.check import check_rows
from minitopo_dc.runs.judge import blank_result, crashed
from minitopo_dc.runs.own_plugins import own_things, with_own_plugins
from minitopo_dc.runs.results import MAX_BYTES, RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.identity import file_digests
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted

Execute = Callable[[Scenario, Path], RunResult]
Planned = Sequence[tuple[int, Scenario]]
"""Pairs of a repetition and a scenario (`planned_runs`)."""


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

    An unfinished comparison goes on: runs that are done are not repeated.

    Args:
        base: what all rows have in common.
        rows: of each the fields in which it differs: `{"transport": "quic", "mode": "dc"}`.
        directory: gets a folder per run; `load_results` reads it later.
        repetitions: each with a seed of its own, which all rows share.
        jobs: runs at once, in processes; on the real clock 1, as runs would disturb each other.
        retry_disturbed: how often a run is done again that the machine disturbed.

    Raises:
        InputError: a scenario is wrong, its clock cannot run here, or the directory holds another
            comparison. Nothing has been run then.
    """
    check_retries(retry_disturbed)
    planned = list(planned_runs(base, rows, repetitions))
    check_rows([scenario for _, scenario in planned[: len(rows)]])  # others differ in their seed
    require_clock(base.clock)
    jobs = chosen_jobs(jobs, base.clock)
    directory.mkdir(parents=True, exist_ok=True)
    with held(directory, planned):
        done = finished_runs(planned, directory, retry_disturbed)
        return list(run_all(planned, directory, run_checked, jobs, retry_disturbed, done=done))


def planned_runs(
    base: Scenario, rows: Sequence[Mapping[str, Any]], repetitions: int
) -> Iterator[tuple[int, Scenario]]:
    """Yield (repetition, scenario): every row once, then all of them again.

    A row is the fields in which a scenario differs from `base`: transport, mode, options.
    Repetition `i` has the seed of `base` plus `i - 1` for all rows, so that within one repetition
    all rows meet the same losses and jitter.
    """
    for repetition in range(1, repetitions + 1):
        seed = {"seed": base.seed + repetition - 1}
        for row in rows:
            yield repetition, Scenario.check({**base.model_dump(), **row, **seed}, "compare")


@contextmanager
def held(root: Path, planned: Planned) -> Iterator[None]:
    """Hold a comparison's directory while it runs, and write there which comparison is asked for.

    Raises:
        SettingsError: another comparison is there, or another process runs this one; or nothing can
            be written.
    """
    try:
        lock = _lock(root / ASKED, planned)
    except BlockingIOError:
        raise SettingsError(f"{quoted(root)}: another process runs this comparison") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(f"{quoted(root)}: {why}; give a new directory") from None
    with lock:
        yield


def _lock(path: Path, planned: Planned) -> BufferedReader:
    """Write what is asked, unless it is there, and lock the file; ValueError if it differs."""
    root = path.parent
    if not path.exists():
        if any(root.glob("*/result.json")):
            raise ValueError(f"holds runs, and no {ASKED} that says of what comparison")
        write_whole(path, json.dumps(_asked(planned), indent=1))
    elif (root / data_model.FILE).exists() and data_model.check_version(root) != data_model.VERSION:
        raise ValueError("its runs have another version of the data model than this program's")
    found = parse_json(read_text(path, MAX_BYTES, within=root))
    if differs := _difference(found, planned):
        raise ValueError(f"holds a comparison with other options: {differs}")
    file = path.open("rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def runs_asked(root: Path) -> int | None:
    """Return how many runs a comparison is to have; None when its directory does not tell."""
    try:
        found = parse_json(read_text(root / ASKED, MAX_BYTES, within=root))
        return len(found["rows"]) * int(found["repetitions"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _asked(planned: Planned) -> dict[str, Any]:
    """Return what defines a comparison: the scenario of each row, and the number of repetitions."""
    rows = _rows_of(planned)
    return {
        "repetitions": len(planned) // len(rows),
        "rows": [each.model_dump(mode="json") for each in rows],
        "files": file_digests(rows),
    }


def _difference(found: Any, planned: Planned) -> str:
    """Return how the comparison in a directory differs from this one; empty when they are equal.

    Raises:
        ValueError: the text describes no comparison.
    """
    mine = _rows_of(planned)
    try:
        told: dict[str, tuple[Any, Any]] = {
            "repetitions": (found["repetitions"], len(planned) // len(mine))
        }
        # Checked, so that a field that a later version adds has its default in an older file.
        theirs = [Scenario.check(row, ASKED) for row in found["rows"]]
    except (KeyError, TypeError):
        raise ValueError(f"{ASKED} is not what a comparison was asked for") from None
    names = [", ".join(f"{row.transport} {row.mode}" for row in each) for each in (theirs, mine)]
    told["rows"] = (names[0], names[1])
    for old, new in zip(theirs, mine, strict=True) if names[0] == names[1] else ():
        told |= differing_fields(old, new)
    differ = [f"{name} {old}, here {new}" for name, (old, new) in told.items() if old != new]
    before = found.get("files", {})  # older comparisons did not keep them
    differ += [
        f"{path} has changed since its runs"
        for path, digest in file_digests(mine).items()
        if before.get(path, digest) != digest
    ]
    return "; ".join(differ[:MAX_LISTED]) + ("; ..." if len(differ) > MAX_LISTED else "")


ASKED = "comparison.json"
MAX_LISTED = 5
"""The most differences that a message lists; with more it is another comparison."""


def run_directory(root: Path, repetition: int, scenario: Scenario, variant: str = "") -> Path:
    """Return the directory in which one run of a comparison is kept."""
    slug = re.sub("[^a-z0-9.]+", "-", variant.lower())
    return root / "-".join(filter(None, (scenario.label, slug, str(repetition))))


def variants(scenarios: Sequence[Scenario]) -> list[str]:
    """Return what sets each row apart from others of its transport and mode; empty if nothing does.

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
        found.append(", ".join(_setting_text(key, mine[key]) for key in told))
    return found


def differing_fields(first: Scenario, second: Scenario) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two scenarios differ, with both values, by their paths."""
    old, new = (_flat(each.model_dump(mode="json")) for each in (first, second))
    fields = dict.fromkeys((*old, *new))
    return {
        each: (old.get(each), new.get(each)) for each in fields if old.get(each) != new.get(each)
    }


def _setting_text(field: str, value: Any) -> str:
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return TELLING.get(field, f"{field} {{}}").format(shown)


TELLING = {"leg": "leg {}", "pdcp.split": "{}", "pdcp.t_reordering_ms": "t-Reordering {} ms"}
"""The fields that tell rows apart before all others, each with its words."""


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the fields of a scenario by their paths; a list of numbers or names is one field."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{before}{name}"
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            found |= _flat({str(place): each for place, each in enumerate(value)}, f"{path}.")
        else:
            found |= _flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


def finished_runs(
    planned: Planned, root: Path, retry_disturbed: int = Retries.disturbed
) -> dict[int, RunResult]:
    """Return the results of the runs that are done, by their place in the plan.

    A run that the machine disturbed is done when it was repeated as often as is allowed.
    """
    found = {}
    for place, directory in enumerate(_directories(planned, root)):
        with suppress(OSError, TypeError, ValueError):
            result = replace(RunResult.load(directory), directory=str(directory))
            repeats = len(result.details.get(ATTEMPTS["disturbed"], ()))
            if result.status != "disturbed" or repeats >= retry_disturbed:
                found[place] = result
    return found


def run_all(
    planned: Planned,
    root: Path,
    execute: Execute,
    jobs: int = 1,
    retry_disturbed: int = Retries.disturbed,
    *,
    done: Mapping[int, RunResult] = MappingProxyType({}),
) -> Iterator[RunResult]:
    """Run scenarios, each in its directory below `root`; yield the results in order, as they come.

    Runs that are `done` (by their place) are not run again. An error in one run becomes its result,
    failed, and the others go on. With more than one of `jobs`, `execute` is a function of a module,
    as processes import it.
    """
    with suppress(OSError):  # then no run can be written either, each says why
        root.mkdir(parents=True, exist_ok=True)
        data_model.write_version(root)
    directories = _directories(planned, root)
    own = own_things() if jobs > 1 else {}  # which other processes have to be told of
    missing = [
        (execute, with_own_plugins(scenario, own), directory, retry_disturbed)
        for place, ((_, scenario), directory) in enumerate(zip(planned, directories, strict=True))
        if place not in done
    ]
    outcomes = _in_order(missing, jobs) if jobs > 1 else (attempt(*each) for each in missing)
    named = _variants_of_runs(planned)
    for place, (repetition, scenario) in enumerate(planned):
        outcome = done[place] if place in done else next(outcomes)
        yield kept(outcome, scenario, directories[place], repetition, named[place])


def _directories(planned: Planned, root: Path) -> list[Path]:
    return [
        run_directory(root, repetition, scenario, variant)
        for (repetition, scenario), variant in zip(planned, _variants_of_runs(planned), strict=True)
    ]


def _variants_of_runs(planned: Planned) -> list[str]:
    """Return each run's variant: that of its row, as every repetition has the rows of the first."""
    return list(itertools.islice(itertools.cycle(variants(_rows_of(planned))), len(planned)))


def _rows_of(planned: Planned) -> list[Scenario]:
    return [scenario for repetition, scenario in planned if repetition == planned[0][0]]


def attempt(
    execute: Execute, scenario: Scenario, directory: Path, retry_disturbed: int = 0
) -> RunResult:
    """Run a scenario, and again if the machine disturbed it; an unexpected error fails the run."""

    def once() -> RunResult:
        try:
            return execute(scenario, directory)
        except Exception as error:
            return crashed(scenario, directory, error)

    return tried(once, directory, Retries(disturbed=retry_disturbed))


def _in_order(arguments: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """Yield the outcomes of the runs in the order of the arguments."""
    early: dict[int, Any] = {}
    awaited = 0
    for place, outcome in in_processes(attempt, arguments, jobs):
        early[place] = outcome
        while awaited in early:
            yield early.pop(awaited)
            awaited += 1


def kept(
    outcome: Any, scenario: Scenario, directory: Path, repetition: int, variant: str
) -> RunResult:
    """Return the result that the outcome of `attempt` in a process is, and save it.

    A result that cannot be saved becomes a failed one.
    """
    result = replace(_of_row(scenario, directory, outcome), repetition=repetition, variant=variant)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        result.save(directory)
    except OSError as error:
        reason = result.reason or f"its result cannot be written: {error.strerror}"
        return replace(result.without_numbers("failed", reason), leg_bytes=None)
    return result


def _of_row(scenario: Scenario, directory: Path, outcome: Any) -> RunResult:
    if isinstance(outcome, RunResult):
        return outcome
    if isinstance(outcome, Killed):
        return replace(blank_result(scenario, directory), reason=outcome.reason)
    return crashed(scenario, directory, outcome)  # what was sent back could not be
