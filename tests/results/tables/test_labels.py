"""Runs of whatever directory have their configuration and factors as columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.results import load_results
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

BASE: dict[str, Any] = {"transport": "quic", "legs": [{"downlink": {"rate_mbps": 20}}] * 2}


def recorded(root: Path, name: str, **fields: Any) -> RunResult:
    """A run with its scenario, as a comparison leaves it."""
    scenario = Scenario.check(BASE | fields, "test")
    run = root / name
    run.mkdir(parents=True)
    saved = replace(blank_result(scenario, run), reason="it broke")
    scenario.save(run / "scenario.yaml")
    saved.save(run)
    return saved


def test_a_run_tells_its_leg_split_and_t_reordering_where_its_mode_has_them(tmp_path: Path) -> None:
    recorded(tmp_path, "single", mode="sc", leg=2)
    recorded(tmp_path, "dual", mode="dc", pdcp={"t_reordering_ms": 50})
    recorded(tmp_path, "both", mode="multipath", transport="mptcp")
    table = load_results(tmp_path).set_index("id")
    assert table["leg"].to_dict()["single"] == 2
    assert table["leg"].isna().sum() == 2
    assert table["pdcp.split"].to_dict() == {"single": "", "dual": "batch", "both": ""}
    assert table["pdcp.t_reordering_ms"].to_dict()["dual"] == 50
    assert table["pdcp.t_reordering_ms"].isna().sum() == 2


def test_what_differs_between_the_runs_of_a_comparison_is_a_column(tmp_path: Path) -> None:
    for batch in (2, 100):
        recorded(tmp_path, f"batch-{batch}", mode="dc", pdcp={"batch": batch})
    table = load_results(tmp_path).set_index("id")
    assert table["pdcp.batch"].to_dict() == {"batch-2": 2, "batch-100": 100}
    assert "pdcp.sn_bits" not in table
    assert "pdcp.batch" not in load_results(tmp_path / "batch-2")


def test_a_run_of_the_first_data_model_has_its_settings_from_its_scenario(tmp_path: Path) -> None:
    recorded(tmp_path, "old", mode="dc", pdcp={"split": "least-delay"})
    path = tmp_path / "old" / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": {}}))
    assert load_results(tmp_path)["pdcp.split"].tolist() == ["least-delay"]
