"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import client_address, server_address
from minitopo_dc.emulation.downloads import make_jobs
from minitopo_dc.emulation.elements import ElementFailedError
from minitopo_dc.emulation.hosts import EmulatedHost
from minitopo_dc.emulation.machine import facts, probe_kernel
from minitopo_dc.emulation.sampler import Sampler
from minitopo_dc.emulation.testbed import Testbed, testbed
from minitopo_dc.outcome import (
    blank_result,
    check_real,
    chosen_runners,
    ok_result,
    why_unsupported,
)
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario
from runners.base import Measurement, Runner, TransferFailed
from runners.session import run_transfers

MINIMUM_PATH_BYTES = 15_000
"""A path that carried less than ten full packets carried a handshake, not data."""


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
    (directory / "environment.json").write_text(json.dumps(facts(), indent=1), encoding="utf-8")
    result = _attempt(runners, scenario, directory)
    result.save(directory)
    return result


def _no_ipv6(scenario: Scenario) -> str | None:
    reason = probe_kernel()["IPv6"] if scenario.ip_version == 6 else ""
    return f"IPv6 does not work here: {reason} (minitopo-dc check has a remedy)" if reason else None


def _attempt(runners: Sequence[Runner], scenario: Scenario, directory: Path) -> RunResult:
    """The result, whatever happens to the run."""
    blank = blank_result(scenario, directory, "real")
    reason = _no_ipv6(scenario) or why_unsupported(scenario, runners)
    if reason is not None:
        return replace(blank, status="unsupported", reason=reason)
    try:
        measurements, gnb = _transfer(scenario, directory)
        return _judge(blank, scenario, measurements, gnb)
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
    client = _Abortable(bed.hosts.client)
    with Sampler(client, bed.elements, scenario.statistics_ms, client.abort) as sampler:

        def start() -> None:
            bed.start()
            sampler.start()

        try:
            return run_transfers(jobs, bed.hosts.server, client, on_start=start)
        except TransferFailed:
            for element in bed.elements:
                element.check()  # a dead element is the better reason
            raise
        finally:
            sampler.save(directory / "client-rate.csv")


class _Abortable(EmulatedHost):
    """The client's host, whose processes can be ended from another thread."""

    def __init__(self, host: EmulatedHost) -> None:
        self.__dict__ |= host.__dict__
        self._processes: list[subprocess.Popen[bytes]] = []

    def popen(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process, and remember it."""
        self._processes.append(super().popen(*arguments, **options))
        return self._processes[-1]

    def abort(self) -> None:
        """End what was started: the transfers fail at once instead of at their timeout."""
        for process in self._processes:
            process.kill()


def _judge(
    blank: RunResult,
    scenario: Scenario,
    measurements: Sequence[Measurement],
    gnb: Mapping[str, Any],
) -> RunResult:
    """Turn measurements into a result, unless a path was not used."""
    leg_bytes = [leg["delivered_bytes"] for leg in gnb["legs"].values()]
    if scenario.mode == "multipath" and min(leg_bytes) < MINIMUM_PATH_BYTES:
        return replace(
            blank, reason=f"a leg carried no data: bytes per leg {leg_bytes}", leg_bytes=leg_bytes
        )
    return ok_result(blank, scenario, measurements, leg_bytes)
