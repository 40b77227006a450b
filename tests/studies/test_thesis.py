"""The study of the thesis: its cases, the recorded runs, the tables and the claims."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.results.synthetic_runs import result, save, save_element
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


def test_at_the_links_every_copy_of_a_packet_counts(tmp_path: Path) -> None:
    flows = [
        {"goodput_mbps": 10.0, "completion_s": 1.0},
        {"goodput_mbps": 5.0, "completion_s": 1.0},
    ]
    run = save(tmp_path, result(details={"flows": flows}))
    bearer = {"pdus_1": 100, "pdus_2": 100, "delivered": 100}
    (run / "ue-summary.json").write_text(json.dumps({"receive": {"1": bearer}}))
    rates = {"links_flow_1_mbps": 20.0, "links_flow_2_mbps": 5.0}
    assert module("links").links(run) == rates | {"links_jain_index": 25**2 / (2 * (400 + 25))}


@pytest.mark.parametrize(("starts", "ends"), [((0, 0), (1.999, 1.5)), ((3, 7), (2.0, 2.0))])
def test_a_flow_s_rate_is_what_its_bearer_delivered_in_each_whole_bin_from_its_start(
    starts: tuple[int, int], ends: tuple[float, float], tmp_path: Path
) -> None:
    flows = [
        {"started_s": start / 10, "completion_s": end}
        for start, end in zip(starts, ends, strict=True)
    ]
    run = save(tmp_path, result(completion_s=max(ends), details={"flows": flows}))
    rows = [
        {"time_ns": tenth * 10**8, "bearer": 2 * flow - 1,
         "delivered_bytes": max(0, tenth - starts[flow - 1]) * flow * 12_500}
        for tenth in range(-5, 40) for flow in (1, 2)
    ]  # fmt: skip
    save_element(run, "ue", "receive", rows)
    assert module("links").flow_rates(run).to_dict("list") == {
        "time_s": [0.0, 1.0, 0.0, 1.0],
        "flow": [1, 1, 2, 2],
        "rate_mbps": pytest.approx([1.0, 1.0, 2.0, 2.0]),
    }
