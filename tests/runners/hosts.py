"""Hosts for the runners' tests: this machine itself, and two namespaces joined by two links."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import Host, Runner, Transfer
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.mptcp.endpoints import LocalHost
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.workloads import Download, Measurement, Workload

SERVER_ADDRESS = "10.83.0.1"
CLIENT_ADDRESSES = ("10.83.1.2", "10.83.2.2")
PORT = 4433


HOST = LocalHost("localhost")
"""No namespace at all."""


@dataclass(frozen=True)
class NamespaceHost(LocalHost):
    """A network namespace of iproute2."""

    def popen(self, arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        return super().popen(["ip", "netns", "exec", self.name, *arguments], **streams)

    def run(self, *arguments: str) -> str:
        return run("ip", "netns", "exec", self.name, *arguments)

    def received_bytes(self, interface: str) -> int:
        counter = f"/sys/class/net/{interface}/statistics/rx_bytes"
        return int(self.run("cat", counter))


@dataclass(frozen=True)
class TwoHosts:
    """A server with one service address and a client with an address on each of two links."""

    server: NamespaceHost
    client: NamespaceHost

    def received_bytes(self) -> list[int]:
        return [self.client.received_bytes(f"link{leg}") for leg in (1, 2)]

    @contextmanager
    def limited(self, rate: str, queue_bytes: int = 150_000) -> Iterator[None]:
        """Give each link a rate from server to client, with a queue of 100 packets or so."""
        shape = ["tbf", "rate", rate, "burst", "6000", "limit", str(queue_bytes)]
        try:
            for link in ("link1", "link2"):
                self.server.run("tc", "qdisc", "replace", "dev", link, "root", *shape)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this kernel cannot limit a link (sch_tbf): {error.stderr}")
        try:
            yield
        finally:
            for link in ("link1", "link2"):
                self.server.run("tc", "qdisc", "delete", "dev", link, "root")

    @contextmanager
    def second_path_blocked(self) -> Iterator[None]:
        """Let nothing of the server's reach the client's second address."""
        blackhole = ["blackhole", f"{CLIENT_ADDRESSES[1]}/32"]
        self.server.run("ip", "route", "add", *blackhole)
        try:
            yield
        finally:
            self.server.run("ip", "route", "delete", *blackhole)


@contextmanager
def two_hosts() -> Iterator[TwoHosts]:
    """Two namespaces of unique names, removed at the end with their interfaces."""
    names = [f"runners-{os.getpid()}-{role}" for role in ("server", "client")]
    try:
        for name in names:
            run("ip", "netns", "add", name)
        hosts = TwoHosts(*(NamespaceHost(name) for name in names))
        _connect(hosts)
        yield hosts
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def _connect(hosts: TwoHosts) -> None:
    server, client = hosts.server, hosts.client
    server.run("ip", "link", "set", "lo", "up")
    server.run("ip", "address", "add", f"{SERVER_ADDRESS}/32", "dev", "lo")
    for leg, address in enumerate(CLIENT_ADDRESSES, start=1):
        link, gateway = f"link{leg}", f"10.83.{leg}.1"
        peer = ["peer", "name", link, "netns", client.name]
        run("ip", "link", "add", link, "netns", server.name, "type", "veth", *peer)
        for host, local in ((server, gateway), (client, address)):
            host.run("ip", "address", "add", f"{local}/24", "dev", link)
            host.run("ip", "link", "set", link, "up")
        client.run("ip", "rule", "add", "from", address, "table", str(leg))
        client.run("ip", "route", "add", SERVER_ADDRESS, "via", gateway, "table", str(leg))
    client.run("ip", "route", "add", SERVER_ADDRESS, "via", "10.83.1.1")


def run(*arguments: str) -> str:
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def processes_in(host: NamespaceHost) -> list[int]:
    return [int(pid) for pid in run("ip", "netns", "pids", host.name).split()]


def large_files(directory: Path) -> list[Path]:
    """Files of a transfer's size: a run is to leave logs only."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return [path for path in files if path.stat().st_size > 1_000_000]


def transfer_in(directory: Path, workload: Workload | None = None, **fields: Any) -> Transfer:
    """A transfer with its files in `directory`, between addresses that no machine need have."""
    values: dict[str, Any] = {
        "workload": workload or Download(size_mb=0.001),
        "congestion_control": "cubic",
        "server_address": SERVER_ADDRESS,
        "port": PORT,
        "client_addresses": CLIENT_ADDRESSES,
        "directory": directory,
        "certificate": directory / "certificate.pem",
        "key": directory / "key.pem",
        "timeout_s": 60.0,
        **fields,
    }
    return Transfer(**values)


def transfer_between(directory: Path, workload: Workload, **fields: Any) -> Transfer:
    """The same of hosts that are there, as those of `two_hosts`: with a certificate."""
    made = transfer_in(directory, workload, **fields)
    make_certificate(directory, [made.server_address])
    return replace(made, directory=directory / "run")


def local_transfer(directory: Path, workload: Workload, **fields: Any) -> Transfer:
    """The same between addresses of this machine, at a port that is free."""
    local = {"server_address": "127.0.0.1", "client_addresses": ("127.0.0.1",)}
    return transfer_between(directory, workload, **{**local, "port": free_port(), **fields})


def free_port() -> int:
    """A number that is neither TCP's nor UDP's of a socket on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        return int(tcp.getsockname()[1])


def nothing() -> None:
    """What most runs do at their start."""


def run_transfer(
    runner: Runner,
    transfer: Transfer,
    server: Host = HOST,
    client: Host = HOST,
    *,
    on_start: Callable[[], None] = nothing,
) -> Measurement:
    return run_transfers([Job(runner, transfer)], server, client, on_start=on_start)[0]


def told(command: Sequence[str]) -> Transfer:
    """What a program of this project with this command line reads of its transfer."""
    before, sys.argv = sys.argv, list(command[command.index("-m") + 1 :])
    try:
        return Transfer.given()
    finally:
        sys.argv = before
