"""What picoquic's `cubic` was until version 2 of the data model is `cubic-picoquic` to a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.data_model import FILE, VERSION
from minitopo_dc.results import load_results
from minitopo_dc.results.kept_scenario import load_as_run, load_to_run
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import scenario_fields
from tests.results.synthetic_runs import result, save

LEGS = [{"downlink": {"rate_mbps": 20}}] * 2
RENAMED = [
    (2, "quic-picoquic", "cubic", "cubic-picoquic"),
    (1, "mpquic-picoquic", "cubic", "cubic-picoquic"),
    (2, "quic-picoquic", "cubic-rfc9438", "cubic"),
    (2, "quic-picoquic", "reno", "reno"),
    (2, "quic", "cubic", "cubic"),
    (VERSION, "quic-picoquic", "cubic", "cubic"),
]


def kept(root: Path, version: int, run: RunResult, **fields: Any) -> Path:
    """Keep a run as a version did, with its scenario; return its directory."""
    directory = save(root, run)
    made = {"legs": LEGS, "workload": {"size_mb": 1}, "congestion_control": run.congestion_control}
    made |= {"transport": run.transport, "mode": run.mode, **fields}
    (directory / "scenario.yaml").write_text(yaml.safe_dump(made))
    (directory / FILE).write_text(json.dumps({"data_model": version}))
    return directory


@pytest.mark.parametrize(("version", "transport", "before", "after"), RENAMED)
def test_a_run_says_what_it_had(
    tmp_path: Path, version: int, transport: str, before: str, after: str
) -> None:
    mode = "multipath" if transport.startswith("mp") else "sc"
    details = {"congestion_control": before}
    run = kept(
        tmp_path, version, result(transport, mode, congestion_control=before, details=details)
    )
    (row,) = load_results(tmp_path).to_dict("records")
    assert row["congestion_control"] == row["details"]["congestion_control"] == after
    assert scenario_fields(run)["congestion_control"] == after
    assert load_as_run(run).congestion_control == after
    assert load_to_run(run / "scenario.yaml").congestion_control == after


def test_flows_say_what_they_had(tmp_path: Path) -> None:
    flows: list[dict[str, Any]] = [
        {"mode": "sc"},
        {"mode": "sc", "transport": "quic-picoquic"},
        {"mode": "sc", "transport": "quic-picoquic", "congestion_control": "cubic-rfc9438"},
        {"mode": "sc", "congestion_control": "reno"},
    ]
    reported = [{"transport": "quic", "congestion_control": "cubic", **flow} for flow in flows]
    ran = result("quic", "flows", congestion_control="cubic", details={"flows": reported})
    run = kept(tmp_path, 2, ran, flows=flows)
    expected = ["cubic", "cubic-picoquic", "cubic", "reno"]
    (row,) = load_results(tmp_path).to_dict("records")
    assert [flow["congestion_control"] for flow in row["details"]["flows"]] == expected
    assert [flow.congestion_control for flow in load_as_run(run).resolved_flows] == expected
