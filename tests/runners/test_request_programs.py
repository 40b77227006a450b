"""The request clients and their servers as processes on this machine: no root, no namespace."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.processes.process import Process
from minitopo_dc.workloads import RequestResponse
from minitopo_dc.workloads.content import write_content
from tests.runners.hosts import LocalHost
from tests.runners.request_programs import (
    START_S,
    asking,
    report_of,
    reports,
    serving,
    unanswered,
)

HOST = LocalHost()
PLAN = RequestResponse(
    request_bytes=750, response_bytes=2000, interval_s=0.05, count=20, patience_s=5.0
)
NAMES = ("tcp", "mptcp", "quic")


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    made = make_certificate(tmp_path, ["127.0.0.1"])
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
    return Transfer(
        workload=RequestResponse(),
        congestion_control="cubic",
        server_address="127.0.0.1",
        port=port,
        client_addresses=("127.0.0.1", "127.0.0.2"),
        directory=tmp_path / "run",
        certificate=made.certificate,
        key=made.key,
        timeout_s=60.0,
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_answered_and_reported(name: str, transfer: Transfer) -> None:
    plan = PLAN.model_copy(update={"request_bytes": 100_000, "response_bytes": 100_000})
    before_ns = time.monotonic_ns()
    with serving(name, transfer, HOST), asking(name, plan, transfer, HOST) as client:
        report = report_of(client, plan, transfer)
    assert sorted(report) == [
        *("bytes_received", "error", "handshake_s", "receive_buffer_bytes", "requests"),
        *("socket_drops", "started_ns"),
    ]
    assert (report["error"], report["bytes_received"]) == (None, 20 * 100_000)
    assert before_ns < report["started_ns"] < time.monotonic_ns()
    assert len(report["requests"]) == 20
    first_s = report["handshake_s"]
    for number, (sent_s, answered_s) in enumerate(report["requests"]):
        assert first_s + number * 0.05 <= sent_s < answered_s
    assert (report["receive_buffer_bytes"] is None) == (name != "quic")


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
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


def test_a_server_that_is_killed_is_an_error_over_tcp(transfer: Transfer) -> None:
    plan = PLAN.model_copy(update={"interval_s": 0.1, "count": 100})
    with serving("tcp", transfer, HOST) as server, asking("tcp", plan, transfer, HOST) as client:
        wait_for_socket(client)
        time.sleep(1.0)
        server.send(signal.SIGKILL)
        report = report_of(client, plan, transfer)
    assert "connection" in report["error"]
    assert 0 < len(report["requests"]) < 100
    assert report["requests"][0][1] is not None


def test_a_server_that_is_killed_leaves_requests_unanswered_over_quic(transfer: Transfer) -> None:
    plan = PLAN.model_copy(update={"interval_s": 0.1, "count": 20, "patience_s": 0.5})
    with serving("quic", transfer, HOST) as server, asking("quic", plan, transfer, HOST) as client:
        wait_for_socket(client)
        time.sleep(1.0)
        server.send(signal.SIGKILL)
        report = report_of(client, plan, transfer)
    assert report["error"] is None
    assert len(report["requests"]) == 20
    assert unanswered(report["requests"])[-1] == 19


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
def test_no_server_is_an_error_over_tcp(name: str, transfer: Transfer) -> None:
    transfer.directory.mkdir()
    with asking(name, PLAN, transfer, HOST) as client:
        report = report_of(client, PLAN, transfer)
    assert report["error"] == "connection failed: [Errno 111] Connection refused"
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
