"""HTTP/3 with ngtcp2's tools on GnuTLS (Debian's packages): gtlsserver and gtlsclient."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from runners.base import Host, Measurement, Transfer, TransferFailed, runner
from runners.certificate import SERVER_NAME
from runners.content import content_sha256, file_sha256
from runners.datagrams import DatagramRunner
from runners.options import parse_options
from runners.output import last_json
from runners.process import log_tail
from runners.site import downloaded_file, website
from runners.source_address import source_address

PACKAGES = {"gtlsserver": "ngtcp2-server", "gtlsclient": "ngtcp2-client"}
SYSTEM_PLACES = "/usr/sbin"
"""Where Debian puts the server; an ordinary user's PATH lacks it."""
MEBIBYTE = 1024 * 1024
QLOG_UNIT_S = 1e-3  # ngtcp2 writes its qlog's times in whole milliseconds (lib/ngtcp2_qlog.c)
REQUEST = '"stream_id":0,'  # the first request of a client (RFC 9000, section 2.1)


@dataclass(frozen=True, slots=True)
class Ngtcp2Options:
    """Options of runner `quic-ngtcp2`; names and defaults are those of runner `quic`."""

    # As the kernel counts it. Default: the kernel's (net.core.rmem_default, 212,992 on Linux).
    receive_buffer_bytes: int | None = None
    # What gtlsclient lets the server send ahead; it stays so: nothing is tuned on the way. (The
    # tool's own: 15 MiB and 6 MiB at first, tuned up to 24 MiB and 16 MiB.)
    max_data: int = 16 * MEBIBYTE
    max_stream_data: int = 16 * MEBIBYTE
    # The client always writes one, as its times are read from it; off: it is removed at the end.
    qlog: bool = False
    # UDP payload, without path MTU discovery: with it, the tools' own way, datagrams grow to 1,444
    # bytes, and the difference to `quic` would be one of overhead.
    max_datagram_bytes: int = 1200


@runner("quic-ngtcp2")
class Ngtcp2Runner(DatagramRunner):
    """QUIC on one path; NewReno, CUBIC or BBR (version 1), as ngtcp2 has them."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic", "bbr")
    options_type: ClassVar[type] = Ngtcp2Options
    one_client_address: ClassVar[bool] = True  # `source_address`, in `hosts`
    # The only one that it handles: any other ends it before its qlog is written out.
    stop_signal: ClassVar[signal.Signals | None] = signal.SIGINT

    def missing(self) -> str | None:
        """Both tools are needed."""
        lacking = [package for tool, package in PACKAGES.items() if _find(tool) is None]
        if lacking:
            packages = " ".join(lacking)
            return f"ngtcp2's tools are not installed (Debian: apt-get install {packages})"
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        """The server of the files in the transfer's directory.

        Not of `www` alone: to a request for ``/N`` it answers with N bytes of its own making.
        """
        return [
            *(_tool("gtlsserver"), "--quiet", "--htdocs", str(transfer.directory)),
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
        """`runners.quic_ngtcp2_client`, which runs gtlsclient; this writes a qlog in any case."""
        options = self._options(transfer)
        size = options.receive_buffer_bytes
        return [
            *(sys.executable, "-m", "runners.quic_ngtcp2_client"),
            *(() if size is None else ("--receive-buffer", str(size))),
            *(_tool("gtlsclient"), "--quiet", "--exit-on-all-streams-close"),
            *self._transport(transfer),
            *("--max-data", str(options.max_data), "--max-window", str(options.max_data)),
            *("--max-stream-data-bidi-local", str(options.max_stream_data)),
            *("--max-stream-window", str(options.max_stream_data)),
            *("--sni", SERVER_NAME, "--qlog-file", str(_client_qlog(transfer))),
            *("--download", str(transfer.directory / "download")),
            *(transfer.server_address, str(transfer.port)),
            f"https://{SERVER_NAME}:{transfer.port}/www/{transfer.size_bytes}",
        ]

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
        """Let the client send from its address: it takes the one that the route names."""
        return source_address(client, transfer.client_addresses[0], transfer.server_address)

    def read(self, transfer: Transfer) -> Measurement:
        """The times of the client's qlog; the downloaded file's hash and the address are checked.

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

    def _options(self, transfer: Transfer) -> Ngtcp2Options:
        return parse_options(Ngtcp2Options, transfer.options, self.name)


def read_times(qlog: Path) -> tuple[float, dict[str, Any]]:
    """The completion time in seconds, and details, from a client's qlog.

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


def _find(tool: str) -> str | None:
    places = [os.environ.get("PATH", os.defpath), SYSTEM_PLACES]
    return shutil.which(tool, path=os.pathsep.join(places))


def _tool(tool: str) -> str:
    found = _find(tool)
    if found is None:
        raise TransferFailed(f"{tool} has gone")
    return found
