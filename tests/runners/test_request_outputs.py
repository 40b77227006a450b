"""Reading what clients and servers print about requests and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import Transfer, TransferFailed, accepted, get_runner
from minitopo_dc.workloads import Measurement, RequestResponse

CLIENT_ADDRESSES = ("10.83.1.2", "10.83.2.2")
TIMES: list[list[float | None]] = [[0.01, 0.03], [0.41, 0.46], [0.81, 0.82]]
CLIENT: dict[str, Any] = {
    "requests": TIMES,
    "bytes_received": 2250,
    "handshake_s": 0.009,
    "receive_buffer_bytes": None,
    "socket_drops": None,
    "error": None,
    "started_ns": 71_000_000_000,
}
SERVER: dict[str, Any] = {"multipath": False, "congestion_control": "cubic", "subflows": []}


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return Transfer(
        workload=RequestResponse(count=3),
        congestion_control="cubic",
        server_address="10.83.0.1",
        port=4433,
        client_addresses=CLIENT_ADDRESSES,
        directory=tmp_path,
        certificate=tmp_path / "certificate.pem",
        key=tmp_path / "key.pem",
        timeout_s=10.0,
        begin_ns=0,
    )


def subflows(*bytes_sent: int) -> dict[str, Any]:
    """What the server says of MPTCP with subflows to the first addresses of the client."""
    ends = zip(CLIENT_ADDRESSES, bytes_sent, strict=False)
    flows = [
        {
            **{"local": "10.83.0.1", "remote": end, "bytes_sent": sent, "retransmissions": 0},
            **{"opened_ns": 1, "closed_ns": None, "bytes_received": 0, "segments_sent": 9},
            "samples": [],
        }
        for end, sent in ends
    ]
    return SERVER | {"multipath": True, "subflows": flows}


def read(
    name: str,
    transfer: Transfer,
    client: dict[str, Any] = CLIENT,
    server: dict[str, Any] | None = None,
) -> Measurement:
    says = server or (subflows(5000, 700) if name == "mptcp" else SERVER)
    transfer.client_output.write_text(json.dumps(client) + "\n", encoding="utf-8")
    transfer.server_output.write_text(json.dumps(says) + "\n", encoding="utf-8")
    return get_runner(name).read(transfer)


@pytest.mark.parametrize("name", ["quic", "tcp", "mptcp"])
def test_a_report_is_a_row_for_each_request(name: str, transfer: Transfer) -> None:
    measured = read(name, transfer)
    assert [row["request"] for row in measured.rows] == [1, 2, 3]
    assert [row["sent_s"] for row in measured.rows] == [0.01, 0.41, 0.81]
    assert [row["answered_s"] for row in measured.rows] == [0.03, 0.46, 0.82]
    assert [row["delay_ms"] for row in measured.rows] == pytest.approx([20, 50, 10])
    assert (measured.completion_s, measured.bytes_received) == (0.82, 2250)
    assert measured.started_ns == 71_000_000_000
    assert not {"requests", "started_ns"} & set(measured.details)


@pytest.mark.parametrize("name", ["quic", "tcp", "mptcp"])
def test_a_request_without_an_answer_is_a_row_without_a_delay(
    name: str, transfer: Transfer
) -> None:
    measured = read(name, transfer, CLIENT | {"requests": [*TIMES[:2], [0.81, None]]})
    assert measured.rows[2] == {
        "request": 3,
        "sent_s": 0.81,
        "answered_s": None,
        "delay_ms": None,
    }
    assert measured.completion_s == 0.46
    assert accepted(transfer.workload, measured).details["unanswered"] == 1


@pytest.mark.parametrize("name", ["quic", "tcp", "mptcp"])
def test_no_answer_at_all_is_read_and_then_refused_by_the_workload(
    name: str, transfer: Transfer
) -> None:
    silent = CLIENT | {"requests": [[sent, None] for sent, _ in TIMES], "bytes_received": 0}
    measured = read(name, transfer, silent)
    assert measured.completion_s == 0.0
    with pytest.raises(TransferFailed, match="none of 3 requests was answered"):
        accepted(transfer.workload, measured)


@pytest.mark.parametrize("name", ["quic", "tcp", "mptcp"])
def test_an_error_in_the_client_s_report_is_a_failure_with_its_words(
    name: str, transfer: Transfer
) -> None:
    wrong = "request 1 was answered with 750 bytes, not those sent"
    with pytest.raises(TransferFailed, match=f"^client: {wrong}$"):
        read(name, transfer, CLIENT | {"error": wrong})


@pytest.mark.parametrize("printed", ["", "Traceback\n", json.dumps(CLIENT)[:80]])
@pytest.mark.parametrize("name", ["quic", "tcp", "mptcp"])
def test_a_missing_or_cut_report_is_a_failure(name: str, printed: str, transfer: Transfer) -> None:
    transfer.client_output.write_text(printed, encoding="utf-8")
    transfer.server_output.write_text(json.dumps(subflows(1, 1)), encoding="utf-8")
    with pytest.raises(TransferFailed, match=r"^client printed no report$"):
        get_runner(name).read(transfer)


def test_small_answers_may_all_take_one_subflow_of_mptcp(transfer: Transfer) -> None:
    assert len(read("mptcp", transfer, server=subflows(5000, 0)).rows) == 3
