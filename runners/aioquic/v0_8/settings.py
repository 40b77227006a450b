"""Options of `quic-aioquic-2020`, and settings of its programs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from minitopo_dc.runners.options import Size
from minitopo_dc.runners.quic import MEBIBYTE, QuicEnd, QuicOptions


class Options2020(QuicOptions):
    """Options of aioquic 0.8: those of every QUIC, of which it has fewer values."""

    # Its own defaults, which its example client has too; a window that is half used is doubled.
    max_data: Size = MEBIBYTE
    max_stream_data: Size = MEBIBYTE
    # Whether packets are spread over the round-trip time, as in its code; the thesis (section 6.1)
    # also measured without.
    pacing: bool = True
    # A constant of its code (PACKET_MAX_SIZE).
    max_datagram_bytes: Literal[1280] = 1280


class ServerSettings(QuicEnd):
    """Settings of the server program."""

    options: Options2020
    key: Path


class ClientSettings(QuicEnd):
    """Settings of the client program."""

    options: Options2020
    bind: str
    """The client's address."""
