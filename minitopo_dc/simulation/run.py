"""One scenario on the virtual clock: the twin of `minitopo_dc.emulation.real`."""

from __future__ import annotations

import gc
import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from minitopo_dc.outcome import (
    blank_result,
    check_virtual,
    chosen_runners,
    ok_result,
    why_unsupported,
)
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.simulation.testbed import Testbed
from runners.base import Measurement, Runner

PACKAGES = ("minitopo-dc", "aioquic", "cryptography", "pydantic")


def run_virtual(scenario: Scenario, directory: Path) -> RunResult:
    """Run a scenario and keep everything about it in ``directory``, which is made if need be.

    Failures of the run are in the result. The same scenario gives the same result, always.

    Raises:
        SettingsError: the scenario is wrong; the message says where.
        OSError: ``directory`` cannot be written.
    """
    runners = chosen_runners(scenario)
    check_virtual(scenario)
    directory.mkdir(parents=True, exist_ok=True)
    scenario.save(directory / "scenario.yaml")
    (directory / "environment.json").write_text(json.dumps(_facts(), indent=1), encoding="utf-8")
    result = _attempt(runners, scenario, directory)
    result.save(directory)
    return result


def _facts() -> dict[str, Any]:
    """What the numbers may depend on: versions, but no machine."""
    return {
        "clock": "virtual",
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
    }


def _attempt(runners: Sequence[Runner], scenario: Scenario, directory: Path) -> RunResult:
    blank = blank_result(scenario, directory, "virtual")
    reason = _unsupported(runners, scenario)
    if reason is not None:
        return replace(blank, status="unsupported", reason=reason)
    testbed = Testbed(scenario, directory)
    with _no_collector():
        testbed.run()
    failures = [each.failure() for each in testbed.connections]
    reason = "; ".join(failure for failure in failures if failure is not None)
    if reason:
        return replace(blank, reason=reason)
    return _judge(blank, scenario, testbed)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without cyclic garbage collection, which costs 5 % of a run and finds nothing in it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _unsupported(runners: Sequence[Runner], scenario: Scenario) -> str | None:
    for runner in runners:
        if runner.name != "quic":
            return (
                f"transport {runner.name} needs the real clock (Linux, root, Mininet): "
                "the virtual clock runs quic only"
            )
    return why_unsupported(scenario, runners)


def _judge(blank: RunResult, scenario: Scenario, testbed: Testbed) -> RunResult:
    reports = [each.report() for each in testbed.connections]
    measurements = [
        Measurement(
            bytes_received=report["bytes_received"],
            completion_s=scenario.duration_s or report["completion_s"],
            details=report,
        )
        for report in reports
    ]
    return ok_result(blank, scenario, measurements, testbed.gnb.delivered_bytes())
