"""Claims and their verdicts, on made-up data and on made-up runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.campaign.file.fields import Claim
from minitopo_dc.campaign.report.claims import (
    UNIVERSAL,
    Estimate,
    Verdict,
    claims_table,
    estimate,
    verdicts,
)
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.joined import Joined, join
from minitopo_dc.cli import main
from minitopo_dc.settings import SettingsError
from tests.campaign.report.test_joined import (
    EXPERIMENT,
    POINTS,
    campaign,
    claims,
    failing,
    made_up,
    source_of,
)


def of_points(**columns: list[list[float]]) -> Joined:
    """Points with these values: of each column a list per repetition, of a value per point."""
    repetitions = len(next(iter(columns.values())))
    each = [
        pd.DataFrame({name: np.array(values[row], float) for name, values in columns.items()})
        for row in range(repetitions)
    ]
    table = pd.DataFrame(
        {name: np.median(np.array(values, float), axis=0) for name, values in columns.items()}
    )
    runs = pd.DataFrame(repetitions, index=table.index, columns=table.columns, dtype=float)
    return Joined(table, runs, "", each if repetitions > 1 else [])


def verdict(value: str, joined: Joined, **limits: float) -> str:
    claim = Claim(text="", value=value, **limits)
    return Verdict(claim, estimate(joined, claim)).word


SEEDS = [[0.9490], [0.9496], [0.9508], [0.9511], [0.95028]]
"""Of one point: their mean is 0.950016 or near it, and they lie on both sides of 0.95."""


@pytest.mark.parametrize(
    ("value", "x", "limits", "word"),
    [
        ("= mean(x)", SEEDS, {"least": 0.95}, "undecided"),
        ("= mean(x)", SEEDS, {"least": 0.9}, "holds"),
        ("= mean(x)", SEEDS, {"least": 1}, "does not hold"),
        ("= share(x > 1)", [[0] * 4], {"least": 0.5}, "does not hold"),
        ("= share(x > 1)", [[2] * 2], {"least": 0.5}, "undecided"),
        ("= share(x > 1)", [[2] * 3], {"least": 0.5}, "undecided"),
        ("= share(x > 1)", [[2] * 32], {"least": 0.5}, "holds"),
        ("= share(x > 1)", [[2] * 32], {"least": 0.95}, "undecided"),
        ("= share(x > 1)", [[2] * 99 + [1]], {"least": 1}, "does not hold"),
        ("= share(x > 1)", [[2] * 100], {"least": 1}, "holds"),
        ("= share(x > 1)", [[0] * 100], {"most": 0}, "holds"),
        ("= least(x)", [[2] * 99 + [1]], {"least": 1.5}, "does not hold"),
        ("= most(x)", [[2] * 99 + [1]], {"most": 2}, "holds"),
        ("= most(x)", [[2] * 99 + [3]], {"most": 2}, "does not hold"),
    ],
)
def test_verdicts_of_made_up_data(
    value: str, x: list[list[float]], limits: dict[str, float], word: str
) -> None:
    assert verdict(value, of_points(x=x), **limits) == word


def test_a_universal_claim_names_no_interval() -> None:
    claim = Claim(text="", value="= least(x)", least=1)
    found = estimate(of_points(x=[[2, 3]]), claim)
    assert found is not None
    assert found.method == UNIVERSAL
    assert math.isnan(found.low)


def test_repetitions_widen_the_interval_of_points() -> None:
    claim = Claim(text="", value="= mean(x)", least=1)
    points = list(np.linspace(1, 2, 8))
    calm = estimate(of_points(x=[points, points, points]), claim)
    noisy = estimate(of_points(x=[[each + by for each in points] for by in (-1, 0, 1)]), claim)
    assert calm is not None
    assert noisy is not None
    assert calm.method == noisy.method == "bootstrap over points and repetitions"
    assert calm.value == noisy.value
    assert noisy.high - noisy.low > 1.2 * (calm.high - calm.low)


def test_values_of_a_seed_stay_paired() -> None:
    claim = Claim(text="", value="= mean(x - y)", least=0)
    scatter = [[0.0, 50.0, 7.0], [30.0, 2.0, 90.0], [4.0, 8.0, 60.0]]
    ahead = [[each + 1 for each in row] for row in scatter]
    assert verdict(claim.value, of_points(x=ahead, y=scatter), least=0.5, most=1.5) == "holds"


def test_claims_hold_or_not_or_are_undecided(tmp_path: Path) -> None:
    wanted = claims(
        {"value": "= median(gain)", "least": 2.9, "most": 3.1},
        {"value": "= share(gain > 4)", "least": 0.5},
        {"value": "= mean(benefit * 0 + slower)", "most": 3.5},
    )
    source, experiment = source_of(campaign(tmp_path, claims=wanted))
    found = verdicts(join(source, "points", experiment), "points", experiment)
    assert [each.word for each in found] == ["holds", "does not hold", "holds"]
    assert [each.estimate.value for each in found if each.estimate] == pytest.approx([3, 0, 3])


def test_a_claim_of_somebody_else_s_writes_nothing(tmp_path: Path) -> None:
    written = tmp_path / "written"
    with pytest.raises(
        SettingsError, match=r"experiments\.points\.claims: .*methods are not called"
    ):
        campaign(tmp_path, claims=claims({"value": f"= gain.tofile('{written}')", "least": 1}))
    assert not written.exists()


def test_what_a_claim_divides_by_0_is_infinite() -> None:
    joined = of_points(gain=[[1, 2]], nil=[[0, 0]])
    found = estimate(joined, Claim(text="", value="= mean(gain) / mean(nil)", least=1))
    assert found == Estimate(math.inf, math.inf, math.inf, "bootstrap over points", 2)


def test_an_interval_on_both_sides_of_a_limit_is_undecided() -> None:
    claim = Claim(text="", value="= x", least=1)
    assert Verdict(claim, Estimate(1.1, 0.9, 1.3, "bootstrap over points", 5)).word == "undecided"
    assert Verdict(claim, None).word == "not run"


def one_point(directory: Path, repetitions: int, execute: Any = made_up) -> Path:
    """A claim over one point."""
    design = EXPERIMENT["design"] | {"points": 1}
    wanted = claims({"value": "= mean(gain)", "least": 2})
    file = {"repetitions": repetitions}
    return campaign(directory, execute, file, design=design, claims=wanted)


def test_a_claim_over_one_run_of_one_point_has_not_enough_evidence(tmp_path: Path) -> None:
    root = one_point(tmp_path, repetitions=1)
    (row,) = claims_table(load_sources([root])).to_dict("records")
    assert row["verdict"] == "not enough evidence"
    assert row["why"] == "1 point with 1 run; needed: 2 points, or --repetitions 2 or more"
    assert (row["value"], row["points"], row["runs"]) == (3.0, 1, 1)
    assert math.isnan(row["low"])
    assert math.isnan(row["high"])


def test_the_report_shows_and_counts_what_has_not_enough_evidence(tmp_path: Path) -> None:
    root = one_point(tmp_path, repetitions=1)
    assert main(["campaign", "report", str(root)]) == 0
    html = (root / "report/report.html").read_text()
    assert "Claims: not enough evidence 1." in html
    assert "1 point with 1 run; needed: 2 points, or --repetitions 2 or more" in html
    assert "3.000 to 3.000" not in html
    (claim,) = json.loads((root / "report/answer.json").read_text())["claims"]
    assert claim["verdict"] == "not enough evidence"
    assert claim["estimate"] == {
        "value": 3.0,
        "low": None,
        "high": None,
        "method": "none",
        "points": 1,
        "runs": 1,
    }


def test_repetitions_of_one_point_make_its_interval(tmp_path: Path) -> None:
    (row,) = claims_table(load_sources([one_point(tmp_path, 3)])).to_dict("records")
    assert (row["points"], row["runs"]) == (1, 3)
    assert row["method"] == "Student's t over repetitions"
    assert row["low"] <= row["value"] <= row["high"]


def test_a_run_that_failed_is_no_evidence(tmp_path: Path) -> None:
    root = one_point(tmp_path, 3, failing({2, 3}))
    (row,) = claims_table(load_sources([root])).to_dict("records")
    assert row["verdict"] == "not enough evidence"
    assert row["why"].endswith("--repetitions 2 or more; 2 of 6 runs failed")


def test_only_the_runs_that_a_claim_needs_are_its_evidence(tmp_path: Path) -> None:
    joined = {"alone": "= one_leg.goodput_mbps", "twice": "= 2 * alone", "dc": "= dc.goodput_mbps"}
    wanted = claims({"value": "= mean(twice)", "least": -100}, {"value": "= mean(dc)", "least": 0})
    design = EXPERIMENT["design"] | {"points": 1}
    root = campaign(tmp_path, failing({2, 3}), joined=joined, claims=wanted, design=design)
    table = claims_table(load_sources([root]))
    assert list(table["runs"]) == [3, 1]
    assert list(table["verdict"]) == ["holds", "not enough evidence"]


def test_an_interval_is_that_of_the_points_and_the_same_each_time() -> None:
    joined = of_points(rate=[[1, 2, 3, 4, 9]])
    found = estimate(joined, Claim(text="", value="= mean(rate)", least=1))
    assert found is not None
    assert found.low < found.value < found.high
    assert found == estimate(joined, Claim(text="", value="= mean(rate)", least=1))


def test_a_column_whose_name_is_a_part_of_another_s_is_not_needed() -> None:
    joined = of_points(ratio=[[math.nan, math.nan]], single_ratio=[[1, 3]])
    found = estimate(joined, Claim(text="", value="= mean(single_ratio)", least=1))
    assert found is not None
    assert (found.value, found.points) == (2.0, 2)


def test_claims_of_all_experiments_are_a_table(tmp_path: Path) -> None:
    wanted = claims(
        {"value": "= median(slower)", "least": 2, "source": "they say 2.5"},
        {"value": "= median(slower)", "most": 2},
    )
    table = claims_table(load_sources([campaign(tmp_path, claims=wanted)]))
    assert list(table["verdict"]) == ["holds", "does not hold"]
    assert table["published"].iloc[0] == "they say 2.5"
    assert list(table["points"]) == [POINTS, POINTS]
