"""Servers and request clients as processes, for tests."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import Host, Transfer, get_runner
from minitopo_dc.runners.processes.process import Process, log_tail, running, wait_any
from minitopo_dc.runners.processes.session import END_TIMEOUT_S
from minitopo_dc.workloads import RequestResponse

START_S = 30.0  # for a Python program on a busy machine


@contextmanager
def serving(name: str, transfer: Transfer, host: Host) -> Iterator[Process]:
    """A runner's server, from when it listens; ended in order unless a test has killed it."""
    runner = get_runner(name)
    if reason := runner.unsupported(transfer.congestion_control):
        pytest.skip(reason)
    transfer.directory.mkdir(parents=True, exist_ok=True)
    files = (transfer.server_output, transfer.server_log)
    with running("server", host, runner.server_command(transfer), *files) as server:
        deadline = time.monotonic() + START_S
        while not runner.is_ready(transfer, server.pid):
            assert time.monotonic() < deadline, log_tail(transfer.server_log)
            time.sleep(0.01)
        yield server
        if not wait_any([server], 0):
            server.send(signal.SIGTERM)
            assert wait_any([server], END_TIMEOUT_S), "the server has not ended"
        assert server.exit_code in (0, -signal.SIGKILL), log_tail(transfer.server_log)


def command(name: str, plan: RequestResponse, transfer: Transfer) -> list[str]:
    """The client's command line, for requests by a plan."""
    return get_runner(name).client_command(replace(transfer, workload=plan))


@contextmanager
def asking(name: str, plan: RequestResponse, transfer: Transfer, host: Host) -> Iterator[Process]:
    files = (transfer.client_output, transfer.client_log)
    with running("client", host, command(name, plan, transfer), *files) as client:
        yield client


def report_of(client: Process, plan: RequestResponse, transfer: Transfer) -> dict[str, Any]:
    """The client's report when it has ended, which it does in time."""
    most = START_S + (plan.requests - 1) * plan.interval_s + plan.patience_s
    assert wait_any([client], most), "the client has not ended"
    assert client.exit_code == 0, log_tail(transfer.client_log)
    (line,) = transfer.client_output.read_text().splitlines()
    report: dict[str, Any] = json.loads(line)
    return report


def reports(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()]


def unanswered(requests: Sequence[Sequence[float | None]]) -> list[int]:
    return [number for number, (_, answered) in enumerate(requests) if answered is None]
