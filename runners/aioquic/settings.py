"""What the programs of `quic` are told."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.runners.aioquic.tuning import AioquicOptions
from minitopo_dc.runners.quic import QuicEnd
from minitopo_dc.workloads import Download, RequestResponse, Video


class ServerSettings(QuicEnd):
    """Of the server."""

    options: AioquicOptions
    key: Path


class ClientSettings(QuicEnd):
    """Of the client."""

    options: AioquicOptions
    bind: str
    """The client's address."""
    workload: Download | RequestResponse | Video
