"""One scenario on the real clock: hosts, elements, transfers, a result that can be trusted."""

from __future__ import annotations

import csv
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from minitopo_dc.linux_guest.library import proxy_missing
from minitopo_dc.real.machine import facts, probe_kernel
from minitopo_dc.real.network.cpu_limit import CpuLimit, cpu_limit, cpu_limit_obstacle
from minitopo_dc.real.network.elements import stop_all
from minitopo_dc.real.network.hosts import EmulatedHost, ending_leftovers
from minitopo_dc.real.network.testbed import Testbed, ipv6_obstacle, testbed
from minitopo_dc.real.run.watch import Watch
from minitopo_dc.results.run_result import RunResult, flow_directory
from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.runs.check import runners_of
from minitopo_dc.runs.perform import Measured, RunFailedError, perform
from minitopo_dc.runs.routers import client_legs
from minitopo_dc.scenario import LegSettings, Scenario
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
        kept = flow_directory(directory, index + 1, alone=not scenario.flows)
        transfer = Transfer(
            workload=flow.workload,
            congestion_control=flow.congestion_control,
            server_address=servers[0],
            more_server_addresses=tuple(servers[1:]),
            port=SERVER_PORT + index,
            client_addresses=tuple(client(leg) for leg in client_legs(scenario, flow)),
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
    cpu: CpuLimit | None = None,
    proxy: EmulatedHost | None = None,
) -> list[Measurement]:
    """Run the transfers; `rate_file` gets what reached the client, in intervals.

    `on_start` is called when all servers listen; `check` now and then from then on, to raise
    RunFailedError when the testbed is not whole; `watch` learns of servers, proxies and clients;
    `cpu` is the limit that the clients share; `proxy` is the host of proxies, if there are any.

    Raises:
        TransferFailed: bytes are missing, a process failed, the time was over.
        RunFailedError: `check` did, which is then the better reason.
    """
    clients = AbortableHost(client, watch, cpu)
    sampler = Sampler(clients, check, interval_ms, clients.abort)

    def start() -> None:
        watch.transfers_begin()
        on_start()
        sampler.start()

    try:
        with sampler:  # whose last sample is that of its end
            return run_transfers(
                jobs,
                WatchedHost(server, watch),
                clients,
                on_start=start,
                proxy=proxy and WatchedHost(proxy, watch),
            )
    except TransferFailed:
        check()
        raise
    finally:
        sampler.save(rate_file)


class WatchedHost(EmulatedHost):
    """A host whose programs are watched."""

    def __init__(self, host: EmulatedHost, watch: Watch) -> None:
        self.__dict__ |= host.__dict__
        self._watch = watch

    def popen(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process, and watch it unless it answers by a pipe.

        A process that does so sets the host up, or back.
        """
        process = super().popen(*arguments, **options)
        if options.get("stdout") != subprocess.PIPE:
            self._started(process)
        return process

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._watch.add(self.name, process.pid)


class AbortableHost(WatchedHost):
    """The client's host, whose clients can be ended from another thread."""

    def __init__(self, host: EmulatedHost, watch: Watch, cpu: CpuLimit | None = None) -> None:
        super().__init__(host, watch)
        self._cpu = cpu
        self._clients: list[subprocess.Popen[bytes]] = []
        self._aborted = False

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        """Take note of a client, so that an abort ends it.

        Processes that set the host up are none: an abort must not keep the host from being set up.
        """
        super()._started(process)
        self._clients.append(process)
        if self._cpu is not None:
            self._cpu.add(process.pid)
        if self._aborted:  # `abort` may have gone through the list before
            process.kill()

    def abort(self) -> None:
        """End all clients, also those that are started from now on.

        So the transfers fail at once instead of at their timeout.
        """
        self._aborted = True
        for process in self._clients:
            process.kill()


class Sampler:
    """A thread that samples the client's received bytes from `start` until the `with` ends.

    When `check` raises RunFailedError it calls `abort` once, so that a transfer does not wait for
    its timeout.
    """

    def __init__(
        self,
        client: EmulatedHost,
        check: Callable[[], None],
        interval_ms: int,
        abort: Callable[[], None],
    ) -> None:
        self.samples: list[tuple[float, int]] = []
        """(s since start, IP bytes received since start)."""
        self._client = client
        self._check = check
        self._interval = interval_ms / 1000
        self._abort = abort
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def start(self) -> None:
        """Start sampling: now is the samples' time 0."""
        self._thread.start()

    def save(self, path: Path) -> None:
        """Write the samples as CSV."""
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["time_s", "received_bytes"])
            rows.writerows((f"{moment:.4f}", count) for moment, count in self.samples)

    def _run(self) -> None:
        try:
            self._sample()
        except OSError:  # the client's host has gone, and with it /proc/PID
            self._abort()

    def _sample(self) -> None:
        begin, before = time.monotonic(), self._client.received_bytes()
        while True:
            ended = self._stop.wait(self._interval if self.samples else 0)
            self.samples.append((time.monotonic() - begin, self._client.received_bytes() - before))
            if ended:
                return
            try:
                self._check()
            except RunFailedError:
                self._abort()
                return


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
        measure=lambda checked: _measure(checked, directory, disturb, cores),
        details=lambda _: cores,
    )


def lacking(scenario: Scenario) -> str | None:
    """Return what this machine lacks for a scenario, beside what transports need, or None."""
    reason = ipv6_obstacle(scenario)
    if reason is None and scenario.is_proxied:
        reason = proxy_missing()
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
    # Those of links between router and server come behind gnb's and ue's.
    elements = dict(zip(("downlink", "uplink"), summaries, strict=False))
    legs = [elements[way]["legs"].values() for way in scenario.loads]
    carried = [[leg["delivered_bytes"] for leg in of_way] for of_way in legs]
    limited = ("client",) if scenario.real.client_cpu_percent is not None else ()
    return Measured(
        measurements,
        [sum(leg) for leg in zip(*carried, strict=True)],
        watch.judge(measurements, summaries, limited=limited),
    )


def _core_name(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return which core the elements had, and why if one of them was not native."""
    reasons = [summary["core_reason"] for summary in summaries if summary["core"] != "native"]
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
        proxy=proxy_address(version, agg=True),
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
    rates = [_constant_rate(way) for leg in links for way in (leg.downlink, leg.uplink)]
    known = [rate for rate in rates if rate is not None]
    if scenario.real.backend == "kernel" or len(known) < len(rates):
        return None
    bits = 8 * (HEADER_BYTES[scenario.ip_version] + DATA_BYTES)
    return round(sum(bits / rate / 1e3 for rate in known), 4)


def _constant_rate(link: LegSettings) -> float | None:
    """Return the rate in Mbit/s, None if it varies."""
    varies = any(change.rate_mbps is not None for change in link.changes)
    return None if varies else link.rate_mbps
