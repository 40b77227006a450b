"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import client_address, server_address
from minitopo_dc.emulation.downloads import download, make_jobs
from minitopo_dc.emulation.elements import ElementFailedError
from minitopo_dc.emulation.machine import save_facts
from minitopo_dc.emulation.testbed import Testbed, testbed, why_no_ipv6
from minitopo_dc.outcome import (
    blank_result,
    check_real,
    chosen_runners,
    judge,
    why_unsupported,
)
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario
from runners.base import Measurement, Runner, TransferFailed


def run_real(scenario: Scenario, directory: Path) -> RunResult:
    """Run a scenario and keep everything about it in ``directory``, which is made if need be.

    Failures of the run (an element died, bytes are missing, one path only) are in the result.

    Raises:
        SettingsError: the scenario is wrong; the message says where.
        OSError: ``directory`` cannot be written.
    """
    runners = chosen_runners(scenario)
    check_real(scenario)
    directory.mkdir(parents=True, exist_ok=True)
    scenario.save(directory / "scenario.yaml")
    save_facts(directory)
    result = _attempt(runners, scenario, directory)
    result.save(directory)
    return result


def _attempt(runners: Sequence[Runner], scenario: Scenario, directory: Path) -> RunResult:
    """The result, whatever happens to the run."""
    blank = blank_result(scenario, directory, "real")
    reason = why_no_ipv6(scenario) or why_unsupported(scenario, runners)
    if reason is not None:
        return replace(blank, status="unsupported", reason=reason)
    try:
        measurements, gnb = _transfer(scenario, directory)
        leg_bytes = [leg["delivered_bytes"] for leg in gnb["legs"].values()]
        return judge(blank, scenario, measurements, leg_bytes)
    except (TransferFailed, ElementFailedError) as failure:
        return replace(blank, reason=str(failure))


def _transfer(scenario: Scenario, directory: Path) -> tuple[list[Measurement], Mapping[str, Any]]:
    """Run the flows between fresh hosts; return what each measured and gnb's summary."""
    with testbed(scenario, directory) as bed:
        measurements = _download(scenario, directory, bed)
        summaries = [element.stop() for element in bed.elements]
    return measurements, summaries[0]


def _download(scenario: Scenario, directory: Path, bed: Testbed) -> list[Measurement]:
    version = scenario.ip_version
    server = server_address(version=version)
    jobs = make_jobs(scenario, directory, server, lambda leg: client_address(leg, version))
    return download(
        jobs,
        bed.hosts.server,
        bed.hosts.client,
        bed.elements,
        directory / "client-rate.csv",
        interval_ms=scenario.statistics_ms,
        on_start=bed.start,
    )
