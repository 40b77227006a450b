"""Runs of whatever directory have their configuration and factors as columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.analysis import ResultError, load_results
from minitopo_dc.analysis.tables.labels import FIRST
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import SETTINGS, RunResult
from minitopo_dc.scenario import Scenario
from tests.analysis.synthetic_runs import result, save
from tests.campaign.campaigns import document, pretend, run_with

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


def three_experiments() -> dict[str, Any]:
    """One with a label that changes nothing: its cells share their runs with those of the first."""
    batch = {"title": "Batch", "grid": {"pdcp.batch": [2, 100]}}
    same = {"title": "Same", "grid": {"label.colour": ["red", "blue"]}}
    drawn = {
        "title": "Drawn",
        "design": {"method": "sobol", "points": 2, "factors": {"label.rate": [10, 30]}},
        "base": {"legs.*.downlink.rate_mbps": "= rate"},
    }
    return document(experiments={"batch": batch, "same": same, "drawn": drawn})


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


def test_a_run_alone_is_one_row_with_the_columns_of_every_run(tmp_path: Path) -> None:
    recorded(tmp_path, "alone", mode="dc")
    table = load_results(tmp_path / "alone")
    assert table["id"].tolist() == ["alone"]
    assert list(table) == list(load_results(tmp_path))
    assert {*FIRST, *SETTINGS} < {*table}


def test_a_run_of_the_first_data_model_has_its_settings_from_its_scenario(tmp_path: Path) -> None:
    recorded(tmp_path, "old", mode="dc", pdcp={"split": "least-delay"})
    path = tmp_path / "old" / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": {}}))
    assert load_results(tmp_path)["pdcp.split"].tolist() == ["least-delay"]


def test_a_campaigns_runs_have_their_configuration_and_factors(tmp_path: Path) -> None:
    table = load_results(run_with(tmp_path, three_experiments(), pretend))
    assert table["id"].is_unique
    assert set(table["configuration"]) == {"default", "large"}
    assert set(table["experiments"]) == {"batch", "batch same", "drawn"}
    by_batch = table[table["pdcp.batch"] == 2]
    assert set(by_batch["experiments"]) == {"batch"}
    drawn = table[table["experiments"] == "drawn"]
    assert drawn["label.rate"].nunique() == 2
    assert drawn["label.rate"].between(10, 30).all()
    assert table[table["experiments"] == "batch same"]["label.colour"].isna().all()


def test_the_tables_of_a_campaign_are_what_is_loaded(tmp_path: Path) -> None:
    root = run_with(tmp_path, three_experiments(), pretend)
    loaded = load_results(root)
    saved = pd.read_csv(root / "results.csv")
    assert list(saved) == [name for name in loaded if name != "leg_bytes"]
    assert saved["label.rate"].tolist() == pytest.approx(loaded["label.rate"], nan_ok=True)
    assert saved["configuration"].tolist() == loaded["configuration"].tolist()
    assert "label.rate" in pd.read_parquet(root / "results.parquet")


def test_an_experiments_rows_are_its_cells_and_repetitions(tmp_path: Path) -> None:
    root = run_with(tmp_path, three_experiments(), pretend)
    table = load_results(root, "same")
    assert len(table) == 8
    assert table["id"].nunique() == 4
    found = table.groupby(["configuration", "label.colour"])["repetition"].apply(list)
    assert found.tolist() == [[1, 2]] * 4
    assert list(table)[:3] == list(FIRST)


def test_an_unknown_experiment_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    root = run_with(tmp_path, document(), pretend)
    with pytest.raises(ResultError, match="no experiment bath; allowed: batch"):
        load_results(root, "bath")
    save(tmp_path / "compared", result())
    with pytest.raises(ResultError, match="no campaign"):
        load_results(tmp_path / "compared", "batch")


def test_a_plan_does_not_change_what_a_run_tells(tmp_path: Path) -> None:
    root = run_with(tmp_path, document(), pretend)
    plan = json.loads((root / "plan.json").read_text())
    for fields in plan["fields"].values():
        fields |= {"directory": "/etc", "status": "failed", "id": "another"}
    (root / "plan.json").write_text(json.dumps(plan))
    table = load_results(root)
    assert set(table["status"]) == {"ok"}
    assert all(Path(each).is_relative_to(root) for each in table["directory"])
    assert set(table["id"]) == {path.name for path in (root / "runs").iterdir()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": 3}, "cells: "),
        ({"fields": {"a": 1}}, "fields.a: "),
        ({"cells": [{"experiment": 1}]}, "cells.0.experiment: "),
    ],
)
def test_a_broken_plan_is_one_error(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    root = run_with(tmp_path, document(), pretend)
    plan = json.loads((root / "plan.json").read_text())
    (root / "plan.json").write_text(json.dumps(plan | change))
    with pytest.raises(ResultError, match=f"plan.json: {words}"):
        load_results(root)
