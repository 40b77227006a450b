"""Workload `request-response` in its clients' settings and reports."""

from __future__ import annotations

from typing import Any

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.payload.requests import RequestPlan
from minitopo_dc.workloads import Measurement, RequestResponse
from minitopo_dc.workloads.request_response import request_rows


def plan_of(workload: RequestResponse) -> RequestPlan:
    """Return a client's plan of requests for a workload."""
    return RequestPlan(
        request_bytes=workload.request_bytes,
        response_bytes=workload.response_bytes,
        interval_s=workload.interval_s,
        count=workload.requests,
        patience_s=workload.patience_s,
    )


def read_requests(report: dict[str, Any]) -> Measurement:
    """Return the measurement in a client's report (`RequestsOutcome`).

    Raises:
        TransferFailed: the connection failed, or an answer was wrong.
    """
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    details = dict(report)
    rows = request_rows(details.pop("requests"))
    started_ns = details.pop("started_ns", None)
    ended = [row["answered_s"] for row in rows if row["answered_s"] is not None]
    return Measurement(report["bytes_received"], max(ended, default=0.0), details, started_ns, rows)
