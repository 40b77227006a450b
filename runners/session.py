"""One transfer from start to end: server up, client run, server down, outcome read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from runners.base import Host, Measurement, Runner, Transfer, TransferFailed
from runners.process import Process, running, wait_any

# Importing a Python server takes under a second on an idle machine, several on a busy one.
READY_TIMEOUT_S = 30.0
READY_POLL_S = 0.01
# hypercorn waits 3 s for open requests; QUIC's draining takes three probe timeouts (RFC 9000,
# 10.2), which backed-off timers may make seconds.
END_TIMEOUT_S = 15.0


def run_transfer(
    runner: Runner, transfer: Transfer, server: Host, client: Host, *, on_start: Callable[[], None]
) -> Measurement:
    """Run one transfer; `on_start` is called just before the client starts.

    The measurement's details also hold `server_cpu_s` and `client_cpu_s`, the CPU time of each
    process from its start to its end.

    Raises:
        TransferFailed: not every byte arrived, a process failed or the time was over.
        ValueError: the runner does not take this transfer.
    """
    runner.validate(transfer)
    transfer.directory.mkdir(parents=True, exist_ok=True)
    with runner.files(transfer), runner.hosts(transfer, server, client):
        times = _run_processes(runner, transfer, server, client, on_start)
        measurement = runner.read(transfer)
    if measurement.bytes_received != transfer.size_bytes:
        received = f"{measurement.bytes_received} of {transfer.size_bytes} bytes"
        raise TransferFailed(f"client received {received}")
    return replace(measurement, details={**measurement.details, **times})


def _run_processes(
    runner: Runner, transfer: Transfer, server: Host, client: Host, on_start: Callable[[], None]
) -> dict[str, float]:
    with running(
        "server",
        server,
        runner.server_command(transfer),
        transfer.server_output,
        transfer.server_log,
    ) as serving:
        _wait_ready(runner, transfer, serving)
        on_start()
        with running(
            "client",
            client,
            runner.client_command(transfer),
            transfer.client_output,
            transfer.client_log,
        ) as downloading:
            _wait_client(runner, transfer, serving, downloading)
        _end_server(runner, serving)
    return {"server_cpu_s": serving.cpu_s, "client_cpu_s": downloading.cpu_s}


def _wait_ready(runner: Runner, transfer: Transfer, server: Process) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not runner.is_ready(transfer, server.pid):
        if wait_any([server], READY_POLL_S):
            raise server.failure("before it listened")
        if time.monotonic() > deadline:
            raise server.failure(f"did not listen within {READY_TIMEOUT_S:g} s")


def _wait_client(runner: Runner, transfer: Transfer, server: Process, client: Process) -> None:
    """Wait for the client's end; a server that ended before is the failure's cause."""
    deadline = time.monotonic() + transfer.timeout_s
    while client.exit_code is None:
        watched = [client] if server.exit_code is not None else [client, server]
        if not wait_any(watched, max(0.0, deadline - time.monotonic())):
            raise client.failure(f"did not finish within {transfer.timeout_s:g} s")
        if server.exit_code is not None and not _may_end_first(runner, server):
            raise server.failure("during the transfer")
    if client.exit_code != 0:
        raise client.failure("")


def _may_end_first(runner: Runner, server: Process) -> bool:
    return runner.stop_signal is None and server.exit_code in runner.server_exit_codes


def _end_server(runner: Runner, server: Process) -> None:
    if runner.stop_signal is not None:
        server.send(runner.stop_signal)
    if server.exit_code is None and not wait_any([server], END_TIMEOUT_S):
        raise server.failure(f"did not end within {END_TIMEOUT_S:g} s of the transfer's end")
    if server.exit_code not in runner.server_exit_codes:
        raise server.failure("after the transfer")
