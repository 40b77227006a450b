"""HTTP/3 on aioquic 0.8, with which the papers' QUIC was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from minitopo_dc.runners.base import Builder, Size, Transfer, read_report, runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.quic import MEBIBYTE, BuiltInQuicRunner, QuicEnd, QuicOptions
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.workloads import Measurement

from .library import NAME, build, missing


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


@runner("quic-aioquic-2020")
class Aioquic2020Runner(BuiltInQuicRunner):
    """QUIC on one path with NewReno, by aioquic of spring 2020 as asyncio drove it."""

    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno",)
    carries_ends: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ("aioquic",)  # its buffers and packet protection
    options_type: ClassVar[type[QuicOptions]] = Options2020
    compared: ClassVar[bool] = False  # it repeats a paper; its multipath counterpart does not exist
    set_up: ClassVar[bool] = True
    builds: ClassVar[Mapping[str, Builder]] = {NAME: build}

    def missing(self) -> str | None:
        """Return how to get it, None if it is here."""
        return missing()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the server program."""
        settings = ServerSettings(**self._end(transfer, "server"), key=transfer.key)
        return settings.command(f"{__package__}.server", transfer.server_settings)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the client program."""
        settings = ClientSettings(
            **self._end(transfer, "client"), bind=transfer.client_addresses[0]
        )
        return settings.command(f"{__package__}.client", transfer.client_settings)

    def virtual(self) -> VirtualTransport | None:
        """Return both ends for the virtual clock, as aioquic takes time as an argument."""
        from .virtual import Pair2020  # noqa: PLC0415 (its weight)

        return Pair2020

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report, after a check of what arrived."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)
