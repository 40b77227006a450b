"""HTTP/3 with ngtcp2's tools on GnuTLS (Debian's packages): gtlsserver and gtlsclient."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from minitopo_dc.runners.base import Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.ngtcp2.client import ClientSettings
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.content import content_sha256, file_sha256
from minitopo_dc.runners.payload.site import downloaded_file, website
from minitopo_dc.runners.processes.process import last_json, log_tail
from minitopo_dc.runners.processes.source_address import source_address
from minitopo_dc.runners.quic import DatagramRunner
from minitopo_dc.runners.tools import Tool, not_installed
from minitopo_dc.workloads import Measurement

QLOG_UNIT_S = 1e-3
"""ngtcp2 writes its qlog's times in whole milliseconds (lib/ngtcp2_qlog.c)."""
REQUEST = '"stream_id":0,'
"""The first request of a client (RFC 9000, section 2.1)."""


@runner("quic-ngtcp2")
class Ngtcp2Runner(DatagramRunner):
    """QUIC on one path; NewReno, CUBIC or BBR (version 1), as ngtcp2 has them."""

    stack: ClassVar[str] = "ngtcp2"
    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic", "bbr")
    compared: ClassVar[bool] = False  # a second QUIC on one path: a minute more
    tools: ClassVar[tuple[Tool, ...]] = (
        Tool("gtlsserver", package="ngtcp2-server"),
        Tool("gtlsclient", package="ngtcp2-client"),
    )
    set_up: ClassVar[bool] = True
    one_client_address: ClassVar[bool] = True  # `source_address`, in `hosts`
    # The only one that it handles: any other ends it before its qlog is written out.
    stop_signal: ClassVar[signal.Signals | None] = signal.SIGINT

    def missing(self) -> str | None:
        """Return what this machine lacks of both tools, None if nothing."""
        return not_installed(self.tools, "Debian")

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the server of the files in the transfer's directory.

        They are not those of `www` alone: to a request for `/N` it would answer with N bytes of its
        own.
        """
        return [
            *(self.tool("gtlsserver"), "--quiet", "--htdocs", str(transfer.directory)),
            *self._transport(transfer),
            *(
                ("--qlog-dir", str(_qlogs(transfer, "server")))
                if self._keeps_qlog(transfer)
                else ()
            ),
            *(transfer.server_address, str(transfer.port)),
            *(str(transfer.key), str(transfer.certificate)),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.ngtcp2.client`, which runs gtlsclient."""
        told = ClientSettings(
            words=self._gtlsclient(transfer),
            receive_buffer_bytes=self._options(transfer).receive_buffer_bytes,
        )
        return told.command("minitopo_dc.runners.ngtcp2.client", transfer.client_settings)

    def client_waits(self, transfer: Transfer) -> bool:  # noqa: ARG002
        """Return True, as the client is a Python program of this project."""
        return True

    def _gtlsclient(self, transfer: Transfer) -> tuple[str, ...]:
        """Return gtlsclient's command line, with which it writes a qlog in any case."""
        options = self._options(transfer)
        return (
            *(self.tool("gtlsclient"), "--quiet", "--exit-on-all-streams-close"),
            *self._transport(transfer),
            *("--max-data", str(options.max_data), "--max-window", str(options.max_data)),
            *("--max-stream-data-bidi-local", str(options.max_stream_data)),
            *("--max-stream-window", str(options.max_stream_data)),
            *("--sni", SERVER_NAME, "--qlog-file", str(_client_qlog(transfer))),
            *("--download", str(transfer.directory / "download")),
            *(transfer.server_address, str(transfer.port)),
            f"https://{SERVER_NAME}:{transfer.port}/www/{transfer.download.requested_bytes}",
        )

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the file that is served and the directories for qlog files; these may stay."""
        for role in ("server", "client"):
            _qlogs(transfer, role).mkdir(parents=True, exist_ok=True)
        try:
            with website(transfer):
                yield
        finally:
            if not self._keeps_qlog(transfer):
                shutil.rmtree(_qlogs(transfer, "client").parent)

    def hosts(
        self,
        transfer: Transfer,
        server: Host,  # noqa: ARG002 (only the client chooses an address)
        client: Host,
    ) -> AbstractContextManager[None]:
        """Let the client send from its address, as it takes the one that the route names."""
        return source_address(client, transfer.client_addresses[0], transfer.server_address)

    def read(self, transfer: Transfer) -> Measurement:
        """Return the times of the client's qlog, after a check of the file's hash and the address.

        The client exits with 0 in any case, also after no connection and after status 404.
        """
        try:
            body = downloaded_file(transfer)
        except TransferFailed as failure:
            raise TransferFailed(f"{failure}: {log_tail(transfer.client_log)}") from None
        received = body.stat().st_size
        if file_sha256(body) != content_sha256(received):
            raise TransferFailed(f"client received {received} bytes, not those sent")
        report = last_json(transfer.client_output, "client")
        started_ns = report.pop("started_ns", None)  # it never had a socket
        if report["local_address"] != transfer.client_addresses[0]:
            raise TransferFailed(f"client used its address {report['local_address']}")
        completion_s, details = read_times(_client_qlog(transfer))
        return Measurement(received, completion_s, {**report, **details}, started_ns)

    def _transport(self, transfer: Transfer) -> list[str]:
        size = self._options(transfer).max_datagram_bytes
        return [
            *("--cc", transfer.congestion_control),
            *("--no-pmtud", "--max-udp-payload-size", str(size)),
        ]

    def _keeps_qlog(self, transfer: Transfer) -> bool:
        return self._options(transfer).qlog


def read_times(qlog: Path) -> tuple[float, dict[str, Any]]:
    """Return the completion time (s) and details from a client's qlog.

    From its first packet sent to its last one received with the answer, after which it closes the
    connection. Both are cut to whole milliseconds, so that the time is exact to 1 ms.

    Raises:
        TransferFailed: the qlog is missing, broken or of a client without an answer.
    """
    started = answered = ended = None
    try:
        with qlog.open(encoding="utf-8") as lines:
            for line in lines:  # tens of megabytes: only those three are parsed
                if started is None and '"transport:packet_sent"' in line:
                    started = line
                elif REQUEST in line and '"transport:packet_received"' in line:
                    answered, ended = answered or line, line
        start_s, answer_s, end_s = (_time_s(line) for line in (started, answered, ended))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TransferFailed(f"client wrote no whole qlog with an answer: {error!r}") from None
    details = {
        "first_byte_s": answer_s - start_s,
        "times_from": "the client's qlog",
        "times_resolution_s": QLOG_UNIT_S,
    }
    return end_s - start_s, details


def _time_s(line: str | None) -> float:
    record: dict[str, Any] = json.loads((line or "").lstrip("\x1e"))  # RFC 7464, section 2.1
    return float(record["time"] * QLOG_UNIT_S)


def _qlogs(transfer: Transfer, role: str) -> Path:
    return transfer.directory / "qlog" / role


def _client_qlog(transfer: Transfer) -> Path:
    return _qlogs(transfer, "client") / "client.sqlog"
