"""What an element's summary says of its bearers' reports, on either clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minitopo_dc.pdcp import Feedback, ReportMaker


def add_report_counters(
    counters: Mapping[str, Mapping[int, dict[str, Any]]],
    *,
    transmit: Mapping[int, Feedback | None],
    receive: Mapping[int, ReportMaker | None],
) -> None:
    """Add to a summary's counters those of the reports, by bearer; none of one without reports."""
    for bearer, feedback in transmit.items():
        if feedback is not None:
            counters["transmit"][bearer].update(asdict(feedback.statistics()))
    for bearer, maker in receive.items():
        if maker is not None:
            counters["receive"][bearer]["reports_sent"] = maker.made
