"""What the programs of `quic` are told."""

from __future__ import annotations

from pathlib import Path

from aioquic.h3.connection import H3_ALPN

from minitopo_dc.runners.aioquic.tuning import AioquicOptions
from minitopo_dc.runners.payload.call import ALPN as CALL
from minitopo_dc.runners.quic import QuicEnd
from minitopo_dc.workloads import Download, Realtime, RequestResponse, Video, Workload

ANY_DATAGRAM = 65_535
"""As RFC 9221, section 3, recommends."""


def protocols(workload: Workload) -> list[str]:
    """By which application protocol (ALPN) a workload is carried."""
    return [CALL] if isinstance(workload, Realtime) else H3_ALPN


def datagram_frame(workload: Workload) -> int | None:
    """Bytes of a DATAGRAM frame that both ends take for a workload; None: they take none."""
    needed = isinstance(workload, Realtime) and workload.delivery == "datagrams"
    return ANY_DATAGRAM if needed else None


class ServerSettings(QuicEnd):
    """Of the server."""

    options: AioquicOptions
    key: Path
    datagram_frame: int | None


class ClientSettings(QuicEnd):
    """Of the client."""

    options: AioquicOptions
    bind: str
    """The client's address."""
    workload: Download | RequestResponse | Video | Realtime
