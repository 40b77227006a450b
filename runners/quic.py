"""HTTP/3 on aioquic: this project's own server and client (the papers' QUIC)."""

from __future__ import annotations

import importlib.util
from typing import ClassVar

from minitopo_dc.runners.base import Transfer, runner
from minitopo_dc.runners.output import last_json
from minitopo_dc.runners.own_quic import OwnQuicRunner
from minitopo_dc.runners.quic_reports import read_report
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.shipped import module_command
from minitopo_dc.workloads import Download, Measurement


@runner("quic")
class QuicRunner(OwnQuicRunner):
    """QUIC on one path; NewReno or CUBIC, as aioquic has them."""

    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
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
        return [
            *module_command("minitopo_dc.runners.quic_client"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--bind", transfer.client_addresses[0]),
            *self._load(transfer.workload),
            *("--certificate", str(transfer.certificate)),
            *("--congestion-control", transfer.congestion_control),
            *("--max-datagram", str(self._options(transfer).max_datagram_bytes)),
            *self._flow_control(transfer),
            *self._receive_buffer(transfer),
            *self._qlog(transfer, "client"),
        ]

    def virtual(self) -> VirtualTransport | None:
        """Aioquic takes time as an argument, and so do both ends."""
        from minitopo_dc.runners.quic_virtual import QuicConnectionPair  # noqa: PLC0415 (aioquic)

        return QuicConnectionPair

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report; what arrived is checked."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)

    def _resource(self, download: Download) -> list[str]:
        return ["--path", f"/bytes/{download.requested_bytes}"]
