"""What the programs of `tcp` and `mptcp` are told."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from minitopo_dc.runners.payload.requests import RequestPlan
from minitopo_dc.runners.programs import ProgramSettings

TlsVersion = Literal["1.2", "1.3"]


class ServerSettings(ProgramSettings):
    """Of the server."""

    address: str
    port: int
    protocol: Literal["tcp", "mptcp"]
    certificate: Path
    key: Path
    congestion_control: str
    """As the kernel names it."""
    tcp_info: Path | None
    """Where to write `tcp-info.csv`."""


class ClientSettings(ProgramSettings):
    """Of a client of our own."""

    address: str
    """The server's."""
    port: int
    bind: str
    """The client's address."""
    protocol: Literal["tcp", "mptcp"]
    certificate: Path
    tls: TlsVersion


class RequestsSettings(ClientSettings):
    """Of the client that sends requests."""

    plan: RequestPlan
