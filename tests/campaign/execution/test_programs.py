"""A campaign of users' own programs: its measures in tables and figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.campaign.file.fields import Curve
from minitopo_dc.campaign.report.evaluation import load_sources, measured_points
from minitopo_dc.runs.judge import blank_result, judge
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement
from tests.campaign.campaigns import document, run_with

WORDS = "workload.client.1"
LEGS = [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 20}}]
CONTENT = document(
    clock="real",
    base={
        "mode": "dc",
        "legs": LEGS,
        "workload": {
            "kind": "command",
            "client": ["load", 1],
            "measures": {"load_ms": {"regex": "(.)", "unit": "ms"}},
        },
    },
    configurations={"mine": {"transport": "command"}},
    experiments={
        "one": {
            "title": "One",
            "grid": {WORDS: [3, 5]},
            "figure": {"x": WORDS, "curves": [{"configuration": "mine", "measure": "load_ms"}]},
        }
    },
)


def load(scenario: Scenario, directory: Path) -> RunResult:
    """It takes ten times as long as its word says, and the seed's number more; seed 2 fails."""
    scenario.save(directory / "scenario.yaml")
    blank = blank_result(scenario, directory)
    words: Any = scenario.workload.model_dump()["client"]
    if scenario.seed == 2 and words[1] == "5":
        return replace(blank, reason="measure load_ms: client.out: no match of regex (.)")
    found = {"load_ms": 10.0 * int(words[1]) + scenario.seed, "units": {"load_ms": "ms"}}
    return judge(blank, scenario, [Measurement(0, 1.5, found)], [1000, 2000])


def test_a_measure_is_a_column_and_a_curve(tmp_path: Path) -> None:
    root = run_with(tmp_path / "c", CONTENT, load, clock="real")
    (source,) = load_sources([root])
    points = measured_points(source, "one", Curve(configuration="mine", measure="load_ms"), WORDS)
    assert points[["x", "mean", "runs"]].to_numpy().tolist() == [[3, 31.5, 2], [5, 51.0, 1]]
    table = pd.read_csv(root / "results.csv").sort_values([WORDS, "seed"])
    assert table["load_ms"].tolist()[:3] == [31.0, 32.0, 51.0]
    assert table["load_ms"].isna().tolist() == [False, False, False, True]
    assert table["leg_bytes_2"].tolist()[:1] == [2000]
    assert table["reason"].tolist()[3] == "measure load_ms: client.out: no match of regex (.)"
    parquet = pd.read_parquet(root / "results.parquet")
    assert sorted(parquet["load_ms"].dropna()) == [31.0, 32.0, 51.0]
