"""Settings of the programs of `tcp` and `mptcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from minitopo_dc.runners.processes.kernel_socket import TcpProtocol
from minitopo_dc.runners.programs import ProgramSettings
from minitopo_dc.workloads import WorkloadField

TlsVersion = Literal["1.2", "1.3"]


class ServerSettings(ProgramSettings):
    """Settings of the server program."""

    address: str
    port: int
    protocol: TcpProtocol
    certificate: Path
    key: Path
    congestion_control: str
    """As the kernel names it."""
    tcp_info: Path | None
    """Where to write `tcp-info.csv`."""
    mss_bytes: int | None = None
    """The largest segment to send."""
    workload: WorkloadField


class ClientSettings(ProgramSettings):
    """Settings of a client of this project."""

    address: str
    """The server's."""
    port: int
    bind: tuple[str, ...]
    """The client's addresses, from which it tries to connect one after the other."""
    attempt_delay_s: float = 0
    """Between two attempts."""
    protocol: TcpProtocol
    certificate: Path
    tls: TlsVersion
    congestion_control: str | None
    """Of what the client sends; None: the kernel's own, as it sends requests only."""
    workload: WorkloadField
