"""A leg in a cell on real packets: background users take the same slots as on the virtual clock."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from minitopo_dc.real.run.real import run_real
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario

pytestmark = pytest.mark.root


def served_mbps(directory: Path) -> list[float]:
    """Return what each user of the cell was served between 1 and 3 s after the start."""
    start = json.loads((directory / "gnb-summary.json").read_text())["start_ns"]
    with (directory / "gnb-cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first, last = (
        next(row for row in rows if int(row["time_ns"]) - start >= second * 10**9)
        for second in (1, 3)
    )
    seconds = (int(last["time_ns"]) - int(first["time_ns"])) / 1e9
    names = [name for name in first if name.startswith("served_bytes")]
    return [8e-6 * (int(last[name]) - int(first[name])) / seconds for name in names]


@pytest.mark.long
def test_a_greedy_user_has_half_of_the_cell_on_both_clocks(tmp_path: Path) -> None:
    fields = {
        "transport": "quic-picoquic",
        "mode": "sc",
        "legs": [leg(rate_mbps=10, delay_ms=5, queue_packets=60)],
        "cells": [
            {
                "legs": [1],
                "scheduler": "round-robin",
                "background": [{"kind": "full", "rate_mbps": 10}],
            }
        ],
        "workload": {"duration_s": 3.5},
    }
    for clock, run in (("real", run_real), ("virtual", run_virtual)):
        directory = tmp_path / clock
        directory.mkdir()
        result = run(scenario(clock=clock, **fields), directory)
        assert result.status == "ok", result.reason
        assert served_mbps(directory) == pytest.approx([5, 5], rel=0.03)
    summary = json.loads((tmp_path / "real" / "gnb-summary.json").read_text())
    assert (summary["core"], summary["core_reason"]) == ("python", "legs are in cells")
