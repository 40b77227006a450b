"""Cells of a scenario: what is refused, and what its files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.files import write_version
from minitopo_dc.results.kept_scenario import keep_traces, load_as_run, run_id, trace_paths
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.core import Core
from tests.virtual.scenarios import scenario

FULL = {"kind": "full", "rate_mbps": 10}


def cell(*background: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"legs": [1], "background": background, **fields}


def test_a_scenario_without_cells_says_nothing_of_them_and_one_with_them_is_python(
    tmp_path: Path,
) -> None:
    """Files and identities of runs stay as they were."""
    assert "cells" not in scenario().model_dump(mode="json", exclude_defaults=True)
    shared = scenario(cells=[cell(FULL)])
    hosts = router_settings(shared, tmp_path)
    assert Core(shared.virtual, hosts).name == "python: it has cells"
    assert Scenario.model_validate(shared.model_dump(mode="json")) == shared
    assert run_id(shared) != run_id(scenario())
    rlc = {"rate_mbps": 20, "rlc": {"slot_ms": 0.5}}
    scenario(mode="sc", legs=[rlc], cells=[cell(slot_ms=0.5)])  # slots of one length


def test_a_recorded_load_is_kept_with_a_run_and_counts_by_its_content(tmp_path: Path) -> None:
    """As the traces of legs."""
    recorded, same = tmp_path / "load.csv", tmp_path / "same.csv"
    for file in (recorded, same):
        file.write_text("time_s,rate_mbps\n0,1\n1,2\n2,0\n", encoding="utf-8")
    shared, other = (
        scenario(cells=[cell({"kind": "trace", "rate_mbps": 10, "trace": str(file)})])
        for file in (recorded, same)
    )
    assert run_id(shared) == run_id(other)
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    write_version(run)
    shared.save(run / "scenario.yaml")
    keep_traces(trace_paths(shared), run)
    recorded.unlink()
    kept = load_as_run(run)
    assert kept.cells[0].background[0].trace != shared.cells[0].background[0].trace
    kept.read_traces()
    with pytest.raises(SettingsError, match=r"load\.csv: No such file"):
        shared.read_traces()
