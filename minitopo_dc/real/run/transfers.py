"""The transfers of a scenario's flows, and the client's rate while they run."""

from __future__ import annotations

import csv
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from minitopo_dc.real.network.cpu_limit import CpuLimit
from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.watch import Watch
from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.runs.addresses import SERVER_PORT
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.runs.results import flow_directory
from minitopo_dc.runs.routers import client_legs
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement


def make_jobs(
    scenario: Scenario, directory: Path, *, servers: Sequence[str], client: Callable[[int], str]
) -> list[Job]:
    """Return one transfer for each flow, with a port of its own.

    Several flows keep their files in `flow-1`, `flow-2`, ... below `directory`.

    Args:
        scenario: what is wanted; `check_scenario` has accepted it.
        directory: of the run.
        servers: its addresses; flows use the first, workload `ping` all.
        client: gives the client's address on a leg (1, 2, ...).
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
) -> list[Measurement]:
    """Run the transfers; `rate_file` gets what reached the client, in intervals.

    `on_start` is called when all servers listen; `check` now and then from then on, to raise
    RunFailedError when the testbed is not whole; `watch` learns of servers and clients; `cpu` is
    the limit that the clients share.

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
            return run_transfers(jobs, WatchedHost(server, watch), clients, on_start=start)
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
