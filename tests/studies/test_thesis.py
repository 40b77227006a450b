"""The study of the thesis: its cases, the recorded runs, the tables and the claims."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import pytest

from tests.studies import digests
from tests.studies.digests import STUDIES, program, runs_of

STUDY = STUDIES / "thesis"
module = partial(digests.module, "thesis")


@pytest.fixture(scope="module")
def recorded() -> pd.DataFrame:
    return pd.read_parquet(STUDY / "reference" / "runs.parquet")


def test_rates_delays_and_splits_are_those_of_the_thesis_tables() -> None:
    for item in module("published").ITEMS:
        if item.campaign not in ("throughput", "fairness"):
            continue
        rows = item.rows()
        by_x = rows.set_index(rows[item.theirs].astype(float))
        for scenario, labels in program(f"thesis/{item.campaign}").cases("full"):
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


def test_all_numbers_of_the_thesis_tables_have_recorded_runs(recorded: pd.DataFrame) -> None:
    comparison, items = module("comparison"), module("published").ITEMS
    published = {item.item: len(comparison.theirs(item)) for item in items}
    cells = comparison.cells(recorded)
    assert cells.groupby("item").size().to_dict() == published
    assert len(cells) == 779


def test_recorded_runs_are_those_of_the_campaigns(recorded: pd.DataFrame) -> None:
    joined = ["run", "seed", "experiment"]
    mine = recorded[recorded["campaign"] == "throughput"][joined]
    known = runs_of("thesis/throughput", "full")[joined]
    assert set(mine.itertuples(index=False)) <= set(known.itertuples(index=False))


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
