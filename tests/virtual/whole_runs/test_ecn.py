"""Marks of legs and of the split on whole runs, the same on both cores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import minitopo_dc as dc
from tests.native.extension import needs_native

SLOW: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 5, "jitter_ms": 0}
STEP = {"queue_discipline": "step", "queue_parameters": {"threshold_ms": 5}}


def counted(directory: Path, core: str, legs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The counters of gnb after a download of 0.3 MB with ECN."""
    scenario = dc.Scenario(
        legs=[dc.Leg(**SLOW, **legs)] * 2,
        transport="quic-picoquic",
        congestion_control="cubic",
        workload=dc.Download(size_mb=0.3),
        clock="virtual",
        options={"ecn": True},
        virtual={"core": core},
        **fields,
    )
    run = dc.run(scenario, directory / core)
    assert run.status == "ok", run.reason
    found: dict[str, Any] = json.loads((directory / core / "gnb-summary.json").read_text("utf-8"))
    return found | {"goodput": run.goodput_mbps}


@needs_native
@pytest.mark.parametrize(
    ("legs", "fields"),
    [
        (STEP, {"mode": "dc"}),
        (STEP, {"mode": "dc-duplicate"}),
        ({}, {"mode": "dc", "pdcp": {"mark_above_ms": 5}}),
        ({}, {"mode": "dc-duplicate", "pdcp": {"mark_above_ms": 5}}),
    ],
)
def test_marks_are_the_same_on_both_cores(
    legs: dict[str, Any], fields: dict[str, Any], tmp_path: Path
) -> None:
    native, python = (counted(tmp_path, core, legs, **fields) for core in ("native", "python"))
    assert native == python
    marks = [leg.get("marked_packets", 0) for leg in native["legs"].values()]
    assert sum(marks) + native["transmit"]["1"].get("marked_sdus", 0) > 10
