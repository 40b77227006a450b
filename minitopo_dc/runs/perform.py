"""The steps of a run that both clocks share, from its scenario to its results directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.fields import SettingsError
from minitopo_dc.files import write_json, write_version
from minitopo_dc.results.judge import blank_result, judge
from minitopo_dc.results.kept_scenario import keep_traces, save_as_run, trace_paths
from minitopo_dc.results.run_result import CAUTIONS, RunResult
from minitopo_dc.results.trust import with_trust
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runs.check import obstacle_here
from minitopo_dc.runs.needs import cautions
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.workloads import Measurement


class Measured(NamedTuple):
    """The measurements of a run: those of each flow, and the bytes of each leg."""

    measurements: Sequence[Measurement]
    """The measurement of each flow."""
    leg_bytes: list[int]
    """The IP bytes that each leg delivered downlink."""
    trust: Mapping[str, Any] | None = None
    """The verdict on the machine's part in it; None: it had none, as on the virtual clock."""


class RunUnsupportedError(MinitopoDcError, RuntimeError):
    """Error: this machine turns out not to be able to run the scenario; the text says why."""


class RunFailedError(MinitopoDcError, RuntimeError):
    """A failure of the testbed, which makes the run's numbers meaningless; the message names it."""


def perform(
    scenario: Scenario,
    directory: Path,
    *,
    facts: Mapping[str, Any],
    obstacle: Callable[[Scenario], str | None],
    measure: Callable[[Scenario, Path, dict[str, Any]], Measured],
) -> RunResult:
    """Run a scenario that was checked, and keep its settings, traces, environment, logs and result.

    What is run is the resolved scenario (`resolve_scenario`), which is kept beside the given one
    where they differ.

    Args:
        scenario: a scenario that `check_scenario` has accepted.
        directory: where the run is kept; made if need be.
        facts: what the numbers may depend on, for `environment.json`.
        obstacle: returns what the machine lacks for the scenario, beside the transports' tools.
        measure: runs the flows of the scenario as it is run; the dictionary gets what is to be
            known of a run that fails, too, for the result's `details`.

    Returns:
        The result, whatever happens to the run: failures of the run are in it.

    Raises:
        OSError: `directory` cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    write_version(directory)
    scenario.save(directory / "scenario.yaml")
    write_json(directory / "environment.json", facts, synced=False)
    run = resolve_scenario(scenario)
    if run is not scenario:
        save_as_run(scenario, run, directory)
    keep_traces(trace_paths(scenario), directory)
    result = blank_result(run, directory)
    if (reason := obstacle(scenario) or obstacle_here(run)) is not None:
        result = replace(result, status="unsupported", reason=reason)
    else:
        result = outcome(result, run, partial(measure, run, directory))
    result.save(directory)
    return result


def outcome(
    blank: RunResult, run: Scenario, measure: Callable[[dict[str, Any]], Measured]
) -> RunResult:
    """Return what the flows of a run came to, or why they came to nothing."""
    result, more = blank, dict[str, Any]()
    try:
        measured = measure(more)
        result = judge(blank, run, measured.measurements, measured.leg_bytes)
        lines = cautions(run)
        if lines and result.status == "ok":
            result = replace(result, details={**result.details, CAUTIONS: lines})
        if measured.trust is not None:
            result = with_trust(result, measured.trust)
    except RunUnsupportedError as lack:
        return replace(result, status="unsupported", reason=str(lack))
    except (TransferFailed, RunFailedError) as failure:
        result = replace(result, reason=str(failure))
    return replace(result, details={**result.details, **more})


MAX_DISTURBED: Final = 10
"""The most repetitions of a disturbed run: a machine that disturbs eleven in a row will disturb the
twelfth, too."""


def check_retries(disturbed: int, name: str = "retry_disturbed") -> None:
    """Refuse a number of repetitions that makes no sense.

    Raises:
        SettingsError: the number is out of range; the message says what is allowed.
    """
    if not 0 <= disturbed <= MAX_DISTURBED:
        raise SettingsError(f"{name}: {disturbed}; allowed: 0 to {MAX_DISTURBED}")


@dataclass(frozen=True)
class Retries:
    """How often a failed or disturbed run is tried again."""

    failed: int = 0
    """How often a failed run is tried again: a failure has a cause that a second attempt seldom
    removes."""
    disturbed: int = 1
    """How often a disturbed run is tried again: most disturbances pass, and what disturbs a second
    run in a row lasts."""
