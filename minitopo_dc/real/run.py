"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from minitopo_dc.files import CsvFile
from minitopo_dc.linux_guest import proxy_obstacle
from minitopo_dc.pool import repeated
from minitopo_dc.real.elements import Testbed, ipv6_obstacle, stop_all, testbed
from minitopo_dc.real.hosts import EmulatedHost, ending_leftovers
from minitopo_dc.real.machine import facts, probe_kernel, real_obstacle
from minitopo_dc.real.watch import Watch
from minitopo_dc.results.run_result import RunResult, flow_directory
from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.icmp import DATA_BYTES
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.runs.element_settings import client_legs
from minitopo_dc.runs.perform import Measured, RunFailedError, perform
from minitopo_dc.runs.script_plugins import registered_in_script, with_script_plugins
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import (
    SERVER_PORT,
    client_address,
    proxy_address,
    server_address,
)
from minitopo_dc.workloads import Measurement, Ping


def make_jobs(
    scenario: Scenario,
    directory: Path,
    *,
    servers: Sequence[str],
    client: Callable[[int], str],
    proxy: str | None = None,
) -> list[Job]:
    """Return one transfer for each flow, with a port of its own.

    Several flows keep their files in `flow-1`, `flow-2`, ... below `directory`.

    Args:
        scenario: what is wanted; `check_scenario` has accepted it.
        directory: of the run.
        servers: its addresses; flows use the first, workload `ping` all.
        client: gives the client's address on a leg (1, 2, ...).
        proxy: the address of proxies on the UPF.
    """
    made = make_certificate(directory, servers[:1])
    jobs = []
    for index, flow in enumerate(scenario.resolved_flows):
        kept = flow_directory(directory, index + 1, alone=flow.number is None)
        transfer = Transfer(
            workload=flow.workload,
            congestion_control=flow.congestion_control,
            server_address=servers[0],
            more_server_addresses=tuple(servers[1:]),
            port=SERVER_PORT + index,
            client_addresses=tuple(map(client, client_legs(flow, len(scenario.legs)))),
            directory=kept,
            certificate=made.certificate,
            key=made.key,
            timeout_s=scenario.timeout_s + (flow.workload.lasts_s or 0),
            options=flow.options,
            plugins=tuple(scenario.plugins),
            paths=flow.paths,
            leg_addresses=tuple(client(leg) for leg in range(1, len(scenario.legs) + 1)),
            proxy_address=proxy if flow.proxied else None,
        )
        jobs.append(Job(get_runner(flow.transport), transfer, kept.name if scenario.flows else ""))
    return jobs


def run_flows(
    jobs: Sequence[Job],
    server: EmulatedHost,
    client: EmulatedHost,
    rate_file: Path,
    *,
    interval_ms: int,
    on_start: Callable[[], None],
    check: Callable[[], None],
    watch: Watch,
    proxy: EmulatedHost | None = None,
) -> list[Measurement]:
    """Run the transfers; `rate_file` gets what reached the client, in intervals.

    `on_start` is called when all servers listen; `check` now and then from then on, to raise
    RunFailedError when the testbed is not whole; `watch` learns of servers, proxies and clients;
    `proxy` is the host of proxies, if there are any.

    Raises:
        TransferFailed: bytes are missing, a process failed, the time was over.
        RunFailedError: `check` did, which is then the better reason.
    """
    clients = WatchedHost(client, watch)
    samples: list[tuple[float, int]] = []  # s and IP bytes received since the first one

    def sample() -> None:
        """Take a sample; end the clients at once, not at their timeout, when all is in vain."""
        try:
            samples.append((time.monotonic(), clients.received_bytes()))
            check()
        except (OSError, RunFailedError):  # OSError: the client's host has gone, and its /proc/PID
            clients.abort()

    with CsvFile(rate_file, ["time_s", "received_bytes"]) as file, ExitStack() as sampling:

        def start() -> None:
            watch.transfers_begin()
            on_start()
            sampling.enter_context(repeated(sample, interval_ms / 1000))

        try:
            return run_transfers(
                jobs,
                WatchedHost(server, watch),
                clients,
                on_start=start,
                proxy=proxy and WatchedHost(proxy, watch),
            )
        except TransferFailed:
            sampling.close()
            check()
            raise
        finally:
            sampling.close()
            begin, before = samples[0] if samples else (0.0, 0)
            file.add_all((f"{now - begin:.4f}", count - before) for now, count in samples)


class WatchedHost(EmulatedHost):
    """A host whose programs are watched, and can be ended from another thread.

    Processes that answer by a pipe are none of them: they set the host up, or back, which an abort
    must not keep them from.
    """

    def __init__(self, host: EmulatedHost, watch: Watch) -> None:
        self.__dict__ |= host.__dict__
        self._watch = watch
        self._programs: list[subprocess.Popen[bytes]] = []
        self._aborted = False

    def popen(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process, and watch it unless it answers by a pipe."""
        process = super().popen(*arguments, **options)
        if options.get("stdout") != subprocess.PIPE:
            self._watch.add(self.name, process.pid)
            self._programs.append(process)
            if self._aborted:  # `abort` may have gone through the list before
                process.kill()
        return process

    def abort(self) -> None:
        """End all programs, also those that are started from now on.

        So the transfers fail at once instead of at their timeout.
        """
        self._aborted = True
        for process in self._programs:
            process.kill()


HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""Of IP (RFC 791, RFC 8200) and of an ICMP echo (RFC 792, RFC 4443), by IP version."""
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
    measure = partial(_measure, disturb)
    # The elements are processes of their own, which load what a script has registered.
    scenario = with_script_plugins(scenario, registered_in_script())
    return perform(scenario, directory, facts=facts(), obstacle=machine_obstacle, measure=measure)


def machine_obstacle(scenario: Scenario) -> str | None:
    """Return what this machine lacks for a scenario, beside what transports need, or None."""
    reason = real_obstacle() or ipv6_obstacle(scenario)
    if reason is None and scenario.is_proxied:
        reason = proxy_obstacle()
    for name in KERNEL_QUEUES if scenario.real.backend == "kernel" else ():
        if reason is None and (why := probe_kernel()[name]):
            reason = f"real.backend: kernel: {name}: {why}; allowed: backend: user"
    return reason


def _measure(
    disturb: Disturb, scenario: Scenario, directory: Path, details: dict[str, Any]
) -> Measured:
    """Run the flows between fresh hosts; `details` gets which core carried their packets."""
    with testbed(scenario, directory) as bed, Watch() as watch:
        for element in bed.elements:
            watch.add(element.settings.host, element.pid)
        with ExitStack() as stack:
            if any(get_runner(flow.transport).foreign for flow in scenario.resolved_flows):
                # Users' own programs; those of this project leave nothing.
                stack.enter_context(ending_leftovers((bed.hosts.server, bed.hosts.client)))

            def start() -> None:
                bed.start()
                stack.enter_context(disturb(watch))

            measurements = _transfer(scenario, directory, bed, watch, start)
        summaries = stop_all(bed.elements)
    reasons = [summary["core_reason"] for summary in summaries if summary["core"] != "native"]
    details["core"] = f"python: {reasons[0]}" if reasons else "native"
    # Those of links between router and server come behind gnb's and ue's.
    elements = dict(zip(("downlink", "uplink"), summaries, strict=False))
    legs = [elements[way]["legs"].values() for way in scenario.loads]
    carried = [[leg["delivered_bytes"] for leg in of_way] for of_way in legs]
    return Measured(
        measurements,
        [sum(leg) for leg in zip(*carried, strict=True)],
        watch.judge(measurements, summaries),
    )


def _transfer(
    scenario: Scenario,
    directory: Path,
    bed: Testbed,
    watch: Watch,
    on_start: Callable[[], None],
) -> list[Measurement]:
    version, links = scenario.ip_version, max(1, len(scenario.real.backhaul))
    jobs = make_jobs(
        scenario,
        directory,
        servers=[server_address(link, version) for link in range(1, links + 1)],
        client=lambda leg: client_address(leg, version),
        proxy=proxy_address(version, agg=True),
    )
    measurements = run_flows(
        jobs,
        bed.hosts.server,
        bed.hosts.client,
        directory / "client-rate.csv",
        interval_ms=scenario.sampling_ms,
        on_start=on_start,
        check=bed.check,
        watch=watch,
        proxy=bed.hosts["agg"] if scenario.is_proxied else None,
    )
    return [with_serialisation(scenario, measured) for measured in measurements]


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
    ways = [way for leg in links for way in (leg.downlink, leg.uplink)]
    varies = any(change.rate_mbps is not None for way in ways for change in way.changes)
    rates: list[float] = [way.rate_mbps for way in ways if way.rate_mbps is not None]
    if scenario.real.backend == "kernel" or varies or len(rates) < len(ways):
        return None
    bits: int = 8 * (HEADER_BYTES[scenario.ip_version] + DATA_BYTES)
    return round(sum(bits / rate / 1e3 for rate in rates), 4)
