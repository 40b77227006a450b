"""What the runners share whose QUIC server and client are this project's own programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.datagrams import DatagramRunner
from minitopo_dc.runners.options import parse_options
from minitopo_dc.runners.quic_options import QuicOptions
from minitopo_dc.runners.request_options import request_arguments
from minitopo_dc.runners.request_reports import plan_of
from minitopo_dc.workloads import Download, RequestResponse, Workload, as_download


class OwnQuicRunner(DatagramRunner):
    """Options, workloads and logs; the programs are a subclass's."""

    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    workloads: ClassVar[tuple[str, ...]] = ("download", "request-response")
    options_type: ClassVar[type[QuicOptions]] = QuicOptions
    takes_duration: ClassVar[bool] = True

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the directories for qlog files, which stay."""
        if self._options(transfer).qlog:
            for role in ("server", "client"):
                _qlog_directory(transfer, role).mkdir(parents=True, exist_ok=True)
        yield

    def _options(self, transfer: Transfer) -> QuicOptions:
        return parse_options(self.options_type, transfer.options, self.name)

    def _qlog(self, transfer: Transfer, role: str) -> list[str]:
        """Where a program writes its qlog, as its arguments."""
        qlog = self._options(transfer).qlog
        return ["--qlog", str(_qlog_directory(transfer, role))] if qlog else []

    def _flow_control(self, transfer: Transfer) -> list[str]:
        """Windows (RFC 9000, section 4.1) as arguments."""
        options = self._options(transfer)
        return [
            *("--max-data", str(options.max_data)),
            *("--max-stream-data", str(options.max_stream_data)),
        ]

    def _receive_buffer(self, transfer: Transfer) -> list[str]:
        """The client's, as its arguments."""
        size = self._options(transfer).receive_buffer_bytes
        return [] if size is None else ["--receive-buffer", str(size)]

    def _load(self, workload: Workload) -> list[str]:
        """What the client is to do, as its arguments."""
        if isinstance(workload, RequestResponse):
            return request_arguments(plan_of(workload))
        download = as_download(workload)
        until = [] if download.duration_s is None else ["--duration", str(download.duration_s)]
        return [*self._resource(download), *until]

    def _resource(self, download: Download) -> list[str]:
        """What is downloaded, as the client's arguments."""
        raise NotImplementedError


def _qlog_directory(transfer: Transfer, role: str) -> Path:
    # Both stacks name both ends' files by the connection: one directory would lose one.
    return transfer.directory / "qlog" / role
