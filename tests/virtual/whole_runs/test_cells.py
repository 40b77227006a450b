"""Legs in cells on the virtual clock: beside background users, and beside each other."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario

GREEDY = {"kind": "full", "rate_mbps": 10}
RATE = {"rate_mbps": 10, "delay_ms": 5, "queue_packets": 60}
PLUGIN = """
from minitopo_dc.plugins import CellScheduler, cell_scheduler


@cell_scheduler("last-first")
class LastFirst(CellScheduler):
    def choose(self, users, now):
        return len(users) - CHOICE
"""


def run(directory: Path, **fields: Any) -> RunResult:
    """Run a scenario of picoquic that must succeed."""
    directory.mkdir(exist_ok=True)
    base = {"transport": "quic-picoquic", "mode": "sc", "workload": {"duration_s": 4}}
    result = run_virtual(scenario(**(base | fields)), directory)
    assert result.status == "ok", result.reason
    return result


def served(directory: Path, cell: int = 1) -> list[int]:
    """Return the bytes that each user of a cell was served at the end."""
    with (directory / "gnb-cells.csv").open(newline="") as file:
        row = [row for row in csv.DictReader(file) if row["cell"] == str(cell)][-1]
    return [int(value) for name, value in row.items() if name.startswith("served_bytes")]


def test_a_download_beside_a_greedy_user_has_half_of_the_cell(tmp_path: Path) -> None:
    cells = [{"legs": [1], "scheduler": "round-robin", "background": [GREEDY]}]
    alone, shared = (
        run(tmp_path / str(len(members)), legs=[leg(**RATE)], cells=members).goodput_mbps
        for members in ([], cells)
    )
    assert alone is not None
    assert shared == pytest.approx(alone / 2, rel=0.1)
    ours, others = served(tmp_path / "1")
    assert ours == pytest.approx(others, rel=0.1)


def test_two_flows_on_legs_of_one_cell_share_it(tmp_path: Path) -> None:
    flows = [{"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
    cells = [{"legs": [1, 2], "scheduler": "round-robin"}]
    result = run(tmp_path, mode="flows", flows=flows, legs=[leg(**RATE)] * 2, cells=cells)
    rates = [flow["goodput_mbps"] for flow in result.details["flows"]]
    assert sum(rates) == pytest.approx(9.5, abs=0.6)
    assert rates[0] == pytest.approx(rates[1], rel=0.1)


def test_a_bearer_over_legs_of_two_cells_uses_what_each_has_left(tmp_path: Path) -> None:
    cells = [{"legs": [1], "background": [GREEDY]}, {"legs": [2], "background": [GREEDY] * 3}]
    split = {"mode": "dc", "pdcp": {"split": "least-delay"}, "legs": [leg(**RATE)] * 2}
    run(tmp_path, cells=cells, **split)
    assert served(tmp_path)[0] == pytest.approx(4 * 5e6 / 8, rel=0.15)
    assert served(tmp_path, 2)[0] == pytest.approx(4 * 2.5e6 / 8, rel=0.15)


def own_scheduler(directory: Path, choice: str) -> dict[str, Any]:
    """Return the fields of a scenario whose cell has the scheduler of a plugin."""
    plugin = directory / "mine.py"
    plugin.write_text(PLUGIN.replace("CHOICE", choice), encoding="utf-8")
    background = [{**GREEDY, "times_s": [[2, 3]]}]
    cells = [{"legs": [1], "scheduler": "last-first", "background": background}]
    return {"legs": [leg(**RATE)], "cells": cells, "plugins": [str(plugin)]}


def test_a_scheduler_of_the_users_own_is_a_plugin(tmp_path: Path) -> None:
    run(tmp_path / "run", **own_scheduler(tmp_path, "1"))
    assert served(tmp_path / "run")[1] == 10e6 / 8  # all of its second


def test_a_choice_of_nobody_fails_the_run(tmp_path: Path) -> None:
    fields = own_scheduler(tmp_path, "0")
    wrong = scenario(transport="quic-picoquic", mode="sc", **fields)
    result = run_virtual(wrong, tmp_path / "run")
    assert result.status == "failed"
    assert result.reason == "LastFirst chose user 1 of 1; allowed: 0 to one less"
