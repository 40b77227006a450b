"""What a client over picoquic reports, on either clock."""

from __future__ import annotations

from typing import Any

from minitopo_dc.picoquic.library import PICOQUIC_VERSION
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.content import content_sha256
from minitopo_dc.runners.picoquic_options import congestion_control
from minitopo_dc.runners.picoquic_session import Session
from minitopo_dc.runners.request_reports import read_requests
from minitopo_dc.workloads import Measurement, RequestResponse, Workload


def describe(server: Session) -> dict[str, Any]:
    """What was negotiated, and with which version of picoquic and congestion control the data came.

    Nothing of a connection that never was.
    """
    if server.ready is None:
        return {}
    return {
        "picoquic": PICOQUIC_VERSION,
        "quic_version": server.ready.version,
        "multipath": server.ready.multipath,
        "congestion_control": server.ready.congestion_control,
    }


def check_negotiated(server: dict[str, Any], control: str, *, multipath: bool) -> None:
    """See that a connection had what was asked for.

    Args:
        server: what `describe` said of the server's end.
        control: the congestion control asked for.
        multipath: whether paths were.

    Raises:
        TransferFailed: it had something else.
    """
    if server.get("quic_version") is None:
        raise TransferFailed("the server saw no connection")
    used = server["congestion_control"]
    if used != congestion_control(control):
        raise TransferFailed(f"the connection used congestion control {used}, not {control}")
    if server["multipath"] != multipath:
        raise TransferFailed("multipath was not negotiated")


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
    received, digest = report["bytes_received"], report["sha256"]
    if digest and digest != content_sha256(received):
        raise TransferFailed(f"client received {received} bytes, not those sent")
    ended_s = report["completion_s"] or report["stopped_s"] or workload.lasts_s
    details = dict(report)
    started_ns = details.pop("started_ns", None)
    return Measurement(received, ended_s or 0.0, details, started_ns)
