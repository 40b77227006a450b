"""Downloads for a time: what the server is asked for, and what of it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.workloads import Download, Measurement
from minitopo_dc.workloads.download import ENDLESS_BYTES
from tests.runners.hosts import transfer_in
from tests.runners.told import told

STOPPED = {"local_address": "10.0.1.2", "socket_drops": 0, "started_ns": 7, "stopped_s": 3.000001}
QLOG = (
    '\x1e{"time":0,"name":"transport:packet_sent","data":{}}\n'
    '\x1e{"time":47,"name":"transport:packet_received","data":{"frames":[{"stream_id":0,"x":1}]}}\n'
)


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    (tmp_path / "download").mkdir()
    return transfer_in(tmp_path, Download(duration_s=3), client_addresses=("10.0.1.2",))


def read(transfer: Transfer, content: bytes | None, report: dict[str, object]) -> Measurement:
    if content is not None:
        (transfer.directory / "download" / str(ENDLESS_BYTES)).write_bytes(content)
    qlog = transfer.directory / "qlog" / "client" / "client.sqlog"
    qlog.parent.mkdir(parents=True)
    qlog.write_text(QLOG, encoding="utf-8")
    transfer.client_output.write_text(json.dumps(report), encoding="utf-8")
    return get_runner("quic-ngtcp2").read(transfer)


def test_the_server_makes_the_content_so_that_no_file_is_needed(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("gtlsserver", "gtlsclient"):
        (transfer.directory / tool).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(transfer.directory))
    runner = get_runner("quic-ngtcp2")
    server = runner.server_command(transfer)
    assert server[server.index("--max-dyn-length") + 1] == str(ENDLESS_BYTES)
    client = told(runner.client_command(transfer))
    assert client["words"][-1] == f"https://server.test:4433/{ENDLESS_BYTES}"
    assert client["duration_s"] == 3
    with runner.files(transfer):
        assert not (transfer.directory / "www").exists()


def test_what_has_arrived_by_then_counts(transfer: Transfer) -> None:
    measured = read(transfer, bytes(2_000_000), STOPPED)
    assert (measured.bytes_received, measured.completion_s) == (2_000_000, 3.000001)
    assert measured.details["first_byte_s"] == pytest.approx(0.047)
    assert "stopped_s" not in measured.details


def test_other_bytes_than_the_server_s_are_a_failure(transfer: Transfer) -> None:
    with pytest.raises(TransferFailed, match="received 1500001 bytes, not those sent"):
        read(transfer, bytes(1_500_000) + b"x", STOPPED)


@pytest.mark.parametrize("content", [None, b""])
def test_nothing_by_then_is_told_as_such(transfer: Transfer, content: bytes | None) -> None:
    measured = read(transfer, content, STOPPED)
    assert transfer.workload.failure(measured) == "client received nothing in 3 s"


def test_a_client_that_has_ended_before_has_not_done_it(transfer: Transfer) -> None:
    measured = read(transfer, bytes(9000), STOPPED | {"stopped_s": None})
    assert transfer.workload.failure(measured) == (
        f"client ended after 0.047 of 3 s with 9000 of {ENDLESS_BYTES} bytes"
    )
