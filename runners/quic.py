"""HTTP/3 on aioquic: this project's own server and client (the papers' QUIC)."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from runners.base import Measurement, Transfer, TransferFailed, runner
from runners.content import content_sha256
from runners.datagrams import DatagramRunner
from runners.options import parse_options
from runners.output import last_json

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class QuicOptions:
    """Options of runner `quic`.

    The windows' default is never the limit: a leg pair of 100 Mbit/s that is blocked for
    t-Reordering's 200 ms on top of a round trip of 300 ms needs 6.25 MB (rate times delay), and
    aioquic doubles a window each time half of it was used. (aioquic's own default, 1 MiB, is less
    than that.)
    """

    # As the kernel counts it. Default: the kernel's (net.core.rmem_default, 212,992 on Linux);
    # the papers' modified set-up has 33,554,432 (thesis, table 4.4).
    receive_buffer_bytes: int | None = None
    max_data: int = 16 * MEBIBYTE
    max_stream_data: int = 16 * MEBIBYTE
    # Off: logging slows both ends down, and the papers measured without (thesis, section 4).
    qlog: bool = False
    # UDP payload. Default: aioquic's own, the least that every path takes (RFC 9000, section 14);
    # the papers' aioquic of 2020 had 1,280 (thesis, section 4.1: "the size of the UDP frames").
    max_datagram_bytes: int = 1200


@runner("quic")
class QuicRunner(DatagramRunner):
    """QUIC on one path; NewReno or CUBIC, as aioquic has them."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
    options_type: ClassVar[type] = QuicOptions
    takes_duration: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Both sides are aioquic's."""
        if importlib.util.find_spec("aioquic") is None:
            return "aioquic is not installed (pip install aioquic)"
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        """`runners.quic_server`."""
        return [
            *(sys.executable, "-m", "runners.quic_server"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--certificate", str(transfer.certificate), "--key", str(transfer.key)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-datagram", str(self._options(transfer).max_datagram_bytes)),
            *self._qlog(transfer, "server"),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """`runners.quic_client`."""
        options = self._options(transfer)
        command = [
            *(sys.executable, "-m", "runners.quic_client"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--bind", transfer.client_addresses[0]),
            *("--path", f"/bytes/{transfer.size_bytes}"),
            *("--certificate", str(transfer.certificate)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-data", str(options.max_data)),
            *("--max-stream-data", str(options.max_stream_data)),
            *("--max-datagram", str(options.max_datagram_bytes)),
            *self._qlog(transfer, "client"),
        ]
        if options.receive_buffer_bytes is not None:
            command += ["--receive-buffer", str(options.receive_buffer_bytes)]
        if transfer.duration_s is not None:
            command += ["--duration", str(transfer.duration_s)]
        return command

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the directories for qlog files, which stay."""
        if self._options(transfer).qlog:
            for role in ("server", "client"):
                _qlog_directory(transfer, role).mkdir(parents=True, exist_ok=True)
        yield

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report; its hash is checked."""
        report = last_json(transfer.client_output, "client")
        started_ns = report.pop("started_ns")
        if report["error"] is not None:
            raise TransferFailed(f"client: {report['error']}")
        if report["status"] not in (0, 200):  # 0: stopped before the answer came
            raise TransferFailed(f"client got status {report['status']}, not 200")
        received, stopped_s = report["bytes_received"], report["stopped_s"]
        if report["sha256"] != content_sha256(received):
            raise TransferFailed(f"client received {received} bytes, not those sent")
        seconds = report["completion_s"] if stopped_s is None else stopped_s
        return Measurement(received, seconds, report, started_ns)

    def _qlog(self, transfer: Transfer, role: str) -> list[str]:
        qlog = self._options(transfer).qlog
        return ["--qlog", str(_qlog_directory(transfer, role))] if qlog else []

    def _options(self, transfer: Transfer) -> QuicOptions:
        return parse_options(QuicOptions, transfer.options, self.name)


def _qlog_directory(transfer: Transfer, role: str) -> Path:
    # aioquic names both ends' files by the connection, so one directory would lose one.
    return transfer.directory / "qlog" / role
