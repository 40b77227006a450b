"""What a client of this project's own says of its QUIC connection, on either clock."""

from __future__ import annotations

from typing import Any

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.content import content_sha256
from minitopo_dc.runners.request_reports import read_requests
from minitopo_dc.workloads import Measurement, RequestResponse, Workload


def read_report(report: dict[str, Any], workload: Workload) -> Measurement:
    """What a client's report says.

    A client that the virtual clock's end cut off has no hash yet, and lasted for its duration.

    Args:
        report: the client's outcome as JSON has it; HTTP/0.9 has no `status`.
        workload: what it was to do.

    Raises:
        TransferFailed: the connection failed, or something else arrived than what was sent.
    """
    if isinstance(workload, RequestResponse):
        return read_requests(report)
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    if report.get("status", 0) not in (0, 200):  # 0: stopped before the answer came
        raise TransferFailed(f"client got status {report['status']}, not 200")
    received, digest = report["bytes_received"], report["sha256"]
    if digest and digest != content_sha256(received):
        raise TransferFailed(f"client received {received} bytes, not those sent")
    ended_s = report["completion_s"] or report["stopped_s"] or workload.lasts_s
    details = dict(report)
    started_ns = details.pop("started_ns", None)
    return Measurement(received, ended_s or 0.0, details, started_ns)
