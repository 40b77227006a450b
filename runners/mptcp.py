"""The application of runner `tcp` over the kernel's Multipath TCP v1 (RFC 8684)."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal

from minitopo_dc.runners.base import Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.host_command import run
from minitopo_dc.runners.kernel_socket import IPPROTO_MPTCP
from minitopo_dc.runners.tcp import TcpRunner
from minitopo_dc.runners.tools import Tool
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.paths import PATHS, PathReport


@runner("mptcp")
class MptcpRunner(TcpRunner):
    """MPTCP with one subflow per client address, the first being the initial one."""

    multipath: ClassVar[bool] = True
    checks_paths: ClassVar[bool] = True
    tools: ClassVar[tuple[Tool, ...]] = (
        *TcpRunner.tools,
        Tool("mptcpize", "--version", "mptcpize"),
    )
    essential: ClassVar[bool] = False
    protocol: ClassVar[Literal["tcp", "mptcp"]] = "mptcp"

    def missing(self) -> str | None:
        """What `tcp` needs, MPTCP in the kernel, and mptcpize, as curl has no option for it."""
        lacking = super().missing()
        if lacking is not None:
            return lacking
        try:
            socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
        except OSError as error:
            advice = "CONFIG_MPTCP and sysctl net.mptcp.enabled=1 are needed"
            return f"the kernel has no MPTCP: {error.strerror} ({advice})"
        return None

    def curl_command(self, transfer: Transfer) -> list[str]:
        """Mptcpize turns curl's TCP sockets into MPTCP sockets."""
        return ["mptcpize", "run", *super().curl_command(transfer)]

    @contextmanager
    def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
        """Let both hosts have enough subflows, and the client open one from each address."""
        more = transfer.client_addresses[1:]
        with ExitStack() as undo:
            for host in (server, client):
                undo.enter_context(_subflow_limit(host, len(more)))
            for address in more:
                undo.enter_context(_subflow_endpoint(client, address))
            yield

    def read(self, transfer: Transfer) -> Measurement:
        """As `tcp`; what the kernel said of subflows is told of the paths that they are."""
        measured = super().read(transfer)
        details = dict(measured.details)
        subflows = details.pop("subflows", [])
        details[PATHS] = [_path(transfer, subflow) for subflow in subflows]
        return replace(measured, details=details)

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Also: MPTCP to the end, and a subflow to each client address, of a download with data.

        (Small answers may all take the subflow with the shorter round trip.)

        Raises:
            TransferFailed: the connection fell back to TCP, or an address was not used.
        """
        super().check_connection(transfer, connection)
        if not connection["multipath"]:
            raise TransferFailed("the connection fell back to TCP (RFC 8684, section 3.7)")
        carried = dict.fromkeys(transfer.client_addresses, 0)
        for flow in connection["subflows"]:
            carried[flow["remote"]] = carried.get(flow["remote"], 0) + flow["bytes_sent"]
        reached = {flow["remote"] for flow in connection["subflows"]}
        missing = [address for address in transfer.client_addresses if address not in reached]
        if missing:
            raise TransferFailed(f"no MPTCP subflow to {', '.join(missing)}")
        unused = [address for address in transfer.client_addresses if not carried[address]]
        if unused and transfer.workload.has_goodput:
            raise TransferFailed(f"no MPTCP subflow carried data to {', '.join(unused)}")


def _path(transfer: Transfer, subflow: dict[str, Any]) -> dict[str, Any]:
    """A subflow as a path, with its addresses."""
    report = PathReport(
        leg=transfer.client_addresses.index(subflow["remote"]) + 1,
        opened_s=None,
        closed_s=None,
        bytes_sent=subflow["bytes_sent"],
        packets_lost=subflow["retransmissions"],
    )
    return report.values() | {name: subflow[name] for name in ("local", "remote")}


@contextmanager
def _subflow_limit(host: Host, subflows: int) -> Iterator[None]:
    """Allow so many subflows beside the initial one, until the end."""
    limits = run(host, ["ip", "mptcp", "limits", "show"])
    found = re.search(r"\bsubflows (\d+)", limits)
    if found is None:
        raise TransferFailed(f"'ip mptcp limits show' in {host.name} gave {limits.strip()!r}")
    set_limit = ["ip", "mptcp", "limits", "set", "subflows"]
    run(host, [*set_limit, str(max(subflows, int(found[1])))])
    try:
        yield
    finally:
        run(host, [*set_limit, found[1]])


@contextmanager
def _subflow_endpoint(host: Host, address: str) -> Iterator[None]:
    """Let a host open a subflow from an address for each of its connections, until the end."""
    device = _device_of(host, address)
    run(host, ["ip", "mptcp", "endpoint", "add", address, "dev", device, "subflow"])
    try:
        yield
    finally:
        identifier = _endpoint_id(run(host, ["ip", "mptcp", "endpoint", "show"]), address)
        run(host, ["ip", "mptcp", "endpoint", "delete", "id", identifier])


def _device_of(host: Host, address: str) -> str:
    shown = run(host, ["ip", "-json", "address", "show", "to", address])
    devices = [link["ifname"] for link in json.loads(shown) if link]
    if len(devices) != 1:
        raise TransferFailed(f"{len(devices)} interfaces of {host.name} have address {address}")
    return str(devices[0])


def _endpoint_id(shown: str, address: str) -> str:
    found = re.search(rf"^{re.escape(address)} id (\d+)", shown, re.MULTILINE)
    if found is None:
        raise TransferFailed(f"the MPTCP endpoint {address} has gone")
    return found[1]
