"""Reading what the tools print. Outputs are of real runs unless a test says otherwise."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import PathEvent, PathPlan
from minitopo_dc.runners.base import Transfer, TransferFailed, accepted, get_runner
from minitopo_dc.workloads import Download, Measurement
from minitopo_dc.workloads.exchange import content_sha256, write_content
from tests.runners.hosts import transfer_in

SIZE = 2_000_000
CURL = (
    '{"status": "200", "http_version": "2", "bytes": 2000000, "connect_s": 0.003752, '
    '"handshake_s": 0.006623, "first_byte_s": 0.010422, "completion_s": 0.023925}\n'
)
TCP_SERVER = (
    '{"multipath": false, "congestion_control": "cubic", "subflows": [{"local": "10.83.0.1", '
    '"remote": "10.83.1.2", "bytes_sent": 2007903, "bytes_retransmitted": 0, '
    '"retransmissions": 0}]}\n'
)


def subflow(leg: int, sent: int, opened_ns: int, closed_ns: int | None, ends_ns: int) -> Any:
    """A subflow as the server reports it, with a sample at its begin and at its end."""
    common = {"cwnd_bytes": 14480, "in_flight_bytes": 0, "smoothed_rtt_ms": 20.5}
    common |= {"bytes_sent": sent, "bytes_acked": sent + 1}
    return {
        **{"local": "10.83.0.1", "remote": f"10.83.{leg}.2", "remote_port": 46649},
        **{"is_open": True, "bytes_retransmitted": 0, "retransmissions": 0},
        **{"bytes_received": 793, "segments_sent": 1360, **common},
        **{"opened_ns": opened_ns, "closed_ns": closed_ns},
        "samples": [common | {"time_ns": at, "packets_lost": 0} for at in (opened_ns, ends_ns)],
    }


# The counts of bytes are a real run's, times and samples are not.
SUBFLOWS = [
    subflow(1, 1958406, 71_000_000_000, None, 71_200_000_000),
    subflow(2, 49467, 71_050_000_000, 71_150_000_000, 71_150_000_000),
]


def mptcp_server(*subflows: Any) -> str:
    return json.dumps({"multipath": True, "congestion_control": "cubic", "subflows": subflows})


QUIC_CLIENT = (
    '{"status": 200, "bytes_received": 2000000, "sha256": '
    '"3d66b91f0b7651c13663e75c6a1b3c7d9122c3db0c7b61f5171dc40833a59724", "completion_s": '
    '0.18448067899998932, "stopped_s": null, "handshake_s": 0.012328355000136071, '
    '"first_byte_s": 0.015256756000326277, "receive_buffer_bytes": 212992, '
    '"socket_drops": 36, "error": null, "started_ns": 71000000000}\n'
)


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return transfer_in(tmp_path, Download(size_mb=SIZE / 1e6), begin_ns=70_900_000_000)


STOPPED = Download(duration_s=2.5)


def read(name: str, transfer: Transfer, client: str, server: str = "") -> Measurement:
    transfer.client_output.write_text(client, encoding="utf-8")
    transfer.server_output.write_text(server, encoding="utf-8")
    return get_runner(name).read(transfer)


@pytest.fixture
def body(transfer: Transfer) -> Path:
    """What curl has written."""
    path = transfer.directory / "body"
    write_content(path, SIZE)
    return path


@pytest.mark.usefixtures("body")
def test_curl_reports_bytes_and_time(transfer: Transfer) -> None:
    measurement = read("tcp", transfer, CURL, TCP_SERVER)
    assert (measurement.bytes_received, measurement.completion_s) == (SIZE, 0.023925)
    assert measurement.details["congestion_control"] == "cubic"


@pytest.mark.usefixtures("body")
def test_mptcp_reports_each_subflow_as_a_path(transfer: Transfer) -> None:
    paths = read("mptcp", transfer, CURL, mptcp_server(*SUBFLOWS)).details["paths"]
    assert [(path["leg"], path["bytes_sent"]) for path in paths] == [(1, 1958406), (2, 49467)]


CHANGES = [
    {"at_s": 0.12, "action": "backup", "leg": 1, "done_s": 0.2},
    {"at_s": 0.2, "action": "abandon", "leg": 2, "done_s": 0.24},
]


@pytest.mark.usefixtures("body")
def test_a_path_is_a_backup_from_when_the_client_s_kernel_was_told(transfer: Transfer) -> None:
    transfer.paths_output.write_text("".join(f"{json.dumps(change)}\n" for change in CHANGES))
    events = tuple(PathEvent(each["at_s"], each["action"], each["leg"]) for each in CHANGES)  # type: ignore[arg-type]
    scheduled = replace(transfer, paths=PathPlan((1, 2), events))
    measured = read("mptcp", scheduled, CURL, mptcp_server(*SUBFLOWS))
    assert [each.state for each in measured.path_samples] == ["open", "open", "closed", "backup"]
    assert measured.details["path_changes"] == CHANGES


@pytest.mark.usefixtures("body")
def test_with_a_schedule_an_address_may_carry_nothing(transfer: Transfer) -> None:
    scheduled = replace(transfer, paths=PathPlan((1,)))
    assert read("mptcp", scheduled, CURL, mptcp_server(SUBFLOWS[0])).bytes_received == SIZE


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize(
    ("name", "client", "server", "words"),
    [
        ("mptcp", CURL, TCP_SERVER, "fell back to TCP"),
        ("tcp", CURL, TCP_SERVER.replace("cubic", "bbr"), "the kernel used bbr, not cubic"),
        ("tcp", CURL.replace('"2"', '"1.1"'), TCP_SERVER, r"over HTTP 1\.1, not 200 over HTTP 2"),
        ("tcp", "", TCP_SERVER, "client printed no report"),
        ("tcp", CURL, "", "server printed no report"),
    ],
)
def test_what_was_not_asked_for_over_tcp_is_a_failure(
    name: str, client: str, server: str, words: str, transfer: Transfer
) -> None:
    with pytest.raises(TransferFailed, match=words):
        read(name, transfer, client, server)


def test_the_quic_client_reports_bytes_and_time(transfer: Transfer) -> None:
    measurement = read("quic", transfer, QUIC_CLIENT)
    assert (measurement.bytes_received, measurement.completion_s) == (SIZE, 0.18448067899998932)
    assert measurement.details["socket_drops"] == 36
    assert measurement.started_ns == 71_000_000_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error": "connection ended: Idle timeout"}, "client: connection ended: Idle timeout"),
        ({"status": 404}, "client got status 404, not 200"),
        ({"sha256": content_sha256(SIZE - 1)}, "received 2000000 bytes, not those sent"),
    ],
)
def test_a_quic_client_that_reports_anything_else_is_a_failure(
    transfer: Transfer, change: dict[str, Any], words: str
) -> None:
    report = json.dumps({**json.loads(QUIC_CLIENT), **change})
    with pytest.raises(TransferFailed, match=words):
        accepted(transfer.workload, read("quic", transfer, report))


@pytest.mark.parametrize(("hashed", "is_right"), [(1_000_001, True), (1_000_000, False)])
def test_a_quic_client_that_stopped_is_believed_what_a_prefix_proves(
    hashed: int, is_right: bool, transfer: Transfer
) -> None:
    stopped = {"bytes_received": 1_000_001, "completion_s": None, "stopped_s": 2.5}
    report = {**json.loads(QUIC_CLIENT), **stopped, "sha256": content_sha256(hashed)}
    timed = replace(transfer, workload=STOPPED)
    words = "received 1000001 bytes, not those sent"
    with nullcontext() if is_right else pytest.raises(TransferFailed, match=words):
        measurement = accepted(STOPPED, read("quic", timed, json.dumps(report)))
        assert (measurement.bytes_received, measurement.completion_s) == (1_000_001, 2.5)


@pytest.mark.parametrize("workload", [STOPPED, Download(size_mb=SIZE / 1e6)])
@pytest.mark.parametrize("is_right", [True, False])
def test_curl_is_believed_what_it_has_written(
    is_right: bool, workload: Download, transfer: Transfer, body: Path
) -> None:
    if not is_right:
        body.write_bytes(bytes(SIZE))
    words = "received 2000000 bytes, not those sent"
    with nullcontext() if is_right else pytest.raises(TransferFailed, match=words):
        measurement = read("tcp", replace(transfer, workload=workload), CURL, TCP_SERVER)
        assert measurement.bytes_received == SIZE


def test_curl_that_got_no_answer_in_its_time_has_nothing(transfer: Transfer) -> None:
    answer = {"status": "000", "http_version": "0", "bytes": 0, "completion_s": 2.5}
    stopped = replace(transfer, workload=STOPPED)
    silent = json.dumps(answer)
    assert read("tcp", stopped, silent) == Measurement(0, 2.5, answer | {"status": 0})
    with pytest.raises(TransferFailed, match=r"client .*200"):
        read("tcp", transfer, silent)


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
def test_curl_s_time_out_is_no_failure_with_a_duration_only(name: str, transfer: Transfer) -> None:
    runner, stopped = get_runner(name), replace(transfer, workload=STOPPED)
    assert runner.client_exit_codes(transfer) == {0}
    assert runner.client_exit_codes(stopped) == {0, 28}
    assert "--max-time" not in runner.client_command(transfer)
    command = runner.client_command(stopped)
    assert command[command.index("--max-time") + 1] == "2.5"
