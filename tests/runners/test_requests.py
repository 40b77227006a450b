"""Requests: the programs of both ends, and their outputs."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import Host, Transfer, TransferFailed, get_runner
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.processes.process import Process, log_tail, running, wait_any
from minitopo_dc.runners.processes.session import END_TIMEOUT_S
from minitopo_dc.workloads import Measurement, RequestResponse
from minitopo_dc.workloads.exchange import write_content
from tests import long
from tests.runners.hosts import (
    CLIENT_ADDRESSES,
    HOST,
    SERVER_ADDRESS,
    local_transfer,
    transfer_in,
)

START_S = 30.0  # for a Python program on a busy machine


@contextmanager
def serving(name: str, transfer: Transfer, host: Host) -> Iterator[Process]:
    """A runner's server, from when it listens; ended in order unless a test has killed it."""
    runner = get_runner(name)
    if reason := runner.run_obstacle(transfer.congestion_control):
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


PLAN = RequestResponse(
    request_bytes=750, response_bytes=2000, interval_s=0.05, count=20, patience_s=5.0
)
NAMES = ("tcp", "mptcp", "quic")


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return local_transfer(tmp_path, PLAN, client_addresses=("127.0.0.1", "127.0.0.2"))


@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_answered_and_reported(name: str, transfer: Transfer) -> None:
    plan = PLAN.model_copy(update={"request_bytes": 100_000, "response_bytes": 100_000})
    before_ns = time.monotonic_ns()
    with serving(name, transfer, HOST), asking(name, plan, transfer, HOST) as client:
        report = report_of(client, plan, transfer)
    assert sorted(report) == [
        *("bytes_received", "completion_s", "error", "handshake_s", "receive_buffer_bytes"),
        *("requests", "rows", "socket_drops", "started_ns"),
    ]
    assert (report["error"], report["bytes_received"]) == (None, 20 * 100_000)
    assert before_ns < report["started_ns"] < time.monotonic_ns()
    assert len(report["requests"]) == 20
    first_s = report["handshake_s"]
    for number, (sent_s, answered_s) in enumerate(report["requests"]):
        assert first_s + number * 0.05 <= sent_s < answered_s
    assert (report["receive_buffer_bytes"] is None) == (name != "quic")


@pytest.mark.parametrize("name", [long("tcp"), "mptcp"])
def test_a_tcp_server_reports_a_connection_once_and_keeps_nothing_of_its_requests(
    name: str, transfer: Transfer
) -> None:
    plan = PLAN.model_copy(update={"interval_s": 0.001, "count": 1000})
    most_descriptors = 0
    with serving(name, transfer, HOST) as server:
        idle = len(open_files(server))
        for _ in range(2):
            with asking(name, plan, transfer, HOST) as client:
                while client.exit_code is None and not transfer.client_output.read_text():
                    most_descriptors = max(most_descriptors, len(open_files(server)))
                    time.sleep(0.05)
                assert unanswered(report_of(client, plan, transfer)["requests"]) == []
        deadline = time.monotonic() + 10
        while len(open_files(server)) > idle:
            assert time.monotonic() < deadline, "the server keeps descriptors"
            time.sleep(0.05)
    assert most_descriptors <= idle + 4  # of one connection and of the one before
    for report in (both := reports(transfer.server_output)):
        assert report["multipath"] == (name == "mptcp")
        assert sum(flow["bytes_sent"] for flow in report["subflows"]) > 1000 * 2000
    assert len(both) == 2


def wait_for_socket(client: Process) -> None:
    """Return when a client has begun to connect."""
    deadline = time.monotonic() + START_S
    while not any(target.startswith("socket:") for target in open_files(client)):
        assert time.monotonic() < deadline, "the client makes no socket"
        time.sleep(0.01)


def open_files(process: Process) -> list[str]:
    targets = []
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            targets.append(str(entry.readlink()))
    return targets


@pytest.mark.parametrize(("name", "count"), [("tcp", 100), ("quic", 20)])
def test_a_server_that_is_killed_ends_the_client(name: str, count: int, transfer: Transfer) -> None:
    plan = PLAN.model_copy(update={"interval_s": 0.1, "count": count, "patience_s": 0.5})
    with serving(name, transfer, HOST) as server, asking(name, plan, transfer, HOST) as client:
        wait_for_socket(client)
        time.sleep(1.0)
        server.send(signal.SIGKILL)
        report = report_of(client, plan, transfer)
    if name == "tcp":
        assert "connection" in report["error"]
        assert 0 < len(report["requests"]) < 100
        assert report["requests"][0][1] is not None
    else:  # requests stay unanswered
        assert report["error"] is None
        assert len(report["requests"]) == 20
        assert unanswered(report["requests"])[-1] == 19


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
def test_no_server_is_an_error_over_tcp(name: str, transfer: Transfer) -> None:
    transfer.directory.mkdir()
    with asking(name, PLAN, transfer, HOST) as client:
        report = report_of(client, PLAN, transfer)
    assert report["error"].startswith("connection failed: [Errno 111]")
    assert (report["requests"], report["handshake_s"]) == ([], None)


def test_a_server_with_another_certificate_is_an_error(transfer: Transfer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = make_certificate(tmp_path / "other", ["127.0.0.1"])
    wrong = replace(transfer, certificate=other.certificate)
    with serving("tcp", transfer, HOST), asking("tcp", PLAN, wrong, HOST) as client:
        report = report_of(client, PLAN, transfer)
    assert "certificate verify failed" in report["error"]
    assert report["requests"] == []


def test_hypercorn_refuses_wrong_requests_and_goes_on(transfer: Transfer, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    write_content(tmp_path / "right", 100_000)
    (tmp_path / "wrong").write_bytes(bytes(100_000))
    asked = [
        ("wrong", "/respond/10", "400 0"),
        ("right", "/nothing", "404 0"),
        ("right", "/respond/10", "200 10"),
    ]
    curl = ["curl", "--disable", "--silent", "--http2", "--cacert", str(transfer.certificate)]
    words = ["--output", "/dev/null", "--write-out", "%{http_code} %{size_download}\n"]
    for body, path, _ in asked:
        data = ["--data-binary", f"@{tmp_path / body}"]
        url = f"https://127.0.0.1:{transfer.port}{path}"
        curl += [*words, *data, url, "--next", "--cacert", str(transfer.certificate), "--silent"]
    with serving("tcp", transfer, HOST):
        done = subprocess.run(curl[:-4], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [answer for _, _, answer in asked]


TIMES: list[list[float | None]] = [[0.01, 0.03], [0.41, 0.46], [0.81, 0.82]]
CLIENT: dict[str, Any] = {
    **{"requests": TIMES, "rows": [], "completion_s": 0.0},
    "bytes_received": 2250,
    "handshake_s": 0.009,
    "receive_buffer_bytes": None,
    "socket_drops": None,
    "error": None,
    "started_ns": 71_000_000_000,
}
SERVER: dict[str, Any] = {"multipath": False, "congestion_control": "cubic", "subflows": []}
SUBFLOW: dict[str, Any] = {
    **{"local": SERVER_ADDRESS, "remote": CLIENT_ADDRESSES[0], "bytes_sent": 5000, "samples": []},
    **{"opened_ns": 1, "closed_ns": None, "bytes_received": 0, "segments_sent": 9},
    "retransmissions": 0,
}
"""Small answers may all take one."""


def read(name: str, directory: Path, printed: str) -> Measurement:
    made = transfer_in(directory, RequestResponse(count=3), begin_ns=0)
    says = SERVER if name == "tcp" else SERVER | {"multipath": True, "subflows": [SUBFLOW]}
    made.client_output.write_text(printed, encoding="utf-8")
    made.server_output.write_text(json.dumps(says), encoding="utf-8")
    return get_runner(name).read(made)


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_a_row_for_each_request(name: str, tmp_path: Path) -> None:
    measured = read(name, tmp_path, json.dumps(CLIENT))
    assert [row["sent_s"] for row in measured.rows] == [0.01, 0.41, 0.81]
    assert [row["answered_s"] for row in measured.rows] == [0.03, 0.46, 0.82]
    assert (measured.completion_s, measured.bytes_received) == (0.82, 2250)
    assert measured.started_ns == 71_000_000_000
    assert not {"requests", "started_ns"} & set(measured.details)


def test_requests_without_an_answer_are_rows_without_a_delay(tmp_path: Path) -> None:
    report = CLIENT | {"requests": [*TIMES[:2], [0.81, None]]}
    measured = read("quic", tmp_path, json.dumps(report))
    assert measured.rows[2] == {
        **{"request": 3, "sent_s": 0.81, "answered_s": None, "delay_ms": None}
    }
    assert measured.completion_s == 0.46
    silent = CLIENT | {"requests": [[sent, None] for sent, _ in TIMES], "bytes_received": 0}
    assert read("quic", tmp_path, json.dumps(silent)).completion_s == 0.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (json.dumps(CLIENT | {"error": "request 1 was wrong"}), "^client: request 1 was wrong$"),
        ("", "^client printed no report$"),
        ("Traceback\n", "^client printed no report$"),
        (json.dumps(CLIENT)[:80], "^client printed no report$"),
    ],
)
def test_an_error_and_a_report_that_is_missing_or_cut_are_failures(
    name: str, printed: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TransferFailed, match=words):
        read(name, tmp_path, printed)
