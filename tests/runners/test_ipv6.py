"""Runners over IPv6: commands, sockets, and downloads over this machine's loopback interface."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.addresses import (
    address_family,
    bracketed,
    ip_version,
    is_bound,
    is_port_bound,
    socket_address,
)
from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.workloads import Download
from tests.runners.hosts import local_transfer, run_transfer, transfer_in


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
            udp.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    clients = ("fd00:10:2:1::2", "fd00:10:2:2::2")
    return transfer_in(tmp_path, server_address="fd00:10::2", client_addresses=clients)


def test_addresses_stand_in_brackets_before_a_port_only() -> None:
    assert [bracketed(address) for address in ("10.0.0.2", "fd00::2")] == ["10.0.0.2", "[fd00::2]"]
    assert ip_version(["::1", "fd00::2"]) == 6


@needs_ipv6
def test_a_socket_address_is_what_a_socket_tells() -> None:
    with (
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as receiver,
    ):
        sender.bind(("::1", 0))
        receiver.bind(("::1", 0))
        sender.sendto(b"here", receiver.getsockname())
        _, address = receiver.recvfrom(10)
        assert address == socket_address("::1", sender.getsockname()[1])


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
@pytest.mark.parametrize("table", ["tcp", "udp"])
def test_a_bound_socket_is_seen_at_its_address_only_and_a_tcp_one_once_it_listens(
    table: Literal["tcp", "udp"], address: str
) -> None:
    kind = socket.SOCK_STREAM if table == "tcp" else socket.SOCK_DGRAM
    pid = os.getpid()
    with socket.socket(address_family(address), kind) as bound:
        try:
            bound.bind((address, 0))
        except OSError as error:
            pytest.skip(f"this machine has no {address}: {error}")
        port = bound.getsockname()[1]
        if table == "tcp":
            assert not is_bound(pid, table, address, port)
            assert not is_port_bound(pid, port)
            bound.listen()
        assert is_bound(pid, table, address, port)
        assert is_port_bound(pid, port)
        assert not is_bound(pid, table, "127.0.0.2", port)
        assert not is_bound(pid, table, "::2", port)
    assert not is_bound(pid, table, address, port)
    assert not is_port_bound(pid, port)


def test_curl_is_told_the_server_s_address_in_brackets(transfer: Transfer) -> None:
    for name in ("tcp", "mptcp"):
        command = get_runner(name).client_command(transfer)
        assert command[command.index("--resolve") + 1] == "server.test:4433:[fd00:10::2]"
        assert command[command.index("--interface") + 1] == "fd00:10:2:1::2"


@pytest.mark.parametrize(("version", "most"), [(4, 1472), (6, 1452)])
def test_a_quic_datagram_must_fit_the_frame_behind_its_headers(version: int, most: int) -> None:
    quic = get_runner("quic")
    quic.check_options({"max_datagram_bytes": most}, version)
    with pytest.raises(SettingsError, match=f"must be 1200 to {most} with IPv{version}"):
        quic.check_options({"max_datagram_bytes": most + 1}, version)


@needs_ipv6
@pytest.mark.parametrize("name", ["quic", "quic-ngtcp2", "quic-picoquic", "tcp"])
def test_a_single_path_transport_works_over_ipv6_without_root_or_namespaces(
    name: str, tmp_path: Path
) -> None:
    runner = get_runner(name)
    if reason := runner.run_obstacle("reno"):
        pytest.skip(reason)
    local = local_transfer(
        tmp_path,
        Download(size_mb=1),
        server_address="::1",
        client_addresses=("::1",),
        congestion_control="reno",
    )
    measured = run_transfer(runner, local)
    assert measured.bytes_received == 10**6
    assert (measured.started_ns is None) == (name == "tcp")  # curl does not tell it
    assert measured.details["started_s"] > 0
    assert "started_ns" not in measured.details
