"""HTTP/3 on aioquic: this project's own server and client (the papers' QUIC)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar

from minitopo_dc.runners.aioquic.tuning import MODERN, AioquicOptions
from minitopo_dc.runners.base import Transfer, runner
from minitopo_dc.runners.options import parse_options
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.quic import OwnQuicRunner, QuicOptions, read_report
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.shipped import module_command
from minitopo_dc.workloads import Download, Measurement


@runner("quic")
class QuicRunner(OwnQuicRunner):
    """QUIC on one path; NewReno or CUBIC, as aioquic has them."""

    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
    packages: ClassVar[tuple[str, ...]] = ("aioquic",)
    options_type: ClassVar[type[QuicOptions]] = AioquicOptions
    set_up: ClassVar[bool] = True
    essential: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Both sides are aioquic's."""
        if importlib.util.find_spec("aioquic") is None:
            return "aioquic is not installed (pip install aioquic)"
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.aioquic.server`."""
        return [
            *module_command("minitopo_dc.runners.aioquic.server"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--certificate", str(transfer.certificate), "--key", str(transfer.key)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-datagram", str(self._options(transfer).max_datagram_bytes)),
            *self._tuning(transfer),
            *self._qlog(transfer, "server"),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.aioquic.client`."""
        return [
            *module_command("minitopo_dc.runners.aioquic.client"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--bind", transfer.client_addresses[0]),
            *self._load(transfer.workload),
            *("--certificate", str(transfer.certificate)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-datagram", str(self._options(transfer).max_datagram_bytes)),
            *self._tuning(transfer),
            *self._flow_control(transfer),
            *self._receive_buffer(transfer),
            *self._qlog(transfer, "client"),
        ]

    def virtual(self) -> VirtualTransport | None:
        """Aioquic takes time as an argument, and so do both ends."""
        from minitopo_dc.runners.aioquic.virtual import QuicConnectionPair  # noqa: PLC0415 (aioquic)

        return QuicConnectionPair

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report; what arrived is checked."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)

    def check_options(self, options: Mapping[str, Any], ip_version: int) -> None:
        """Also: an option that needs another one has it."""
        super().check_options(options, ip_version)
        _ = parse_options(AioquicOptions, options, self.name).tuning

    def _tuning(self, transfer: Transfer) -> list[str]:
        """What differs from aioquic as it is, as a program's arguments."""
        tuning = parse_options(AioquicOptions, transfer.options, self.name).tuning
        return [] if tuning == MODERN else ["--tuning", tuning.to_json()]

    def _resource(self, download: Download) -> list[str]:
        return ["--path", f"/bytes/{download.requested_bytes}"]
