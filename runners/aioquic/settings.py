"""Settings of the programs of `quic`."""

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
    """Return the application protocols (ALPN) that carry a workload."""
    return [CALL] if isinstance(workload, Realtime) else H3_ALPN


def datagram_frame(workload: Workload) -> int | None:
    """Return the bytes of a DATAGRAM frame that both ends take for a workload, None for none."""
    needed = isinstance(workload, Realtime) and workload.delivery == "datagrams"
    return ANY_DATAGRAM if needed else None


class ServerSettings(QuicEnd):
    """Settings of the server program."""

    options: AioquicOptions
    key: Path
    datagram_frame: int | None


class ClientSettings(QuicEnd):
    """Settings of the client program."""

    options: AioquicOptions
    bind: str
    """The client's address."""
    workload: Download | RequestResponse | Video | Realtime
