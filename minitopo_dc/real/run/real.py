"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.real.machine.machine import facts, probe_kernel
from minitopo_dc.real.network.cpu_limit import cpu_limit, cpu_limit_obstacle
from minitopo_dc.real.network.elements import stop_all
from minitopo_dc.real.network.leftovers import ending_leftovers
from minitopo_dc.real.network.testbed import Testbed, ipv6_obstacle, testbed
from minitopo_dc.real.run.transfers import make_jobs, run_flows
from minitopo_dc.real.run.watch import Watch
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import runners_of
from minitopo_dc.runs.perform import Measured, perform
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.settings import LegSettings
from minitopo_dc.workloads import Measurement, Ping

HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""Of IP (RFC 791, RFC 8200) and of an ICMP echo (RFC 792, RFC 4443), by IP version."""
DATA_BYTES = 16
"""`runners.icmp_client.DATA_BYTES`; a test keeps them equal."""


KERNEL_QUEUES = ("sch_tbf", "sch_netem")
"""The probes of the kernel's queues that legs of `backend: kernel` are made of."""
Disturb = Callable[[Watch], AbstractContextManager[object]]
"""Disturbs a run's processes on purpose, from the elements' start to the transfers' end."""


def run_real(
    scenario: Scenario, directory: Path, *, disturb: Disturb = lambda _: nullcontext()
) -> RunResult:
    """Run a scenario that was checked (`perform`).

    Raises:
        OSError: `directory` cannot be written.
    """
    cores: dict[str, str] = {}
    return perform(
        scenario,
        directory,
        facts=facts(),
        lacking=lambda: lacking(scenario),
        measure=lambda each: _measure(each, directory, disturb, cores),
        details=lambda _: cores,
    )


def lacking(scenario: Scenario) -> str | None:
    """Return what this machine lacks for a scenario, beside what transports need, or None."""
    reason = ipv6_obstacle(scenario)
    if reason is None and scenario.real.client_cpu_percent is not None:
        missing = cpu_limit_obstacle()
        reason = missing and f"real.client_cpu_percent: {missing}"
    if reason is None and scenario.real.backend == "kernel":
        refused = ((name, probe_kernel()[name]) for name in KERNEL_QUEUES)
        reason = next(
            (f"real.backend: kernel: {name}: {why}" for name, why in refused if why), None
        )
        reason = reason and f"{reason}; allowed: backend: user"
    return reason


def _measure(
    scenario: Scenario, directory: Path, disturb: Disturb, cores: dict[str, str]
) -> Measured:
    """Run the flows between fresh hosts; `cores` gets which cores carried their packets."""
    with testbed(scenario, directory) as bed, Watch() as watch:
        for element in bed.elements:
            watch.add(element.settings.host, element.pid)
        with _ending_leftovers(scenario, bed), ExitStack() as disturbed:
            measurements = _transfer(
                scenario, directory, bed, watch, lambda: disturbed.enter_context(disturb(watch))
            )
        summaries = stop_all(bed.elements)
    cores["core"] = _core_name(summaries)
    limited = ("client",) if scenario.real.client_cpu_percent is not None else ()
    return Measured(
        measurements,
        [leg["delivered_bytes"] for leg in summaries[0]["legs"].values()],
        watch.judge(measurements, summaries, limited=limited),
    )


def _core_name(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return which core the elements had, and why if one of them was not native."""
    reasons = [each["core_reason"] for each in summaries if each["core"] != "native"]
    return f"python: {reasons[0]}" if reasons else "native"


def _ending_leftovers(scenario: Scenario, bed: Testbed) -> AbstractContextManager[None]:
    """Give a block that ends users' own programs; those of this project leave nothing."""
    if any(runner.foreign for runner in runners_of(scenario)):
        return ending_leftovers((bed.hosts.server, bed.hosts.client))
    return nullcontext()


def _transfer(
    scenario: Scenario,
    directory: Path,
    bed: Testbed,
    watch: Watch,
    on_start: Callable[[], object],
) -> list[Measurement]:
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

    def start() -> None:
        bed.start()
        on_start()

    share = scenario.real.client_cpu_percent
    with nullcontext() if share is None else cpu_limit(share) as cpu:
        measurements = run_flows(
            jobs,
            bed.hosts.server,
            bed.hosts.client,
            directory / "client-rate.csv",
            interval_ms=scenario.statistics_ms,
            on_start=start,
            check=bed.check,
            watch=watch,
            cpu=cpu,
        )
    return [with_serialisation(scenario, each) for each in measurements]


def with_serialisation(scenario: Scenario, measured: Measurement) -> Measurement:
    """Return the measurement with `serialisation_ms` in each round trip of workload `ping`.

    It is the time of an echo and its answer on all links of the pair, which a token bucket that
    starts full (tbf's) does not take. It is None where a rate varies, and with legs of the kernel.
    """
    if not isinstance(scenario.workload, Ping):
        return measured
    trips = [
        {**trip, "serialisation_ms": _serialisation_ms(scenario, trip)}
        for trip in measured.details["round_trips"]
    ]
    return replace(measured, details={**measured.details, "round_trips": trips})


def _serialisation_ms(scenario: Scenario, trip: Mapping[str, Any]) -> float | None:
    links = [scenario.legs[trip["leg"] - 1]]
    if scenario.real.backhaul:
        links.append(scenario.real.backhaul[trip["backhaul"] - 1])
    rates = [_constant_rate(way) for each in links for way in (each.downlink, each.uplink)]
    known = [rate for rate in rates if rate is not None]
    if scenario.real.backend == "kernel" or len(known) < len(rates):
        return None
    bits = 8 * (HEADER_BYTES[scenario.ip_version] + DATA_BYTES)
    return round(sum(bits / rate / 1e3 for rate in known), 4)


def _constant_rate(link: LegSettings) -> float | None:
    """Return the rate in Mbit/s, None if it varies."""
    varies = any(change.rate_mbps is not None for change in link.changes)
    return None if varies else link.rate_mbps
