"""TCP's server, its statistics, and the history of subflows."""

from __future__ import annotations

import csv
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.results.tcp_info import FILE as READ
from minitopo_dc.results.tcp_info import NUMBERS, tcp_info
from minitopo_dc.runners.processes.kernel_socket import Subflow, subflows
from minitopo_dc.runners.tcp.info import (
    FIELDS,
    FILE,
    SAMPLE_NS,
    SubflowHistory,
    info_file,
    info_rows,
)
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
    with info_file(tmp_path / FILE) as file:
        file.add_all(info_rows(1, [flow]))
        file.add_all(
            info_rows(2, [replace(flow, ssthresh_bytes=9000), replace(flow, remote_port=1)])
        )
    assert READ == FILE
    header, *_ = csv.reader((tmp_path / FILE).read_text().splitlines())
    assert set(header) == {"time_ns", *FIELDS} == {*NUMBERS, "state"}
    table = tcp_info(tmp_path)
    assert list(table["time_ns"]) == [1, 2]  # of the first connection
    assert table["ssthresh_bytes"].isna().tolist() == [True, False]
    assert table["cwnd_bytes"].iloc[0] == flow.cwnd_bytes


def test_connections_have_the_segment_size_that_was_asked_for() -> None:
    with (
        listen("127.0.0.1", 0, "tcp", "reno", 1280) as listener,
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


GONE, HALF_CLOSED = replace(SECOND, bytes_sent=5000), replace(FIRST, is_open=False)
AGAIN = replace(FIRST, remote_port=40003)


@pytest.mark.parametrize(
    ("steps", "opened", "closed", "sent"),
    [
        # One that has gone keeps its last counters.
        ([[FIRST, SECOND], [GONE]], [1, 1], [2, None], [1000, 5000]),
        # One that one end closes counts on.
        ([[FIRST], [HALF_CLOSED], [replace(HALF_CLOSED, bytes_sent=1500)]], [1], [2], [1500]),
        # One from the same address again is another.
        ([[FIRST], [SECOND], [SECOND, AGAIN]], [1, 2, 3], [2, None, None], 3 * [1000]),
    ],
)
def test_subflows_come_and_go(
    steps: list[list[Subflow]], opened: list[int], closed: list[int | None], sent: list[int]
) -> None:
    history = SubflowHistory(samples=False)
    for number, step in enumerate(steps, start=1):
        history.take(number, step, ended=False)
    report = history.report()
    assert [flow["opened_ns"] for flow in report] == opened
    assert [flow["closed_ns"] for flow in report] == closed
    assert [flow["bytes_sent"] for flow in report] == sent
    assert "samples" not in report[0]
    history.take(9, [], ended=True)  # the end of the connection closes no path
    assert [flow["closed_ns"] for flow in history.report()] == closed


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
