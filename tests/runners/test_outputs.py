"""Reading what the tools print. Outputs are of real runs unless a test says otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import PathEvent, PathPlan
from minitopo_dc.runners.base import Transfer, TransferFailed, accepted, get_runner
from minitopo_dc.workloads import Download, Measurement
from minitopo_dc.workloads.content import content_sha256, write_content

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
# The counts of bytes are a real run's, times and samples are not.
MPTCP_SERVER = (
    '{"multipath": true, "congestion_control": "cubic", "subflows": [{"local": "10.83.0.1", '
    '"remote": "10.83.1.2", "remote_port": 46649, "is_open": true, "bytes_sent": 1958406, '
    '"bytes_retransmitted": 0, "retransmissions": 0, "bytes_acked": 1958407, '
    '"bytes_received": 793, "segments_sent": 1360, "cwnd_bytes": 82536, "in_flight_bytes": 0, '
    '"smoothed_rtt_ms": 52.5, "opened_ns": 71000000000, "closed_ns": null, "samples": ['
    '{"time_ns": 71000000000, "cwnd_bytes": 14480, "in_flight_bytes": 1448, '
    '"smoothed_rtt_ms": 20.5, "bytes_sent": 1448, "bytes_acked": 0, "packets_lost": 0}, '
    '{"time_ns": 71200000000, "cwnd_bytes": 82536, "in_flight_bytes": 0, '
    '"smoothed_rtt_ms": 52.5, "bytes_sent": 1958406, "bytes_acked": 1958407, '
    '"packets_lost": 0}]}, '
    '{"local": "10.83.0.1", "remote": "10.83.2.2", "remote_port": 41251, "is_open": true, '
    '"bytes_sent": 49467, "bytes_retransmitted": 0, "retransmissions": 0, "bytes_acked": 49468, '
    '"bytes_received": 0, "segments_sent": 36, "cwnd_bytes": 14480, "in_flight_bytes": 0, '
    '"smoothed_rtt_ms": 21.5, "opened_ns": 71050000000, "closed_ns": 71150000000, "samples": ['
    '{"time_ns": 71050000000, "cwnd_bytes": 14480, "in_flight_bytes": 14480, '
    '"smoothed_rtt_ms": 20.5, "bytes_sent": 14480, "bytes_acked": 0, "packets_lost": 0}, '
    '{"time_ns": 71150000000, "cwnd_bytes": 14480, "in_flight_bytes": 0, '
    '"smoothed_rtt_ms": 21.5, "bytes_sent": 49467, "bytes_acked": 49468, "packets_lost": 0}]}'
    "]}\n"
)
QUIC_CLIENT = (
    '{"status": 200, "bytes_received": 2000000, "sha256": '
    '"3d66b91f0b7651c13663e75c6a1b3c7d9122c3db0c7b61f5171dc40833a59724", "completion_s": '
    '0.18448067899998932, "stopped_s": null, "handshake_s": 0.012328355000136071, '
    '"first_byte_s": 0.015256756000326277, "receive_buffer_bytes": 212992, '
    '"socket_drops": 36, "error": null, "started_ns": 71000000000}\n'
)
TQUIC_CLIENT = """
finished in 358.142741ms, 2.79 req/s
conns: total 1, finish 1, success 1, failure 0
requests: sent 1, finish 1, success 1
time for request(µs):
\tmin: 350375.00, max: 350375.00, mean: 350375.00, sd: NaN
\tmedian: 350375.00, p80: 350375.00, p90: 350375.00, p99: 350375.00
recv pkts: 27827, sent pkts: 2456, lost pkts: 0
recv bytes: 40952659, sent bytes: 87891, lost bytes: 0
"""
TQUIC_CLIENT_WITHOUT_SERVER = """
finished in 1.009465353s, 0.00 req/s
conns: total 1, finish 1, success 0, failure 1
requests: sent 0, finish 0, success 0
time for request(µs):
\tmin: NaN, max: NaN, mean: NaN, sd: NaN
\tmedian: NaN, p80: NaN, p90: NaN, p99: NaN
recv pkts: 0, sent pkts: 1, lost pkts: 0
recv bytes: 0, sent bytes: 296, lost bytes: 0
"""


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return Transfer(
        workload=Download(size_mb=SIZE / 1e6),
        congestion_control="cubic",
        server_address="10.83.0.1",
        port=4433,
        client_addresses=("10.83.1.2", "10.83.2.2"),
        directory=tmp_path,
        certificate=tmp_path / "certificate.pem",
        key=tmp_path / "key.pem",
        timeout_s=10.0,
        begin_ns=70_900_000_000,
    )


def read(name: str, transfer: Transfer, client: str, server: str = "") -> Measurement:
    transfer.client_output.write_text(client, encoding="utf-8")
    transfer.server_output.write_text(server, encoding="utf-8")
    return get_runner(name).read(transfer)


def test_curl_reports_bytes_and_time(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    measurement = read("tcp", transfer, CURL, TCP_SERVER)
    assert (measurement.bytes_received, measurement.completion_s) == (SIZE, 0.023925)
    assert measurement.details["congestion_control"] == "cubic"


def test_mptcp_reports_each_subflow_as_a_path(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    paths = read("mptcp", transfer, CURL, MPTCP_SERVER).details["paths"]
    assert [(path["leg"], path["bytes_sent"]) for path in paths] == [(1, 1958406), (2, 49467)]


CHANGES = [
    {"at_s": 0.12, "action": "backup", "leg": 1, "done_s": 0.2},
    {"at_s": 0.2, "action": "abandon", "leg": 2, "done_s": 0.24},
]


def test_a_path_is_a_backup_from_when_the_client_s_kernel_was_told(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    transfer.paths_output.write_text("".join(f"{json.dumps(each)}\n" for each in CHANGES))
    events = tuple(PathEvent(each["at_s"], each["action"], each["leg"]) for each in CHANGES)  # type: ignore[arg-type]
    scheduled = replace(transfer, paths=PathPlan((1, 2), events))
    measured = read("mptcp", scheduled, CURL, MPTCP_SERVER)
    assert [each.state for each in measured.path_samples] == ["open", "open", "closed", "backup"]
    assert measured.details["path_changes"] == CHANGES


def test_with_a_schedule_an_address_may_carry_nothing(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    scheduled = replace(transfer, paths=PathPlan((1,)))
    report = json.loads(MPTCP_SERVER)
    del report["subflows"][1]
    assert read("mptcp", scheduled, CURL, json.dumps(report)).bytes_received == SIZE


def test_a_fallback_to_tcp_is_a_failure(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    with pytest.raises(TransferFailed, match="fell back to TCP"):
        read("mptcp", transfer, CURL, TCP_SERVER)


def test_another_congestion_control_is_a_failure(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    with pytest.raises(TransferFailed, match="the kernel used bbr, not cubic"):
        read("tcp", transfer, CURL, TCP_SERVER.replace("cubic", "bbr"))


def test_http_1_is_a_failure(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", SIZE)
    with pytest.raises(TransferFailed, match=r"status 200 over HTTP 1\.1, not 200 over HTTP 2"):
        read("tcp", transfer, CURL.replace('"2"', '"1.1"'), TCP_SERVER)


def test_other_bytes_of_the_right_number_are_a_failure(transfer: Transfer) -> None:
    (transfer.directory / "body").write_bytes(bytes(SIZE))
    with pytest.raises(TransferFailed, match="received 2000000 bytes, not those sent"):
        read("tcp", transfer, CURL, TCP_SERVER)


@pytest.mark.parametrize(
    ("client", "server", "silent"), [("", TCP_SERVER, "client"), (CURL, "", "server")]
)
def test_a_missing_report_is_a_failure(
    transfer: Transfer, client: str, server: str, silent: str
) -> None:
    with pytest.raises(TransferFailed, match=f"{silent} printed no report"):
        read("tcp", transfer, client, server)


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


STOPPED = {"bytes_received": 1_000_001, "completion_s": None, "stopped_s": 2.5}


def test_a_quic_client_that_stopped_is_believed_what_a_prefix_proves(transfer: Transfer) -> None:
    report = {**json.loads(QUIC_CLIENT), **STOPPED, "sha256": content_sha256(1_000_001)}
    measurement = read(
        "quic", replace(transfer, workload=Download(duration_s=2.5)), json.dumps(report)
    )
    assert (measurement.bytes_received, measurement.completion_s) == (1_000_001, 2.5)


def test_a_quic_client_that_stopped_with_other_bytes_is_a_failure(transfer: Transfer) -> None:
    report = {**json.loads(QUIC_CLIENT), **STOPPED, "sha256": content_sha256(1_000_000)}
    timed = replace(transfer, workload=Download(duration_s=2.5))
    with pytest.raises(TransferFailed, match="received 1000001 bytes, not those sent"):
        accepted(timed.workload, read("quic", timed, json.dumps(report)))


def test_curl_that_stopped_is_believed_what_a_prefix_proves(transfer: Transfer) -> None:
    write_content(transfer.directory / "body", 1_000_001)
    client = CURL.replace("2000000", "1000001")
    measurement = read(
        "tcp", replace(transfer, workload=Download(duration_s=2.5)), client, TCP_SERVER
    )
    assert measurement.bytes_received == 1_000_001


def test_curl_that_got_no_answer_in_its_time_has_nothing(transfer: Transfer) -> None:
    answer = {"status": "000", "http_version": "0", "bytes": 0, "completion_s": 2.5}
    silent = json.dumps(answer)
    stopped = replace(transfer, workload=Download(duration_s=2.5))
    assert read("tcp", stopped, silent) == Measurement(0, 2.5, answer | {"status": 0})
    with pytest.raises(TransferFailed, match="client got status 0 over HTTP 0, not 200"):
        read("tcp", transfer, silent)


def test_curl_that_wrote_another_beginning_is_a_failure(transfer: Transfer) -> None:
    (transfer.directory / "body").write_bytes(bytes(1_000_001))
    client = CURL.replace("2000000", "1000001")
    with pytest.raises(TransferFailed, match="received 1000001 bytes, not those sent"):
        read("tcp", replace(transfer, workload=Download(duration_s=2.5)), client, TCP_SERVER)


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
def test_curl_s_time_out_is_no_failure_with_a_duration_only(name: str, transfer: Transfer) -> None:
    runner = get_runner(name)
    assert runner.client_exit_codes(transfer) == {0}
    assert runner.client_exit_codes(replace(transfer, workload=Download(duration_s=2.5))) == {0, 28}
    assert "--max-time" not in runner.client_command(transfer)
    command = runner.client_command(replace(transfer, workload=Download(duration_s=2.5)))
    assert command[command.index("--max-time") + 1] == "2.5"


def write_download(transfer: Transfer, content: bytes | None) -> None:
    download = transfer.directory / "download"
    download.mkdir()
    if content is None:
        write_content(download / str(SIZE), SIZE)
    else:
        (download / str(SIZE)).write_bytes(content)


def test_tquic_reports_time_and_counters(transfer: Transfer) -> None:
    write_download(transfer, None)
    measurement = read("mpquic", transfer, TQUIC_CLIENT)
    assert measurement.bytes_received == SIZE
    assert measurement.completion_s == pytest.approx(0.358142741)
    assert measurement.details == {
        **{"recv_pkts": 27827, "sent_pkts": 2456, "lost_pkts": 0},
        **{"recv_bytes": 40952659, "sent_bytes": 87891, "lost_bytes": 0},
    }


@pytest.mark.parametrize(
    ("printed", "seconds"), [("1.009465353s", 1.009465353), ("12.5µs", 12.5e-6), ("2s", 2.0)]
)
def test_tquics_time_is_read_in_every_unit(
    transfer: Transfer, printed: str, seconds: float
) -> None:
    write_download(transfer, None)
    measurement = read("mpquic", transfer, TQUIC_CLIENT.replace("358.142741ms", printed))
    assert measurement.completion_s == pytest.approx(seconds)


@pytest.mark.parametrize("printed", ["", TQUIC_CLIENT_WITHOUT_SERVER])
def test_tquic_without_a_finished_request_is_a_failure(transfer: Transfer, printed: str) -> None:
    write_download(transfer, None)
    with pytest.raises(TransferFailed, match="tquic_client did not finish its request"):
        read("mpquic", transfer, printed)


def test_tquics_page_for_a_missing_file_is_a_failure(transfer: Transfer) -> None:
    write_download(transfer, b"Not Found!")  # what it serves then, with status 404
    with pytest.raises(TransferFailed, match="received 10 bytes, not those sent"):
        read("mpquic", transfer, TQUIC_CLIENT)


def test_tquic_without_a_downloaded_file_is_a_failure(transfer: Transfer) -> None:
    (transfer.directory / "download").mkdir()
    with pytest.raises(TransferFailed, match="wrote 0 files"):
        read("mpquic", transfer, TQUIC_CLIENT)


NGTCP2_HEAD = (
    '\x1e{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{"vantage_point":'
    '{"name":"ngtcp2","type":"client"},"common_fields":{"protocol_type":["QUIC"],'
    '"time_format":"relative","reference_time":0,"group_id":"8595f496173b8acc"}}}\n'
)
NGTCP2_SENT = (
    '\x1e{"time":2,"name":"transport:packet_sent","data":{"frames":[{"frame_type":"crypto",'
    '"offset":0,"length":371},{"frame_type":"padding"}],"header":{"packet_type":"initial",'
    '"packet_number":0},"raw":{"length":1200}}}\n'
)
NGTCP2_REQUEST = (
    '\x1e{"time":40,"name":"transport:packet_sent","data":{"frames":[{"frame_type":"stream",'
    '"stream_id":0,"offset":0,"length":40,"fin":true}],"header":{"packet_type":"1RTT",'
    '"packet_number":1},"raw":{"length":90}}}\n'
)
NGTCP2_ANSWER = (
    '\x1e{"time":%d,"name":"transport:packet_received","data":{"frames":[{"frame_type":"stream",'
    '"stream_id":0,"offset":0,"length":577}],"header":{"packet_type":"1RTT","packet_number":3},'
    '"raw":{"length":620}}}\n'
)
NGTCP2_CLOSED = (
    '\x1e{"time":872,"name":"transport:packet_received","data":{"frames":[{"frame_type":"ack",'
    '"ack_delay":0,"acked_ranges":[[3,9]]}],"header":{"packet_type":"1RTT","packet_number":665},'
    '"raw":{"length":40}}}\n'
)


NGTCP2_CLIENT = (
    '{"local_address": "10.83.1.2", "receive_buffer_bytes": 212992, "socket_drops": 12, '
    '"started_ns": 71000000000}\n'
)


def read_ngtcp2(transfer: Transfer, *records: str, client: str = NGTCP2_CLIENT) -> Measurement:
    qlog = transfer.directory / "qlog" / "client" / "client.sqlog"
    qlog.parent.mkdir(parents=True)
    qlog.write_text("".join(records), encoding="utf-8")
    transfer.client_log.write_text("ngtcp2_conn_handle_expiry: ERR_HANDSHAKE_TIMEOUT\n")
    return read("quic-ngtcp2", transfer, client)


def test_ngtcp2s_time_is_from_its_first_packet_to_the_last_one_of_the_answer(
    transfer: Transfer,
) -> None:
    write_download(transfer, None)
    answers = (NGTCP2_ANSWER % 61, NGTCP2_ANSWER % 870)
    measurement = read_ngtcp2(
        transfer, NGTCP2_HEAD, NGTCP2_SENT, NGTCP2_REQUEST, *answers, NGTCP2_CLOSED
    )
    assert measurement.bytes_received == SIZE
    assert measurement.completion_s == pytest.approx(0.868)
    assert measurement.details["first_byte_s"] == pytest.approx(0.059)
    assert measurement.details["times_resolution_s"] == 0.001
    assert measurement.details["socket_drops"] == 12
    assert measurement.started_ns == 71_000_000_000


def test_ngtcp2_from_another_address_is_a_failure(transfer: Transfer) -> None:
    write_download(transfer, None)
    records = (NGTCP2_HEAD, NGTCP2_SENT, NGTCP2_ANSWER % 61)
    with pytest.raises(TransferFailed, match=r"client used its address 10\.83\.2\.2"):
        read_ngtcp2(transfer, *records, client=NGTCP2_CLIENT.replace("1.2", "2.2"))


@pytest.mark.parametrize(
    "records",
    [
        (),
        (NGTCP2_HEAD, NGTCP2_SENT, NGTCP2_REQUEST, NGTCP2_CLOSED),
        (NGTCP2_HEAD, NGTCP2_SENT, NGTCP2_ANSWER[:-30] % 61),
        (NGTCP2_HEAD, NGTCP2_SENT.replace('"time":2,', ""), NGTCP2_ANSWER % 61),
    ],
)
def test_a_qlog_of_ngtcp2_without_a_whole_answer_is_a_failure(
    records: tuple[str, ...], transfer: Transfer
) -> None:
    write_download(transfer, None)
    with pytest.raises(TransferFailed, match="client wrote no whole qlog with an answer"):
        read_ngtcp2(transfer, *records)


def test_ngtcp2_without_a_connection_says_what_its_client_said(transfer: Transfer) -> None:
    (transfer.directory / "download").mkdir()
    with pytest.raises(TransferFailed, match=r"wrote 0 files, not one: .* ERR_HANDSHAKE_TIMEOUT"):
        read_ngtcp2(transfer, NGTCP2_HEAD, NGTCP2_SENT)


def test_ngtcp2s_page_for_a_missing_file_is_a_failure(transfer: Transfer) -> None:
    write_download(transfer, b"<html>404 Not Found</html>")
    with pytest.raises(TransferFailed, match="received 26 bytes, not those sent"):
        read_ngtcp2(transfer, NGTCP2_HEAD, NGTCP2_SENT, NGTCP2_ANSWER % 61)
