"""TCP's server, its statistics, and the history of subflows."""

from __future__ import annotations

import csv
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.results.logs.tcp import FILE as READ
from minitopo_dc.results.logs.tcp import NUMBERS, tcp_info
from minitopo_dc.runners.processes.kernel_socket import Subflow, subflows
from minitopo_dc.runners.tcp.info import FIELDS, FILE, SAMPLE_NS, SubflowHistory, TcpInfoFile
from minitopo_dc.runners.tcp.server import listen


@pytest.fixture
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as server,
    ):
        yield server, client


def seen(server: socket.socket) -> Subflow:
    (found,) = subflows(server, server.getpeername())
    return found


def test_the_kernel_tells_state_threshold_and_round_trip_times(
    connected: tuple[socket.socket, socket.socket],
) -> None:
    server, client = connected
    server.sendall(bytes(1000))
    client.recv(1000, socket.MSG_WAITALL)
    found = seen(server)
    assert (found.congestion_state, found.ssthresh_bytes) == ("open", None)
    assert found.remote_port == client.getsockname()[1]
    assert found.least_rtt_ms is not None
    assert 0 < found.least_rtt_ms <= found.smoothed_rtt_ms < 1000
    assert found.rtt_variation_ms > 0


def test_samples_come_back_with_what_is_not_known_missing(
    connected: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    server, _ = connected
    flow = seen(server)
    with TcpInfoFile(tmp_path / FILE) as file:
        file.write(1, [flow])
        file.write(2, [replace(flow, ssthresh_bytes=9000), replace(flow, remote_port=1)])
    table = tcp_info(tmp_path)
    assert list(table["time_ns"]) == [1, 2]  # of the first connection
    assert table["ssthresh_bytes"].isna().tolist() == [True, False]
    assert table["cwnd_bytes"].iloc[0] == flow.cwnd_bytes


def test_reader_and_writer_have_the_same_columns(tmp_path: Path) -> None:
    assert READ == FILE
    with TcpInfoFile(tmp_path / FILE):
        pass
    (header,) = csv.reader((tmp_path / FILE).read_text().splitlines())
    assert set(header) == {"time_ns", *FIELDS} == {*NUMBERS, "state"}


def test_connections_have_the_segment_size_that_was_asked_for() -> None:
    with (
        listen("127.0.0.1", 0, socket.IPPROTO_TCP, "reno", 1280) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as server,
    ):
        timestamps = 12
        assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= 1280 - timestamps


FIRST = Subflow(
    local="10.0.0.2",
    remote="10.2.1.2",
    remote_port=40001,
    is_open=True,
    bytes_sent=1000,
    bytes_retransmitted=0,
    retransmissions=0,
    bytes_acked=900,
    bytes_received=10,
    segments_sent=1,
    cwnd_bytes=14480,
    in_flight_bytes=100,
    smoothed_rtt_ms=20.0,
    rtt_variation_ms=2.0,
    least_rtt_ms=None,
    ssthresh_bytes=None,
    congestion_state="open",
)
SECOND = replace(FIRST, remote="10.2.2.2", remote_port=40002)


def test_a_subflow_that_has_gone_keeps_its_last_counters() -> None:
    history = SubflowHistory(samples=False)
    history.take(1, [FIRST, SECOND], ended=False)
    history.take(2, [replace(SECOND, bytes_sent=5000)], ended=False)
    first, second = history.report()
    assert (first["bytes_sent"], first["opened_ns"], first["closed_ns"]) == (1000, 1, 2)
    assert (second["bytes_sent"], second["opened_ns"], second["closed_ns"]) == (5000, 1, None)


def test_a_subflow_that_one_end_closes_is_closed_and_counts_on() -> None:
    history = SubflowHistory(samples=False)
    history.take(1, [FIRST], ended=False)
    history.take(2, [replace(FIRST, is_open=False)], ended=False)
    history.take(3, [replace(FIRST, is_open=False, bytes_sent=1500)], ended=False)
    (only,) = history.report()
    assert (only["closed_ns"], only["bytes_sent"]) == (2, 1500)


def test_the_end_of_the_connection_closes_no_path() -> None:
    history = SubflowHistory(samples=False)
    history.take(1, [FIRST, SECOND], ended=False)
    history.take(2, [], ended=True)
    assert [each["closed_ns"] for each in history.report()] == [None, None]


def test_a_subflow_from_the_same_address_again_is_another() -> None:
    history = SubflowHistory(samples=False)
    history.take(1, [FIRST], ended=False)
    history.take(2, [SECOND], ended=False)
    history.take(3, [SECOND, replace(FIRST, remote_port=40003)], ended=False)
    assert [each["opened_ns"] for each in history.report()] == [1, 2, 3]


def times(history: SubflowHistory) -> list[list[int]]:
    return [[row["time_ns"] for row in each["samples"]] for each in history.report()]


def test_samples_are_an_interval_apart_however_often_one_looks() -> None:
    history = SubflowHistory(samples=True)
    tenth = SAMPLE_NS // 10
    for step in range(31):
        history.take(step * tenth, [FIRST], ended=False)
    assert times(history) == [[0, SAMPLE_NS, 2 * SAMPLE_NS, 3 * SAMPLE_NS]]


def test_a_subflow_has_a_sample_when_it_opens_and_a_last_one_when_it_closes() -> None:
    history = SubflowHistory(samples=True)
    history.take(0, [FIRST], ended=False)
    history.take(10, [FIRST, SECOND], ended=False)
    history.take(20, [FIRST], ended=False)
    history.take(SAMPLE_NS, [FIRST], ended=False)
    assert times(history) == [[0, SAMPLE_NS], [10, 20]]


def test_a_tcp_connection_has_no_samples() -> None:
    history = SubflowHistory(samples=False)
    history.take(0, [FIRST], ended=False)
    assert "samples" not in history.report()[0]
