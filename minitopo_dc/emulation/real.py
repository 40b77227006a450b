"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from minitopo_dc.emulation.cpu_limit import cpu_limit, why_no_cpu_limit
from minitopo_dc.emulation.echoes import with_serialisation
from minitopo_dc.emulation.elements import stop_all
from minitopo_dc.emulation.leftovers import no_leftovers
from minitopo_dc.emulation.machine import facts
from minitopo_dc.emulation.testbed import Testbed, testbed, why_no_ipv6
from minitopo_dc.emulation.transfers import make_jobs, run_flows
from minitopo_dc.run.addresses import client_address, server_address
from minitopo_dc.run.check import runners_of
from minitopo_dc.run.perform import Measured, perform
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement


def run_real(scenario: Scenario, directory: Path) -> RunResult:
    """Run a scenario that was checked (`perform`).

    Raises:
        OSError: `directory` cannot be written.
    """
    return perform(
        scenario,
        directory,
        facts=facts(),
        lacking=lambda: _lacking(scenario),
        measure=lambda each: _measure(each, directory),
    )


def _lacking(scenario: Scenario) -> str | None:
    """What this machine lacks, as a reason."""
    reason = why_no_ipv6(scenario)
    if reason is None and scenario.real.client_cpu_percent is not None:
        missing = why_no_cpu_limit()
        reason = missing and f"real.client_cpu_percent: {missing}"
    return reason


def _measure(scenario: Scenario, directory: Path) -> Measured:
    """Run the flows between fresh hosts."""
    with testbed(scenario, directory) as bed:
        with _no_leftovers(scenario, bed):
            measurements = _transfer(scenario, directory, bed)
        summaries = stop_all(bed.elements)
    return measurements, [leg["delivered_bytes"] for leg in summaries[0]["legs"].values()]


def _no_leftovers(scenario: Scenario, bed: Testbed) -> AbstractContextManager[None]:
    """Of the user's own programs; those of this project leave nothing behind."""
    if any(runner.foreign for runner in runners_of(scenario)):
        return no_leftovers((bed.hosts.server, bed.hosts.client))
    return nullcontext()


def _transfer(scenario: Scenario, directory: Path, bed: Testbed) -> list[Measurement]:
    version = scenario.ip_version
    jobs = make_jobs(
        scenario,
        directory,
        servers=[
            server_address(link, version)
            for link in range(1, max(1, len(scenario.real.backhaul)) + 1)
        ],
        client=lambda leg: client_address(leg, version),
    )
    share = scenario.real.client_cpu_percent
    with nullcontext() if share is None else cpu_limit(share) as cpu:
        measurements = run_flows(
            jobs,
            bed.hosts.server,
            bed.hosts.client,
            directory / "client-rate.csv",
            interval_ms=scenario.statistics_ms,
            on_start=bed.start,
            check=bed.check,
            cpu=cpu,
        )
    return [with_serialisation(scenario, each) for each in measurements]
