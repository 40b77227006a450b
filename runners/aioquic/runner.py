"""HTTP/3 on aioquic: this project's own server and client (the papers' QUIC)."""

from __future__ import annotations

import importlib.util
from typing import ClassVar

from minitopo_dc.runners.aioquic.settings import AioquicOptions, ClientSettings, ServerSettings
from minitopo_dc.runners.base import Transfer, read_report, runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.quic import BuiltInQuicRunner, QuicOptions
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.workloads import Measurement


@runner("quic")
class QuicRunner(BuiltInQuicRunner):
    """QUIC on one path, with aioquic's NewReno or CUBIC."""

    stack: ClassVar[str] = "aioquic"
    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
    packages: ClassVar[tuple[str, ...]] = ("aioquic",)
    options_type: ClassVar[type[QuicOptions]] = AioquicOptions
    compared: ClassVar[bool] = False  # it has no multipath to be compared with
    set_up: ClassVar[bool] = True
    essential: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Return how to get aioquic, on which both sides run, None if it is here."""
        if importlib.util.find_spec("aioquic") is None:
            return "aioquic is not installed (pip install aioquic)"
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.aioquic.server`."""
        settings = ServerSettings(**self._end(transfer, "server"), key=transfer.key)
        return settings.command("minitopo_dc.runners.aioquic.server", transfer.server_settings)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.aioquic.client`."""
        settings = ClientSettings(
            **self._end(transfer, "client"), bind=transfer.client_addresses[0]
        )
        return settings.command("minitopo_dc.runners.aioquic.client", transfer.client_settings)

    def virtual(self) -> VirtualTransport | None:
        """Return both ends for the virtual clock, as aioquic takes time as an argument."""
        from minitopo_dc.runners.aioquic.virtual import QuicConnectionPair  # noqa: PLC0415 (aioquic)

        return QuicConnectionPair

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report, after a check of what arrived."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)
