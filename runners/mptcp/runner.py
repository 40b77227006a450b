"""The application of runner `tcp` over the kernel's Multipath TCP v1 (RFC 8684)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from minitopo_dc.runners.base import Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.mptcp.endpoints import (
    MOST_SUBFLOWS,
    first_endpoints,
    most_subflows,
    subflow_limit,
)
from minitopo_dc.runners.mptcp.paths import PathsSettings
from minitopo_dc.runners.mptcp.report import path_changes, path_details, path_samples
from minitopo_dc.runners.mptcp.virtual import MptcpFlow
from minitopo_dc.runners.processes.kernel_socket import mptcp_refusal
from minitopo_dc.runners.tcp.runner import MptcpOptions, TcpRunner
from minitopo_dc.runners.tools import Tool
from minitopo_dc.runners.virtual import GuestTransport
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.paths import PATHS


@runner("mptcp")
class MptcpRunner(TcpRunner):
    """MPTCP with one subflow for each path that is open."""

    multipath: ClassVar[bool] = True
    checks_paths: ClassVar[bool] = True
    takes_paths: ClassVar[bool] = True
    most_paths: ClassVar[int | None] = 1 + MOST_SUBFLOWS
    paths_of_host: ClassVar[bool] = True
    tools: ClassVar[tuple[Tool, ...]] = (
        *TcpRunner.tools,
        Tool("mptcpize", "--version", "mptcpize"),
    )
    options_type: ClassVar[type[MptcpOptions]] = MptcpOptions
    essential: ClassVar[bool] = False
    protocol: ClassVar[Literal["tcp", "mptcp"]] = "mptcp"

    def missing(self) -> str | None:
        """What `tcp` needs, MPTCP in the kernel, and mptcpize, as curl has no option for it."""
        return super().missing() or mptcp_refusal()

    def curl_command(self, transfer: Transfer) -> list[str]:
        """Mptcpize turns curl's TCP sockets into MPTCP sockets."""
        return ["mptcpize", "run", *super().curl_command(transfer)]

    @contextmanager
    def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
        """Let both hosts have enough subflows, and the client the endpoints of its first paths."""
        with ExitStack() as undo:
            for host in (server, client):
                undo.enter_context(subflow_limit(host, most_subflows(transfer)))
            addresses = transfer.client_addresses
            undo.enter_context(first_endpoints(client, addresses, transfer.path_plan))
            yield

    def paths_command(self, transfer: Transfer) -> list[str] | None:
        """A program that changes the client's endpoints, if the schedule has changes."""
        if not transfer.path_plan.events:
            return None
        assert transfer.begin_ns is not None  # it is started behind the client
        told = PathsSettings(
            paths=transfer.path_plan,
            begin_ns=transfer.begin_ns,
            addresses=transfer.client_addresses,
            server=transfer.server_address,
            port=transfer.port,
        )
        return told.command("minitopo_dc.runners.mptcp.paths", transfer.paths_settings)

    def guest(self) -> GuestTransport:
        """As `tcp`, with MPTCP's endpoints."""
        return partial(MptcpFlow, self)

    def measured(
        self, transfer: Transfer, client: dict[str, Any], connection: dict[str, Any] | None
    ) -> Measurement:
        """As `tcp`; what the kernel said of subflows is told of the paths that they are."""
        measured = super().measured(transfer, client, connection)
        details = dict(measured.details)
        subflows = details.pop("subflows", [])
        details[PATHS] = path_details(transfer, subflows)
        if transfer.path_plan.events:
            details["path_changes"] = path_changes(transfer)
        samples = path_samples(transfer, subflows)
        return replace(measured, details=details, path_samples=samples)

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Also: MPTCP to the end, and without a path schedule a subflow to each client address.

        Of a download each with data; small answers may all take the one with the shorter round
        trip. What a schedule asks for is known when it is known how long the transfer took.

        Raises:
            TransferFailed: the connection fell back to TCP, or an address was not used.
        """
        super().check_connection(transfer, connection)
        if not connection["multipath"]:
            raise TransferFailed("the connection fell back to TCP (RFC 8684, section 3.7)")
        plan = transfer.path_plan
        if plan.each_carries and plan.is_whole(len(transfer.client_addresses)):
            self._check_addresses(transfer, connection)

    def _check_addresses(self, transfer: Transfer, connection: dict[str, Any]) -> None:
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
