"""What is written of the kernel's word on TCP connections: a real one, of the loopback."""

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
from minitopo_dc.runners.tcp.info import FIELDS, FILE, TcpInfoFile


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
