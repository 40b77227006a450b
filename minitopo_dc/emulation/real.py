"""One scenario on the real clock: hosts, elements, a transfer, and a result that can be trusted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import SERVER_ADDRESS, SERVER_PORT
from minitopo_dc.emulation.elements import ElementFailedError
from minitopo_dc.emulation.hosts import EmulatedHost
from minitopo_dc.emulation.preflight import facts
from minitopo_dc.emulation.sampler import Sampler
from minitopo_dc.emulation.testbed import Testbed, testbed
from minitopo_dc.outcome import blank_result, check_real, chosen_runner, ok_result
from minitopo_dc.plan import client_addresses
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario
from runners.base import Measurement, Runner, Transfer, TransferFailed
from runners.certificate import make_certificate
from runners.session import run_transfer

MINIMUM_PATH_BYTES = 15_000
"""A path that carried less than ten full packets carried a handshake, not data."""


def run_real(scenario: Scenario, directory: Path) -> RunResult:
    """Run a scenario and keep everything about it in ``directory``, which is made if need be.

    Failures of the run (an element died, bytes are missing, one path only) are in the result.

    Raises:
        SettingsError: the scenario is wrong; the message says where.
        OSError: ``directory`` cannot be written.
    """
    runner = chosen_runner(scenario)
    check_real(scenario)
    directory.mkdir(parents=True, exist_ok=True)
    scenario.save(directory / "scenario.yaml")
    (directory / "environment.json").write_text(json.dumps(facts(), indent=1), encoding="utf-8")
    result = _attempt(runner, scenario, directory)
    result.save(directory)
    return result


def _attempt(runner: Runner, scenario: Scenario, directory: Path) -> RunResult:
    """The result, whatever happens to the run."""
    blank = blank_result(scenario, directory, "real")
    reason = runner.unsupported(scenario.congestion_control)
    if reason is not None:
        return replace(blank, status="unsupported", reason=reason)
    try:
        measurement, summaries = _transfer(runner, scenario, directory)
        return _judge(blank, scenario, measurement, summaries)
    except (TransferFailed, ElementFailedError) as failure:
        return replace(blank, reason=str(failure))


def _transfer(
    runner: Runner, scenario: Scenario, directory: Path
) -> tuple[Measurement, Mapping[str, Any]]:
    """Run the transfer between fresh hosts; return what it measured and gnb's summary."""
    with testbed(scenario, directory) as bed:
        measurement = _download(runner, scenario, directory, bed)
        summaries = [element.stop() for element in bed.elements]
    return measurement, summaries[0]


def _download(runner: Runner, scenario: Scenario, directory: Path, bed: Testbed) -> Measurement:
    client = _Abortable(bed.hosts.client)
    with Sampler(client, bed.elements, scenario.statistics_ms, client.abort) as sampler:

        def start() -> None:
            bed.start()
            sampler.start()

        try:
            return run_transfer(
                runner, _describe(scenario, directory), bed.hosts.server, client, on_start=start
            )
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
        """End what was started: the transfer fails at once instead of at its timeout."""
        for process in self._processes:
            process.kill()


def _describe(scenario: Scenario, directory: Path) -> Transfer:
    made = make_certificate(directory, [SERVER_ADDRESS])
    return Transfer(
        size_bytes=scenario.size_bytes,
        congestion_control=scenario.congestion_control,
        server_address=SERVER_ADDRESS,
        port=SERVER_PORT,
        client_addresses=client_addresses(scenario),
        directory=directory,
        certificate=made.certificate,
        key=made.key,
        timeout_s=scenario.timeout_s,
        options=scenario.options,
    )


def _judge(
    blank: RunResult, scenario: Scenario, measurement: Measurement, gnb: Mapping[str, Any]
) -> RunResult:
    """Turn a measurement into a result, unless bytes are missing or a path was not used."""
    leg_bytes = [leg["delivered_bytes"] for leg in gnb["legs"].values()]
    if measurement.bytes_received != scenario.size_bytes:
        return replace(
            blank, reason=f"received {measurement.bytes_received} of {scenario.size_bytes} bytes"
        )
    if scenario.mode == "multipath" and min(leg_bytes) < MINIMUM_PATH_BYTES:
        return replace(
            blank, reason=f"a leg carried no data: bytes per leg {leg_bytes}", leg_bytes=leg_bytes
        )
    return ok_result(
        blank,
        scenario,
        size_bytes=scenario.size_bytes,
        seconds=measurement.completion_s,
        leg_bytes=leg_bytes,
        details=measurement.details,
    )
