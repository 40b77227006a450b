"""ICMP echoes by ping(8), answered by the server's kernel: the transport of workload `ping`."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.icmp.client import ClientSettings
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.tools import Tool, not_installed
from minitopo_dc.workloads import Measurement, Ping, Workload


@runner("icmp")
class IcmpRunner(Runner):
    """Echoes from each of the client's addresses to each of the server's, all at the same time."""

    stack: ClassVar[str] = "ping"
    multipath: ClassVar[bool] = False
    every_leg: ClassVar[bool] = True
    has_server: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ()
    workloads: ClassVar[tuple[str, ...]] = ("ping",)
    tools: ClassVar[tuple[Tool, ...]] = (Tool("ping", "-V", "iputils-ping"),)
    set_up: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Return what this machine lacks, None if it has the client, ping."""
        return not_installed(self.tools)

    def unsupported(self, congestion_control: str) -> str | None:  # noqa: ARG002 (it has none)
        """Return what this machine lacks; echoes have no congestion control."""
        return self.missing()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Refuse with TypeError, as there is no server program."""
        raise TypeError(f"{self.name} has no server: {transfer.server_address} answers by itself")

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.icmp.client`, which pings all pairs."""
        wanted = _ping(transfer.workload)
        told = ClientSettings(
            count=wanted.count,
            interval_s=wanted.interval_s,
            clients=transfer.client_addresses,
            servers=(transfer.server_address, *transfer.more_server_addresses),
        )
        return told.command("minitopo_dc.runners.icmp.client", transfer.client_settings)

    def client_waits(self, transfer: Transfer) -> bool:  # noqa: ARG002
        """Return True, as the client is a Python program of this project."""
        return True

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report: a summary per pair, and a row per echo that came back."""
        report: dict[str, Any] = last_json(transfer.client_output, "client")
        if report["error"] is not None:
            raise TransferFailed(f"client: {report['error']}")
        details = {"round_trips": report["round_trips"]}
        return Measurement(0, report["ended_s"], details, report["started_ns"], report["rows"])


def _ping(workload: Workload) -> Ping:
    if not isinstance(workload, Ping):
        raise TypeError(f"workload {workload.kind} is no ping")
    return workload
