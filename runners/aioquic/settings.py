"""Settings of the programs of `quic`."""

from __future__ import annotations

from pathlib import Path

from aioquic.h3.connection import H3_ALPN

from minitopo_dc.runners.aioquic.tuning import AioquicOptions
from minitopo_dc.runners.quic import QuicEnd
from minitopo_dc.workloads import Workload

BARE_STREAMS = "minitopo-call"
"""Of a workload that has no requests."""


def protocols(workload: Workload) -> list[str]:
    """Return the application protocols (ALPN) that carry a workload."""
    return [BARE_STREAMS] if workload.bare_streams else H3_ALPN


class ServerSettings(QuicEnd):
    """Settings of the server program."""

    options: AioquicOptions
    key: Path


class ClientSettings(QuicEnd):
    """Settings of the client program."""

    options: AioquicOptions
    bind: str
    """The client's address."""
