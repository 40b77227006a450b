"""Picoquic inside our own server and client: QUIC on one path, and MP-QUIC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from minitopo_dc.picoquic.configuration import MAX_PATHS
from minitopo_dc.picoquic.library import missing
from minitopo_dc.runners.base import Transfer, runner
from minitopo_dc.runners.picoquic.reports import check_negotiated
from minitopo_dc.runners.picoquic.settings import (
    CONGESTION_CONTROLS,
    ClientSettings,
    ServerSettings,
)
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.quic import OwnQuicRunner, read_report
from minitopo_dc.runners.virtual import VirtualTransport
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.paths import PATHS, PathSample


@runner("quic-picoquic")
class PicoquicRunner(OwnQuicRunner):
    """QUIC on one path."""

    stack: ClassVar[str] = "picoquic"
    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = CONGESTION_CONTROLS

    def missing(self) -> str | None:
        """Both sides are picoquic's."""
        return missing()

    def virtual(self) -> VirtualTransport | None:
        """Picoquic takes time as an argument, and so do both ends."""
        from minitopo_dc.runners.picoquic.virtual import PicoquicPair  # noqa: PLC0415 (its weight)

        return PicoquicPair

    def server_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.picoquic.server`."""
        told = ServerSettings(
            **self._end(transfer, "server"), clients=self._addresses(transfer), key=transfer.key
        )
        return told.command("minitopo_dc.runners.picoquic.server", transfer.server_settings)

    def client_command(self, transfer: Transfer) -> list[str]:
        """`minitopo_dc.runners.picoquic.client`."""
        assert transfer.begin_ns is not None  # clients are started with it
        told = ClientSettings(
            **self._end(transfer, "client"),
            clients=self._addresses(transfer),
            paths=transfer.path_plan if self.multipath else PathPlan.whole(1),
            begin_ns=transfer.begin_ns,
            workload=transfer.workload,
        )
        return told.command("minitopo_dc.runners.picoquic.client", transfer.client_settings)

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report, whose bytes are checked, and what the server knows."""
        measured = read_report(last_json(transfer.client_output, "client"), transfer.workload)
        server = last_json(transfer.server_output, "server")
        server.pop(PATHS)
        server.pop("path_samples")
        several = self.multipath and len(self._addresses(transfer)) > 1
        check_negotiated(server, transfer.congestion_control, multipath=several)
        return replace(measured, details={**measured.details, **server})

    def _addresses(self, transfer: Transfer) -> tuple[str, ...]:
        """The client's that are used."""
        return transfer.client_addresses if self.multipath else transfer.client_addresses[:1]


@runner("mpquic-picoquic")
class MultipathPicoquicRunner(PicoquicRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address."""

    multipath: ClassVar[bool] = True
    compared: ClassVar[bool] = True
    checks_paths: ClassVar[bool] = True
    takes_paths: ClassVar[bool] = True
    most_paths: ClassVar[int | None] = MAX_PATHS

    def read(self, transfer: Transfer) -> Measurement:
        """Also each path, whose times are counted from time zero of the legs."""
        measured = super().read(transfer)
        server = last_json(transfer.server_output, "server")
        begin_s = (transfer.begin_ns or 0) / NS_PER_S
        paths = [_counted_from(begin_s, path, "opened_s", "closed_s") for path in server[PATHS]]
        samples = (_counted_from(begin_s, each, "time_s") for each in server["path_samples"])
        return replace(
            measured,
            details={**measured.details, PATHS: paths},
            path_samples=[PathSample(**each) for each in samples],
        )


def _counted_from(begin_s: float, values: dict[str, Any], *times: str) -> dict[str, Any]:
    """The same with times that count from a moment of the monotonic clock."""
    moved = {name: values[name] - begin_s for name in times if values[name] is not None}
    return values | moved
