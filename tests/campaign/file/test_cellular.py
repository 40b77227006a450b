"""The claims of `campaigns/cellular.yaml` that need MPTCP, with made-up runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc import claims_table, find_campaign, load_sources
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import pretend, run_with

CUBIC_MBPS = 10.0
CONFIGURATIONS = ("cubic", "mptcp")


def claim_13(directory: Path, shares: dict[Any, float | None]) -> dict[str, str]:
    """The verdicts, by the words that follow the claim's number.

    Args:
        shares: of a case: MPTCP's goodput divided by CUBIC's; None: it is unsupported.
    """

    def execute(scenario: Scenario, run: Path) -> RunResult:
        assert scenario.handover is not None
        share = 1.0 if scenario.transport != "mptcp" else shares[scenario.handover.case]
        if share is None:
            scenario.save(run / "scenario.yaml")
            return replace(blank_result(scenario, run), status="unsupported", reason="no MPTCP")
        return replace(pretend(scenario, run), goodput_mbps=share * CUBIC_MBPS)

    root = run_with(directory, content(), execute, clock="real")
    table = claims_table(load_sources([root]))
    return {str(row["claim"])[4:14]: str(row["verdict"]) for row in table.to_dict("records")}


def content() -> dict[str, Any]:
    """The residential experiment as it is, with what claim 13 needs, and two starts."""
    path = find_campaign("cellular")
    file: dict[str, Any] = yaml.safe_load(path.read_text())
    file["parameters"] = {name: str(path.parent / at) for name, at in file["parameters"].items()}
    file["configurations"] = {name: file["configurations"][name] for name in CONFIGURATIONS}
    del file["standard_configurations"]
    one = file["experiments"]["residential"]
    one["grid"]["trace_offset_s"] = [0, 600]
    one["joined"] = {
        name: text for name, text in one["joined"].items() if name.startswith(("cubic_", "mptcp_"))
    }
    one["claims"] = [claim for claim in one["claims"] if claim["text"].startswith("13:")]
    kept = {"title": "Claim 13"} | {key: one[key] for key in ("base", "grid", "across", "joined")}
    file["experiments"] = {"residential": kept | {"claims": one["claims"]}}
    return file


@pytest.mark.parametrize(
    ("shares", "single", "several"),
    [
        ({"sp": 1.1, 1: 1.0, 2: 0.5, 3: 0.5, 4: 0.7}, "holds", "holds"),
        ({"sp": 0.5, 1: 1.0, 2: 0.5, 3: 1.2, 4: 0.7}, "does not hold", "does not hold"),
        (dict.fromkeys(["sp", 1, 2, 3, 4]), "not run", "not run"),
        ({"sp": 1.1, 1: 1.0, 2: 0.5, 3: 0.5, 4: None}, "holds", "not run"),
    ],
    ids=["as published", "otherwise", "unsupported", "a case is missing"],
)
def test_claim_13_is_judged_where_mptcp_ran_and_not_run_where_it_did_not(
    tmp_path: Path, shares: dict[Any, float | None], single: str, several: str
) -> None:
    assert claim_13(tmp_path, shares) == {"MPTCP is a": single, "and worse ": several}
