"""The commands of ngtcp2's programs, and what they leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc.installation import module_command
from minitopo_dc.runners.base import TransferFailed, get_runner
from minitopo_dc.workloads import Download, Measurement
from minitopo_dc.workloads.download import ENDLESS_BYTES
from minitopo_dc.workloads.exchange import blocks
from tests.runners.hosts import CLIENT_ADDRESSES, SERVER_ADDRESS, told, transfer_in
from tests.runners.test_contract import only_place

SIZE = 2_000_000
HEAD = (
    '\x1e{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{"vantage_point":'
    '{"name":"ngtcp2","type":"client"},"common_fields":{"protocol_type":["QUIC"],'
    '"time_format":"relative","reference_time":0,"group_id":"8595f496173b8acc"}}}\n'
)
SENT = (
    '\x1e{"time":2,"name":"transport:packet_sent","data":{"frames":[{"frame_type":"crypto",'
    '"offset":0,"length":371},{"frame_type":"padding"}],"header":{"packet_type":"initial",'
    '"packet_number":0},"raw":{"length":1200}}}\n'
)
REQUEST = (
    '\x1e{"time":40,"name":"transport:packet_sent","data":{"frames":[{"frame_type":"stream",'
    '"stream_id":0,"offset":0,"length":40,"fin":true}],"header":{"packet_type":"1RTT",'
    '"packet_number":1},"raw":{"length":90}}}\n'
)
ANSWER = (
    '\x1e{"time":%d,"name":"transport:packet_received","data":{"frames":[{"frame_type":"stream",'
    '"stream_id":0,"offset":0,"length":577}],"header":{"packet_type":"1RTT","packet_number":3},'
    '"raw":{"length":620}}}\n'
)
CLOSED = (
    '\x1e{"time":872,"name":"transport:packet_received","data":{"frames":[{"frame_type":"ack",'
    '"ack_delay":0,"acked_ranges":[[3,9]]}],"header":{"packet_type":"1RTT","packet_number":665},'
    '"raw":{"length":40}}}\n'
)
QLOG = (HEAD, SENT, REQUEST, ANSWER % 61, ANSWER % 870, CLOSED)
REPORT = {
    **{"local_address": CLIENT_ADDRESSES[0], "receive_buffer_bytes": 212992, "socket_drops": 12},
    "started_ns": 71_000_000_000,
}
STOPPED = REPORT | {"stopped_s": 3.000001}
SIZED, TIMED = Download(size_mb=SIZE / 1e6), Download(duration_s=3)


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory of programs of their names, the only ones on PATH."""
    only_place(monkeypatch, tmp_path)
    for name in ("gtlsserver", "gtlsclient"):
        (tmp_path / name).touch(mode=0o755)
    return tmp_path


def test_the_server_serves_the_file_and_logs_when_asked_to(tools: Path) -> None:
    runner, transfer = get_runner("quic-ngtcp2"), transfer_in(tools)
    assert runner.server_command(transfer) == [
        *(str(tools / "gtlsserver"), "--quiet", "--htdocs", str(tools)),
        *("--max-dyn-length", "1000", "--cc", "cubic"),
        *("--no-pmtud", "--max-udp-payload-size", "1200", SERVER_ADDRESS, "4433"),
        *(str(transfer.key), str(transfer.certificate)),
    ]
    logged = runner.server_command(transfer_in(tools, options={"qlog": True}))
    assert logged[logged.index("--qlog-dir") + 1] == str(tools / "qlog" / "server")


def test_the_client_downloads_the_file_with_windows_that_stay(tools: Path) -> None:
    options = {"max_data": 2_000_000, "max_stream_data": 1_000_000, "max_datagram_bytes": 1280}
    options["receive_buffer_bytes"] = 33_554_432
    transfer = transfer_in(tools, options=options, congestion_control="bbr")
    command = get_runner("quic-ngtcp2").client_command(transfer)
    program = module_command("minitopo_dc.runners.ngtcp2")
    assert told(command) == transfer
    assert command[: len(program)] == program
    assert command[len(program) + 1 :] == [
        *(str(tools / "gtlsclient"), "--quiet", "--exit-on-all-streams-close"),
        *("--cc", "bbr", "--no-pmtud", "--max-udp-payload-size", "1280"),
        *("--max-data", "2000000", "--max-window", "2000000"),
        *("--max-stream-data-bidi-local", "1000000", "--max-stream-window", "1000000"),
        *("--sni", "server.test", "--qlog-file"),
        str(tools / "qlog" / "client" / "client.sqlog"),
        *("--download", str(tools / "download"), SERVER_ADDRESS, "4433"),
        "https://server.test:4433/www/1000",
    ]


def test_for_a_time_the_server_makes_the_content_so_that_no_file_is_needed(tools: Path) -> None:
    runner, transfer = get_runner("quic-ngtcp2"), transfer_in(tools, TIMED)
    server = runner.server_command(transfer)
    assert server[server.index("--max-dyn-length") + 1] == str(ENDLESS_BYTES)
    assert runner.client_command(transfer)[-1] == f"https://server.test:4433/{ENDLESS_BYTES}"
    with runner.files(transfer):
        assert not (tools / "www").exists()


@pytest.mark.parametrize("keep", [False, True])
def test_qlogs_stay_only_when_asked_for(keep: bool, tmp_path: Path) -> None:
    with get_runner("quic-ngtcp2").files(transfer_in(tmp_path, options={"qlog": keep})):
        (tmp_path / "qlog" / "client" / "client.sqlog").touch()
    assert [path.name for path in tmp_path.rglob("*.sqlog")] == ["client.sqlog"] * keep


def read(
    directory: Path,
    content: bytes | None,
    *records: str,
    workload: Download = SIZED,
    report: dict[str, object] = REPORT,
) -> Measurement:
    """What is read of a client that wrote this content and these records of its qlog."""
    transfer = transfer_in(directory, workload)
    (directory / "download").mkdir()
    (directory / "qlog" / "client").mkdir(parents=True)
    if content is not None:
        (directory / "download" / "file").write_bytes(content)
    qlog = directory / "qlog" / "client" / "client.sqlog"
    qlog.write_text("".join(records or QLOG), encoding="utf-8")
    transfer.client_log.write_text("ngtcp2_conn_handle_expiry: ERR_HANDSHAKE_TIMEOUT\n")
    transfer.client_output.write_text(json.dumps(report), encoding="utf-8")
    return get_runner("quic-ngtcp2").read(transfer)


WHOLE = b"".join(blocks(SIZE))


def test_the_time_is_from_the_first_packet_to_the_last_one_of_the_answer(tmp_path: Path) -> None:
    measurement = read(tmp_path, WHOLE)
    assert measurement.bytes_received == SIZE
    assert measurement.completion_s == pytest.approx(0.868)
    assert measurement.details["first_byte_s"] == pytest.approx(0.059)
    assert measurement.details["times_resolution_s"] == 0.001
    assert measurement.details["socket_drops"] == 12
    assert measurement.started_ns == 71_000_000_000


@pytest.mark.parametrize(
    ("content", "records", "words"),
    [
        (WHOLE, ("\n",), "client wrote no whole qlog with an answer"),
        (WHOLE, (HEAD, SENT, REQUEST, CLOSED), "client wrote no whole qlog with an answer"),
        (WHOLE, (HEAD, SENT, ANSWER[:-30] % 61), "client wrote no whole qlog with an answer"),
        (
            WHOLE,
            (HEAD, SENT.replace('"time":2,', ""), ANSWER % 61),
            "client wrote no whole qlog with an answer",
        ),
        (None, (HEAD, SENT), r"wrote 0 files, not one: .* ERR_HANDSHAKE_TIMEOUT"),
        (b"<html>404 Not Found</html>", QLOG, "received 26 bytes, not those sent"),
    ],
)
def test_what_is_no_whole_answer_is_a_failure(
    content: bytes | None, records: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(TransferFailed, match=words):
        read(tmp_path, content, *records)


def test_a_client_with_another_address_has_failed(tmp_path: Path) -> None:
    report = REPORT | {"local_address": CLIENT_ADDRESSES[1]}
    with pytest.raises(TransferFailed, match=r"client .*10\.83\.2\.2"):
        read(tmp_path, WHOLE, report=report)


def test_what_has_arrived_when_the_time_is_over_counts(tmp_path: Path) -> None:
    measured = read(tmp_path, bytes(SIZE), workload=TIMED, report=STOPPED)
    assert (measured.bytes_received, measured.completion_s) == (SIZE, 3.000001)
    assert measured.details["first_byte_s"] == pytest.approx(0.059)
    assert "stopped_s" not in measured.details


def test_other_bytes_than_the_server_s_are_a_failure(tmp_path: Path) -> None:
    with pytest.raises(TransferFailed, match="1500001"):
        read(tmp_path, bytes(1_500_000) + b"x", workload=TIMED, report=STOPPED)


@pytest.mark.parametrize("content", [None, b""])
def test_nothing_by_then_is_told_as_such(tmp_path: Path, content: bytes | None) -> None:
    measured = read(tmp_path, content, workload=TIMED, report=STOPPED)
    assert TIMED.failure(measured) == "client received nothing in 3 s"
