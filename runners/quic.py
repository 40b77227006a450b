"""HTTP/3 on aioquic: this project's own server and client (the papers' QUIC)."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from minitopo_dc.runners.base import Transfer, TransferFailed, runner
from minitopo_dc.runners.content import content_sha256
from minitopo_dc.runners.datagrams import DatagramRunner
from minitopo_dc.runners.options import parse_options
from minitopo_dc.runners.output import last_json
from minitopo_dc.runners.quic_options import QuicOptions
from minitopo_dc.runners.request_options import request_arguments
from minitopo_dc.runners.request_reports import plan_of, read_requests
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.shipped import module_command
from minitopo_dc.workloads import Measurement, RequestResponse, Workload, as_download


@runner("quic")
class QuicRunner(DatagramRunner):
    """QUIC on one path; NewReno or CUBIC, as aioquic has them."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
    workloads: ClassVar[tuple[str, ...]] = ("download", "request-response")
    options_type: ClassVar[type] = QuicOptions
    takes_duration: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ("aioquic",)
    set_up: ClassVar[bool] = True
    essential: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Both sides are aioquic's."""
        if importlib.util.find_spec("aioquic") is None:
            return "aioquic is not installed (pip install aioquic)"
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.quic_server`."""
        return [
            *module_command("minitopo_dc.runners.quic_server"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--certificate", str(transfer.certificate), "--key", str(transfer.key)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-datagram", str(self._options(transfer).max_datagram_bytes)),
            *self._qlog(transfer, "server"),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.quic_client`."""
        options = self._options(transfer)
        command = [
            *module_command("minitopo_dc.runners.quic_client"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--bind", transfer.client_addresses[0]),
            *_load(transfer.workload),
            *("--certificate", str(transfer.certificate)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-data", str(options.max_data)),
            *("--max-stream-data", str(options.max_stream_data)),
            *("--max-datagram", str(options.max_datagram_bytes)),
            *self._qlog(transfer, "client"),
        ]
        if options.receive_buffer_bytes is not None:
            command += ["--receive-buffer", str(options.receive_buffer_bytes)]
        return command

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the directories for qlog files, which stay."""
        if self._options(transfer).qlog:
            for role in ("server", "client"):
                _qlog_directory(transfer, role).mkdir(parents=True, exist_ok=True)
        yield

    def virtual(self) -> VirtualTransport | None:
        """Aioquic takes time as an argument, and so do both ends."""
        from minitopo_dc.runners.quic_virtual import QuicConnectionPair  # noqa: PLC0415 (aioquic)

        return QuicConnectionPair

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report; what arrived is checked."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)

    def _qlog(self, transfer: Transfer, role: str) -> list[str]:
        qlog = self._options(transfer).qlog
        return ["--qlog", str(_qlog_directory(transfer, role))] if qlog else []

    def _options(self, transfer: Transfer) -> QuicOptions:
        return parse_options(QuicOptions, transfer.options, self.name)


def read_report(report: dict[str, Any], workload: Workload) -> Measurement:
    """What a client's report says, of either clock.

    A client that the virtual clock's end cut off has no hash yet, and lasted for its duration.

    Raises:
        TransferFailed: the connection failed, or something else arrived than what was sent.
    """
    if isinstance(workload, RequestResponse):
        return read_requests(report)
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    if report["status"] not in (0, 200):  # 0: stopped before the answer came
        raise TransferFailed(f"client got status {report['status']}, not 200")
    received, digest = report["bytes_received"], report["sha256"]
    if digest and digest != content_sha256(received):
        raise TransferFailed(f"client received {received} bytes, not those sent")
    ended_s = report["completion_s"] or report["stopped_s"] or workload.lasts_s
    details = dict(report)
    started_ns = details.pop("started_ns", None)
    return Measurement(received, ended_s or 0.0, details, started_ns)


def _load(workload: Workload) -> list[str]:
    """What the client is to do, as its arguments."""
    if isinstance(workload, RequestResponse):
        return request_arguments(plan_of(workload))
    download = as_download(workload)
    until = [] if download.duration_s is None else ["--duration", str(download.duration_s)]
    return ["--path", f"/bytes/{download.requested_bytes}", *until]


def _qlog_directory(transfer: Transfer, role: str) -> Path:
    # aioquic names both ends' files by the connection, so one directory would lose one.
    return transfer.directory / "qlog" / role
