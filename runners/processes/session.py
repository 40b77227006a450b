"""Transfers from start to end: servers up, clients run, servers down, outcomes read."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from subprocess import DEVNULL

from minitopo_dc.runners.addresses import is_bound
from minitopo_dc.runners.base import Host, Runner, Transfer, TransferFailed, accepted
from minitopo_dc.runners.processes.process import KILL_AFTER_S, Process, running, wait_any
from minitopo_dc.runners.programs import StartSignal
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement

# Importing a Python server takes under a second on an idle machine, several on a busy one.
READY_TIMEOUT_S = 30.0
READY_POLL_S = 0.01
LAST_MOMENT_S = 1.0
"""So long a server may take to end behind the client whose connection it closed (0.1 s idle)."""
END_TIMEOUT_S = 15.0
"""hypercorn waits 3 s for open requests; QUIC's draining takes three probe timeouts (RFC 9000,
10.2), which backed-off timers may make seconds."""
NOT_IN_TIME = f"did not end within {END_TIMEOUT_S:g} s of the transfer's end"
UNTIL_SIGNAL = "it is to go on until it gets the runner's stop_signal; None: it ends by itself"


@dataclass(frozen=True, slots=True)
class Job:
    """A transfer, and the runner that does it."""

    runner: Runner
    transfer: Transfer
    name: str = ""
    """What an error of the transfer begins with, where there are several."""


def run_transfers(
    jobs: Sequence[Job],
    server: Host,
    client: Host,
    *,
    on_start: Callable[[], None],
    proxy: Host | None = None,
) -> list[Measurement]:
    """Run transfers at the same time, each with a directory and a port of its own.

    `proxy` is the host of the proxies at which transfers with a `proxy_address` end for the client.

    `on_start` is called once, when all servers listen and all clients that wait for the start are
    ready; then the clients start, one right behind the other. The first failure ends all of them. A
    measurement's details also hold `server_cpu_s` and `client_cpu_s`, the CPU time of each process
    from its start to its end, and `started_s`, how long after the call of `on_start` the client
    began to connect.

    Raises:
        TransferFailed: not every byte arrived, or a client stopped before its duration was over; a
            process failed or the time was over.
    """
    for job in jobs:
        job.transfer.directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for job in jobs:
            stack.enter_context(job.runner.files(job.transfer))
        hosts = {"server": server, "client": client, "paths": client, "proxy": proxy or server}
        _set_up_hosts(jobs, hosts, stack)
        return [flow.measure() for flow in _run_processes(jobs, hosts, on_start)]


def _set_up_hosts(jobs: Sequence[Job], hosts: Mapping[str, Host], stack: ExitStack) -> None:
    # Once for all transfers of a kind: the end of one must not affect the others.
    done = set()
    for job in jobs:
        kind = (job.runner.name, job.transfer.client_addresses)
        if kind not in done:
            far = "proxy" if job.transfer.proxy_address else "server"  # to the client it is one
            stack.enter_context(job.runner.hosts(job.transfer, hosts[far], hosts["client"]))
            done.add(kind)


def _run_processes(
    jobs: Sequence[Job], hosts: Mapping[str, Host], on_start: Callable[[], None]
) -> list[_Flow]:
    """Run all processes of the transfers; return the flows when all have ended."""
    with ExitStack() as stack:
        flows = [_Flow(job, hosts, stack) for job in jobs]
        # A client that waits for the signal to connect begins beside the server: both import much.
        steps = (_Flow.start_server, _Flow.prepare_client, _Flow.wait_ready)
        for step in (*steps, _Flow.start_proxy, _Flow.wait_prepared):
            for flow in flows:
                step(flow)
        begin_ns = time.monotonic_ns()
        on_start()
        for flow in flows:
            flow.start_client(begin_ns)
        _watch(flows)
    return flows


def _watch(flows: Sequence[_Flow]) -> None:
    """Return when all have ended well; raise the first thing that goes wrong."""
    while pending := [flow for flow in flows if not flow.has_ended]:
        patience = min(flow.deadline for flow in pending) - time.monotonic()
        wait_any([one for flow in pending for one in flow.live], max(0.0, patience))
        for flow in pending:
            flow.check()


class _Flow:
    """The server and the client of a transfer, and what is between them."""

    deadline: float
    """When what is waited for (the client's end, then the server's) has taken too long."""

    def __init__(self, job: Job, hosts: Mapping[str, Host], stack: ExitStack) -> None:
        self._runner, self._transfer, self._name = job.runner, job.transfer, job.name
        self._hosts = hosts
        self._stack = stack
        self._processes: dict[str, Process] = {}
        self._signal: StartSignal | None = None
        self._stopping = False

    @property
    def has_ended(self) -> bool:
        """Return whether its processes have ended, as they should."""
        return self._stopping and not self.live

    @property
    def live(self) -> list[Process]:
        return [process for process in self._processes.values() if process.exit_code is None]

    def start_server(self) -> None:
        runner, transfer = self._runner, self._transfer
        if runner.has_server and (command := runner.server_command(transfer)):
            self._start("server", command)

    def wait_ready(self) -> None:
        runner, transfer = self._runner, self._transfer
        if (server := self._processes.get("server")) is not None:
            self._wait_for(server, lambda: runner.is_ready(transfer, server.pid))

    def start_proxy(self) -> None:
        """Start the proxy, if there is one, and wait until it listens."""
        address, port = self._transfer.proxy_address, self._transfer.port
        if address is not None:
            proxy = self._start("proxy", self._runner.proxy_command(self._transfer))
            self._wait_for(proxy, lambda: is_bound(proxy.pid, "tcp", address, port))

    def prepare_client(self) -> None:
        """Start the client if it is one that waits for the signal to connect."""
        runner, transfer = self._runner, self._transfer
        if runner.client_waits(transfer):
            self._signal = self._stack.enter_context(closing(StartSignal()))
            stdin = self._signal.client_end.fileno()
            self._start("client", runner.client_command(transfer), stdin=stdin)

    def wait_prepared(self) -> None:
        if self._signal is None:
            return
        client = self._processes["client"]
        with self._named():
            try:
                if not self._signal.wait_ready(READY_TIMEOUT_S):
                    wait_any([client], LAST_MOMENT_S)
                    raise client.failure("")
            except TimeoutError:
                raise client.failure(f"was not ready within {READY_TIMEOUT_S:g} s") from None

    def start_client(self, begin_ns: int) -> None:
        """Start the client; times of the legs and of the flow's paths count from `begin_ns`."""
        self._transfer = transfer = replace(self._transfer, begin_ns=begin_ns)
        if self._signal is not None:
            self._signal.give(begin_ns)
        else:
            self._start("client", self._runner.client_command(transfer))
        self._client_started_ns = time.monotonic_ns()
        if (command := self._runner.paths_command(transfer)) is not None:
            self._start("paths", command)
        self.deadline = time.monotonic() + transfer.timeout_s

    def _start(self, role: str, command: list[str], *, stdin: int = DEVNULL) -> Process:
        files = (getattr(self._transfer, f"{role}_{name}") for name in ("output", "log"))
        with self._named():
            process = running(role, self._hosts[role], command, *files, stdin=stdin)
            self._processes[role] = self._stack.enter_context(process)
        return self._processes[role]

    def _wait_for(self, process: Process, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        with self._named():
            while not is_ready():
                if wait_any([process], READY_POLL_S):
                    raise process.failure("before it listened")
                if time.monotonic() > deadline:
                    raise process.failure(f"did not listen within {READY_TIMEOUT_S:g} s")

    def check(self) -> None:
        """Go on to the server's end when the client has ended; raise what went wrong."""
        with self._named():
            if self._stopping:
                self._check_server()
                self._check_helpers()
            else:
                self._check_client()

    def measure(self) -> Measurement:
        client, transfer = self._processes["client"], self._transfer
        with self._named():
            outcome = self._runner.read(replace(transfer, client_s=client.seconds))
            measurement = accepted(transfer.workload, outcome)
        times = {f"{role}_cpu_s": process.cpu_s for role, process in self._processes.items()}
        started_ns = measurement.started_ns or self._client_started_ns
        assert transfer.begin_ns is not None  # the client was started
        times["started_s"] = (started_ns - transfer.begin_ns) / NS_PER_S
        return replace(measurement, details={**measurement.details, **times})

    def _check_client(self) -> None:
        """Check the client, and blame a server that ended before it for the failure."""
        runner, transfer = self._runner, self._transfer
        server, client = self._processes.get("server"), self._processes["client"]
        failed = client.exit_code not in (None, *runner.client_exit_codes(transfer))
        if server is not None and server.exit_code is None and failed:
            wait_any([server], LAST_MOMENT_S)
        code = None if server is None else server.exit_code
        if server is not None and code is not None and not runner.server_may_end(code):
            advice = "" if runner.foreign or code else f" ({UNTIL_SIGNAL})"
            raise server.failure(f"during the transfer{advice}")
        self._check_helpers()
        if client.exit_code is None:
            if time.monotonic() >= self.deadline:
                raise client.failure(f"did not finish within {transfer.timeout_s:g} s")
            return
        if failed:
            raise client.failure("")
        if server is not None and runner.stop_signal is not None:
            server.send(runner.stop_signal)
        if (paths := self._processes.get("paths")) is not None:
            paths.send(signal.SIGTERM)
        self._stopping = True
        self.deadline = time.monotonic() + (KILL_AFTER_S if runner.foreign else END_TIMEOUT_S)
        self._check_server()

    def _check_helpers(self) -> None:
        """Check that the paths' program, which may be stopped, and the proxy ended in order.

        The proxy ends with its connection, soon after the transfer.
        """
        for role, codes in (("paths", (None, 0, -signal.SIGTERM)), ("proxy", (None, 0))):
            helper = self._processes.get(role)
            if helper is not None and helper.exit_code not in codes:
                raise helper.failure("")
        proxy = self._processes.get("proxy")
        is_late = self._stopping and time.monotonic() > self.deadline
        if proxy is not None and proxy.exit_code is None and is_late:
            raise proxy.failure(NOT_IN_TIME)

    def _check_server(self) -> None:
        server, runner = self._processes.get("server"), self._runner
        if server is None:
            return
        if server.exit_code is not None:
            if not runner.foreign and server.exit_code not in runner.server_exit_codes:
                raise server.failure("after the transfer")
        elif time.monotonic() >= self.deadline:
            if not runner.foreign:
                raise server.failure(NOT_IN_TIME)
            server.send(signal.SIGKILL)
            self.deadline = time.monotonic() + END_TIMEOUT_S

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Put the transfer's name before a failure, where there are several."""
        try:
            yield
        except TransferFailed as failure:
            if not self._name:
                raise
            raise TransferFailed(f"{self._name}: {failure}") from failure
