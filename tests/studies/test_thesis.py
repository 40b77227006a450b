"""The study of the thesis: its cases, the recorded runs, the tables and the claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.campaign.program import Program, load_program
from tests.studies.digests import digest, runs_of

STUDY = Path(__file__).parents[2] / "studies" / "thesis"
DIGESTS = {  # of the sorted identities of all runs: recorded results are joined by them
    ("throughput", "full"): "4b398cbf1a7d605e",
    ("throughput", "quick"): "9c1a0e6bd47c3d01",
    ("throughput", "sample"): "7388cb4b6bc21992",
    ("throughput_lte", "quick"): "b1bb33bec4a6d49b",
    ("throughput_lte", "sample"): "b2236eee68b3c7a0",
    ("fairness", "full"): "924f3ce55c4611b7",
    ("fairness", "quick"): "c2a5b8289a6605df",
    ("fairness", "sample"): "707128de83b21e92",
    ("behaviour", "full"): "35332de690b89b18",
    ("behaviour", "quick"): "208165c61649bfe3",
    ("appendices", "sample"): "0bc303b274fc9d01",
}


@pytest.fixture
def modules() -> Iterator[None]:
    """Leave no module of the study behind, whose names others may have."""
    before, path = set(sys.modules), [*sys.path]
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == STUDY:
            del sys.modules[name]


def program(name: str) -> Program:
    return load_program(STUDY / f"{name}.py")


def module(name: str) -> Any:
    """Return a module beside the campaigns, which one of them imports."""
    program("throughput")
    return sys.modules[name]


@pytest.fixture(scope="module")
def recorded() -> pd.DataFrame:
    return pd.read_parquet(STUDY / "reference" / "runs.parquet")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(("name", "version"), DIGESTS)
def test_runs_keep_their_identities(name: str, version: str) -> None:
    _, identities = digest(runs_of("thesis", name, version))
    assert identities == DIGESTS[name, version]


@pytest.mark.usefixtures("modules")
def test_rates_delays_and_splits_are_those_of_the_thesis_tables() -> None:
    for item in module("published").ITEMS:
        if item.campaign not in ("throughput", "fairness"):
            continue
        rows = item.rows()
        by_x = rows.set_index(rows[item.theirs].astype(float))
        for scenario, labels in program(item.campaign).cases("full"):
            if labels["experiment"] == item.experiment:
                _check_point(scenario, by_x.loc[labels[item.ours]])


def _check_point(scenario: Any, row: pd.Series[Any]) -> None:
    for number, leg in enumerate(scenario.legs, start=1):
        if f"link{number}_mbps" in row:
            rate = float(row[f"link{number}_mbps"]) * 1310 / 1324
            assert leg.downlink.rate_mbps == pytest.approx(rate, abs=1e-3)
        if f"link{number}_delay_ms" in row:
            assert leg.downlink.delay_ms == float(row[f"link{number}_delay_ms"])
        if f"link{number}_percent" in row:
            ratio = scenario.pdcp.ratio or (1, 1)  # None: equal parts
            percent = float(row[f"link{number}_percent"])
            assert 100 * ratio[number - 1] / sum(ratio) == pytest.approx(percent)


@pytest.mark.usefixtures("modules")
def test_all_numbers_of_the_thesis_tables_have_recorded_runs(recorded: pd.DataFrame) -> None:
    comparison, items = module("comparison"), module("published").ITEMS
    published = {item.item: len(comparison.theirs(item)) for item in items}
    cells = comparison.cells(recorded)
    assert cells.groupby("item").size().to_dict() == published
    assert len(cells) == 779


@pytest.mark.usefixtures("modules")
def test_recorded_runs_are_those_of_the_campaigns(recorded: pd.DataFrame) -> None:
    joined = ["run", "seed", "experiment"]
    mine = recorded[recorded["campaign"] == "throughput"][joined]
    known = runs_of("thesis", "throughput", "full")[joined]
    assert set(mine.itertuples(index=False)) <= set(known.itertuples(index=False))


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 1.1, 1.2], "holds"),
        ([0.1, 0.2, 0.3], "does not hold"),
        ([0.1, 0.2, 1.9], "undecided"),
        ([1.0], "not enough evidence"),
        ([float("nan")], "not run"),
    ],
)
def test_a_claim_is_judged_by_its_interval(values: list[float], verdict: str) -> None:
    (claim,) = module("claims").judged({"copies-2": pd.Series(values)})
    assert (claim.limit, claim.verdict) == ("at least 0.800", verdict)
