"""The application of runner `tcp` over the kernel's or a guest's Multipath TCP v1 (RFC 8684)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import StringConstraints

from minitopo_dc.linux_guest import find_agent, proxy_obstacle
from minitopo_dc.linux_guest.orders import orders
from minitopo_dc.runners.base import FlowFacts, Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.guest_programs import ProgramsFlow
from minitopo_dc.runners.mptcp.endpoints import (
    MAX_SUBFLOWS,
    EndpointChanges,
    first_endpoints,
    max_subflows,
    path_changes,
    path_details,
    path_samples,
    subflow_limit,
)
from minitopo_dc.runners.processes.kernel_socket import TcpProtocol, mptcp_obstacle, schedulers
from minitopo_dc.runners.processes.process import kernel_setting
from minitopo_dc.runners.programs import Tool
from minitopo_dc.runners.tcp.info import SAMPLE_NS, AgentSamples
from minitopo_dc.runners.tcp.runner import TcpRunner, TlsOptions
from minitopo_dc.runners.tcp.virtual import TcpFlow, is_of_agent
from minitopo_dc.runners.virtual import GuestFlow
from minitopo_dc.workloads import Measurement, Workload
from minitopo_dc.workloads.path_reports import PATHS, PathSample


class MptcpFlow(TcpFlow):
    """A connection with a subflow for each path that is open."""

    def __init__(self, runner: TcpRunner, facts: FlowFacts) -> None:
        super().__init__(runner, facts)
        self._endpoints = EndpointChanges(self.facts)

    def path_orders(self) -> dict[str, Any]:
        """Return orders for the endpoints of the paths."""
        return self._endpoints.orders()

    def take(self, words: str) -> bool:
        """Take also the report of a change of the endpoints."""
        kind, _, rest = words.partition(" ")
        if kind != "changed":
            return super().take(words)
        self._endpoints.note(*map(int, rest.split()))
        return False

    def path_samples(self) -> Sequence[PathSample]:
        """Return all samples of subflows since the last call."""
        found = path_samples(self.facts, self.samples.history.report())
        self.samples.history.forget_samples()
        return found


SCHEDULER = "net.mptcp.scheduler"
"""mptcp-sysctl.rst of Linux."""
GUEST_SCHEDULERS = ("default",)
"""Of Linux 6.12; others would be programs of BPF, which the guest has not."""
SchedulerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]


class MptcpOptions(TlsOptions):
    """Options of HTTP/2 over TLS, and what decides which subflow has the next data.

    Attributes:
        scheduler: the packet scheduler of both hosts, by the kernel's name for it; None: its
            default.
    """

    scheduler: SchedulerName | None = None

    def sysctl(self) -> dict[str, str]:
        """Return the settings that both hosts' kernels are to have."""
        return {} if self.scheduler is None else {SCHEDULER: self.scheduler}


@runner("mptcp")
class MptcpRunner(TcpRunner):
    """MPTCP with one subflow for each path that is open."""

    multipath: ClassVar[bool] = True
    checks_paths: ClassVar[bool] = True
    takes_paths: ClassVar[bool] = True
    path_limit: ClassVar[int | None] = 1 + MAX_SUBFLOWS
    paths_of_host: ClassVar[bool] = True
    has_real_proxy: ClassVar[bool] = True
    tools: ClassVar[tuple[Tool, ...]] = (
        *TcpRunner.tools,
        Tool("mptcpize", "--version", "mptcpize"),
    )
    options_type: ClassVar[type[MptcpOptions]] = MptcpOptions
    essential: ClassVar[bool] = False
    protocol: ClassVar[TcpProtocol] = "mptcp"

    def modes(self) -> tuple[str, ...]:
        """Return that it is multipath to the server, or with ATSSS to a proxy on the UPF."""
        return ("multipath", "atsss")

    def proxy_obstacle(
        self, workload: Workload, options: Mapping[str, Any], ip_version: int
    ) -> str | None:
        """Return that only programs of this project connect to a proxy."""
        if is_of_agent(workload):
            return None
        return f"which carries no workload {workload.kind}; allowed: download, request-response"

    def obstacle(self) -> str | None:
        """Return what is lacking of `tcp`'s needs, MPTCP in the kernel, and mptcpize for curl."""
        return super().obstacle() or mptcp_obstacle()

    def curl_command(self, transfer: Transfer) -> list[str]:
        """Return curl's command line behind mptcpize, which makes its TCP sockets MPTCP sockets."""
        return ["mptcpize", "run", *super().curl_command(transfer)]

    @contextmanager
    def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
        """Allow enough subflows on both hosts, and add the endpoints of the client's first paths.

        All is undone at the end.
        """
        with ExitStack() as undo:
            settings = MptcpOptions.check(transfer.options, f"runner {self.name}").sysctl()
            for host in (server, client):
                undo.enter_context(subflow_limit(host, max_subflows(transfer)))
                for name, value in settings.items():
                    undo.enter_context(kernel_setting(host, name, value))
            addresses = transfer.client_addresses
            undo.enter_context(first_endpoints(client, addresses, transfer.path_plan))
            yield

    def paths_command(self, transfer: Transfer) -> list[str] | None:
        """Return the program that changes the client's endpoints, None without changes."""
        if not transfer.path_plan.events:
            return None
        return transfer.command("minitopo_dc.runners.mptcp.endpoints", "paths")

    def proxy_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the guest's agent as a proxy.

        Raises:
            TransferFailed: it is not built.
        """
        if (agent := find_agent()) is None:
            raise TransferFailed(str(proxy_obstacle()))
        assert transfer.proxy_address is not None  # the caller has looked
        server = (transfer.server_address, transfer.port)
        control = transfer.congestion_control
        made = orders(
            server, proxy=transfer.proxy_address, congestion_control=control, sample=SAMPLE_NS
        )
        transfer.proxy_settings.write_bytes(made)
        return [str(agent), "proxy", str(transfer.proxy_settings)]

    def connection(self, transfer: Transfer) -> dict[str, Any]:
        """Return what the server's kernel said of the client's connection, or the proxy's."""
        if transfer.proxy_address is None:
            return super().connection(transfer)
        samples = AgentSamples(samples=True)
        for line in transfer.proxy_output.read_text(encoding="ascii").splitlines():
            samples.take(*line.split(" ", 1))
        if (connection := samples.connection()) is None:
            raise TransferFailed("proxy reported no connection")
        return connection

    def _in_guest(self, facts: FlowFacts) -> GuestFlow:
        """Return the ends in a guest as `tcp` has them, with MPTCP's endpoints."""
        options = MptcpOptions.check(facts.options, f"runner {self.name}")
        facts = replace(facts, sysctl={**facts.sysctl, **options.sysctl()})
        if is_of_agent(facts.workload):
            return MptcpFlow(self, facts)
        changes = EndpointChanges(facts)
        return ProgramsFlow(
            self, facts, changes=changes.orders(), note=changes.note, ready_port=facts.port
        )

    def options_obstacle(self, options: Mapping[str, Any], *, virtual: bool) -> str | None:
        """Return that the kernel lacks the packet scheduler, with those that it has."""
        wanted = MptcpOptions.check(options, f"runner {self.name}").scheduler
        offered = GUEST_SCHEDULERS if virtual else schedulers()
        if wanted is None or wanted in offered:
            return None
        kernel = "the guest's kernel" if virtual else "this machine's kernel"
        return f"options.scheduler: {wanted}; {kernel} has {', '.join(offered) or 'none to choose'}"

    def measured(
        self, transfer: Transfer, client: dict[str, Any], connection: dict[str, Any] | None
    ) -> Measurement:
        """Return the outcome as `tcp` does, with the kernel's counters of subflows as paths."""
        measured = super().measured(transfer, client, connection)
        details = dict(measured.details)
        subflows = details.pop("subflows", [])
        details[PATHS] = path_details(transfer, subflows)
        if transfer.path_plan.events:
            details["path_changes"] = path_changes(transfer)
        samples = path_samples(transfer, subflows)
        return replace(measured, details=details, path_samples=samples)

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Check also for MPTCP to the end; `minitopo_dc.results.path_use` judges its subflows.

        Raises:
            TransferFailed: the connection fell back to TCP.
        """
        super().check_connection(transfer, connection)
        if not connection["multipath"]:
            raise TransferFailed("the connection fell back to TCP (RFC 8684, section 3.7)")
