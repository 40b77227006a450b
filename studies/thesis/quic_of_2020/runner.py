"""HTTP/3 on aioquic 0.8, with which the papers' QUIC was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from minitopo_dc.runners.aioquic.runner import QuicRunner
from minitopo_dc.runners.base import Builder, Size, VirtualTransport, runner
from minitopo_dc.runners.quic import MEBIBYTE, QuicOptions

from .library import NAME, build, obstacle


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


@runner("quic-aioquic-2020")
class Aioquic2020Runner(QuicRunner):
    """QUIC on one path with NewReno, by aioquic of spring 2020 as asyncio drove it."""

    stack: ClassVar[str] = ""
    essential: ClassVar[bool] = False
    server_program: ClassVar[str] = f"{__package__}.server"
    client_program: ClassVar[str] = f"{__package__}.client"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno",)
    carries_ends: ClassVar[bool] = False
    options_type: ClassVar[type[QuicOptions]] = Options2020
    builds: ClassVar[Mapping[str, Builder]] = {NAME: build}

    def obstacle(self) -> str | None:
        """Return how to get it, None if it is here."""
        return obstacle()

    def virtual(self) -> VirtualTransport | None:
        """Return both ends for the virtual clock, as aioquic takes time as an argument."""
        from .virtual import Pair2020  # noqa: PLC0415 (its weight)

        return Pair2020
