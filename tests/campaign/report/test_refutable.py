"""Each claim of the shipped campaigns can fail: made-up runs, within what legs allow, refute it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.file.design import Version
from minitopo_dc.campaign.file.expressions import compute_number, names_in
from minitopo_dc.campaign.file.fields import Claim, campaign_names, find_campaign
from minitopo_dc.campaign.file.measure_names import needed_measures
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.campaign.report import joined
from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.joined import join
from minitopo_dc.scenario import Mode, Scenario
from minitopo_dc.workloads import Download
from tests.campaign.campaigns import document, write

TRIALS = 100
"""Made-up worlds: a claim that a tenth of them refutes is found to be one all but surely."""
AT_MOST_1 = (
    "_share",
    "jain_index",
    "early_exit",
    "false_loss",
    "normal_behaviour",
    "reached_optimum",
)
ANY_RATE = 1000.0
"""Mbit/s: of what has no rate of its own, e.g. a trace."""
CASES = [
    (name, experiment)
    for name in campaign_names()
    for experiment, described in read_file(find_campaign(name), Overrides()).experiments.items()
    if described.claims
]


def rates(scenario: Scenario) -> list[float]:
    return [leg.downlink.rate_mbps or ANY_RATE for leg in scenario.legs]


def most_mbps(scenario: Scenario, mode: Mode, leg: int) -> float:
    """What the legs let through downlink, whatever transport and PDCP make of it."""
    legs = rates(scenario)
    if mode == "sc":
        return legs[leg - 1]
    if mode == "dc-duplicate":
        return max(legs)
    if mode == "dc" and scenario.pdcp.split == "batch":
        ratio = scenario.pdcp.ratio or (1,) * len(legs)
        return min(rate * sum(ratio) / part for rate, part in zip(legs, ratio, strict=True) if part)
    return sum(legs)


@dataclass
class MadeUp:
    """A world: a measure is the same at all points, but differs by configuration and `across`."""

    plan: Plan
    across: str
    seed: int
    scenarios: dict[str, Scenario] = field(init=False)

    def __post_init__(self) -> None:
        self.scenarios = {run.id: run.scenario for run in self.plan.runs}

    def value(self, run: dict[Any, Any], name: str, *, endless: bool) -> float:
        """Stand in for `run_value`."""
        assert not endless or name
        of = (self.seed, run["experiment"], run["configuration"], run["factors"].get(self.across))
        part = random.Random(f"{of} {name}").random()
        scenario = self.scenarios[run["id"]]
        if name == "mp_capacity_mbps":
            return self._capacity(scenario)
        if name == "leg_2_carried_from_4_s":  # what is left has all
            return 1.0
        if name.endswith("_mbps"):
            return part * self._most(scenario, name)
        if name.endswith(AT_MOST_1) or name.startswith("leg_2_sent"):
            return part
        if name == "completion_s":
            part = random.Random(f"{of} goodput_mbps").random()
            assert isinstance(scenario.workload, Download)
            return scenario.workload.size_mb * 8 / (part * self._most(scenario, name))
        return float(10 ** (8 * part - 3))

    def _most(self, scenario: Scenario, name: str) -> float:
        flows = scenario.resolved_flows
        flow = flows[int(name.split("_")[-2]) - 1] if "flow_" in name else flows[0]
        return most_mbps(scenario, flow.mode, flow.leg or 1)

    def _capacity(self, scenario: Scenario) -> float:
        """The best channels are opened first (docs/cellular.md)."""
        assert scenario.handover is not None
        case = 1 if scenario.handover.case == "sp" else int(scenario.handover.case)
        channels = [ANY_RATE * random.Random(f"{self.seed} {leg}").random() for leg in range(4)]
        return sum(sorted(channels, reverse=True)[:case])


def irrefutable(path: Path, experiment: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of the claims that no made-up world refutes."""
    left = list(read_file(path, Overrides()).experiments[experiment].claims)
    versions: tuple[Version, ...] = ("quick", "full")
    for version in versions:  # the full one for what the quick one leaves out
        if left and (version == "full" or read_file(path, Overrides()).has(version)):
            left = _not_refuted(path, experiment, version, left, monkeypatch)
    return [claim.text for claim in left]


def _not_refuted(
    path: Path,
    experiment: str,
    version: Version,
    left: list[Claim],
    monkeypatch: pytest.MonkeyPatch,
) -> list[Claim]:
    file = read_file(path, Overrides())
    measures = needed_measures(file, file.experiments[experiment])
    asked = tuple(dict.fromkeys(each.configuration for each in measures))
    plan = read_plan(
        path,
        Overrides(version=version, repetitions=1, experiments=(experiment,), configurations=asked),
    )
    described = plan.file.experiments[experiment]
    cells = pd.DataFrame(_rows(plan))
    for seed in range(TRIALS):
        world = MadeUp(plan, described.across, seed)
        monkeypatch.setattr(joined, "run_value", world.value)
        source = Source("made up", cast("Store", None), plan, cells)
        numbers = [_number(claim, join(source, experiment, described).table) for claim in left]
        if not left or all(number is None for number in numbers):
            break
        left = [claim for claim, number in zip(left, numbers, strict=True) if _holds(claim, number)]
    return left


def _holds(claim: Claim, number: float | None) -> bool:
    """Whether it is not refuted: a number that is the same at all points leaves no doubt."""
    least = -math.inf if claim.least is None else claim.least
    most = math.inf if claim.most is None else claim.most
    return number is None or math.isnan(number) or least <= number <= most


def _number(claim: Claim, table: pd.DataFrame) -> float | None:
    """The number of a claim, without an interval; None: no point has what it needs."""
    used = sorted(names_in(claim.value) & set(table.columns))
    known = table[used].dropna()
    columns = {name: known[name].to_numpy(dtype=float) for name in used}
    return None if known.empty else compute_number(claim.value, columns)


def _rows(plan: Plan) -> Iterator[dict[str, Any]]:
    for cell in plan.cells:
        for repetition, run in enumerate(cell.runs, start=1):
            yield {
                "experiment": cell.experiment,
                "configuration": cell.configuration,
                "repetition": repetition,
                "id": run,
                "factors": dict(cell.factors),
                "status": "ok",
            }


@pytest.mark.parametrize(("campaign", "experiment"), CASES)
def test_made_up_runs_refute_each_claim(
    campaign: str, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert irrefutable(find_campaign(campaign), experiment, monkeypatch) == []


@pytest.mark.parametrize(
    ("mode", "claim"),
    [
        ("dc-duplicate", {"value": "= mean(rate)", "most": 20}),
        ("dc", {"value": "= mean(rate)", "most": 40}),
    ],
)
def test_a_claim_that_legs_make_true_is_found(
    tmp_path: Path, mode: str, claim: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {
        "title": "",
        "configurations": ["default"],
        "cells": [{"label.case": 1, "mode": mode}],
        "joined": {"rate": "= default.goodput_mbps"},
        "claims": [
            {"text": "true"} | claim,
            {"text": "may fail", "value": "= mean(rate)", "least": 5},
        ],
    }
    path = write(tmp_path, document(experiments={"points": points}))
    assert irrefutable(path, "points", monkeypatch) == ["true"]
