"""Runners over IPv6: commands, sockets, and downloads over this machine's loopback interface."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.addresses import bracketed, ip_version, is_bound, socket_address
from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.workloads import Download
from tests.runners.hosts import LocalHost, run_transfer

HOST = LocalHost()


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
    return Transfer(
        workload=Download(size_mb=1_000_000 / 1e6),
        congestion_control="reno",
        server_address="fd00:10::2",
        port=4433,
        client_addresses=("fd00:10:2:1::2", "fd00:10:2:2::2"),
        directory=tmp_path / "run",
        certificate=tmp_path / "certificate.pem",
        key=tmp_path / "key.pem",
        timeout_s=20.0,
    )


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


@needs_ipv6
@pytest.mark.parametrize(("table", "kind"), [("udp", "DGRAM"), ("tcp", "STREAM")])
def test_a_bound_ipv6_socket_is_seen_at_its_address_only(table: str, kind: str) -> None:
    assert table in ("tcp", "udp")
    with socket.socket(socket.AF_INET6, socket.SocketKind[f"SOCK_{kind}"]) as bound:
        bound.bind(("::1", 0))
        port = bound.getsockname()[1]
        if table == "tcp":
            bound.listen()
        pid = os.getpid()
        assert is_bound(pid, table, "::1", port)  # type: ignore[arg-type]
        assert not is_bound(pid, table, "::2", port)  # type: ignore[arg-type]
        assert not is_bound(pid, table, "127.0.0.1", port)  # type: ignore[arg-type]


def test_curl_is_told_the_server_s_address_in_brackets(transfer: Transfer) -> None:
    for name in ("tcp", "mptcp"):
        command = get_runner(name).client_command(transfer)
        assert command[command.index("--resolve") + 1] == "server.test:4433:[fd00:10::2]"
        assert command[command.index("--interface") + 1] == "fd00:10:2:1::2"


def test_tquic_s_tools_are_told_addresses_in_brackets(
    transfer: Transfer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in get_runner("mpquic").tools:
        (tmp_path / tool.name).touch(mode=0o755)
    monkeypatch.setenv("TQUIC_BIN", str(tmp_path))
    runner = get_runner("mpquic")
    server, client = runner.server_command(transfer), runner.client_command(transfer)
    assert server[server.index("--listen") + 1] == "[fd00:10::2]:4433"
    assert client[client.index("--connect-to") + 1] == "[fd00:10::2]:4433"
    assert client[client.index("--local-addresses") + 1] == "fd00:10:2:1::2,fd00:10:2:2::2"


@pytest.mark.parametrize(("version", "most"), [(4, 1472), (6, 1452)])
def test_a_quic_datagram_must_fit_the_frame_behind_its_headers(version: int, most: int) -> None:
    quic = get_runner("quic")
    quic.check_options({"max_datagram_bytes": most}, version)
    with pytest.raises(SettingsError, match=f"must be 1200 to {most} with IPv{version}"):
        quic.check_options({"max_datagram_bytes": most + 1}, version)


@needs_ipv6
@pytest.mark.parametrize("name", ["quic", "quic-ngtcp2", "quic-picoquic", "tcp"])
def test_a_download_over_ipv6(name: str, transfer: Transfer, tmp_path: Path) -> None:
    runner = get_runner(name)
    if reason := runner.unsupported("reno"):
        pytest.skip(reason)
    make_certificate(tmp_path, ["::1"])
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
        udp.bind(("::1", 0))
        port = udp.getsockname()[1]
    local = replace(transfer, server_address="::1", client_addresses=("::1",), port=port)
    assert run_transfer(runner, local, HOST, HOST, on_start=lambda: None).bytes_received == 10**6
