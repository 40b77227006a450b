"""Studies with few claims."""

from __future__ import annotations

import pytest

from tests.studies.digests import module, program, runs_of, titles, with_numbers


@pytest.mark.long
def test_a_report_of_a_quick_version_judges_each_environment() -> None:
    names = ("goodput_mbps", "completion_s", "mp_share", "sp_share", "mp_capacity_mbps",
             "sp_capacity_mbps")  # fmt: skip
    runs = with_numbers(runs_of("cellular", "quick"), names)
    made = titles("cellular", runs)
    assert [title for title in made if title.startswith("Claims")] == [
        "Claims, residential",
        "Claims, road",
        "Claims, figure 6",
        "Claims, Dual Connectivity, residential",
        "Claims, Dual Connectivity, road",
    ]
    assert {"Table 4, residential: how near", "Table 5, road: how near"} <= set(made)
    judged = module("cellular", "judged")
    claims = list(judged.of_environment(runs[runs["experiment"] == "road"]))
    assert len(claims) == 13
    assert {claim.points for claim in claims} == {3}


MBPS = {"LTE alone": 15.0, "WiFi alone": 20.0, "DC 1:1": 22.0, "DC 1:2": 28.0,
        "DC least-delay": 32.0, "DC credit": 33.0, "MP-QUIC": 32.0}  # fmt: skip


@pytest.mark.parametrize(
    ("adaptive", "verdicts"),
    [
        (1.0, ["holds", "holds", "holds"]),
        (0.7, ["holds", "does not hold", "does not hold"]),
        (0.5, ["does not hold", "does not hold", "does not hold"]),
    ],
)
def test_claims_are_about_the_best_of_each_kind(adaptive: float, verdicts: list[str]) -> None:
    runs = runs_of("lwa", "quick")
    factor = runs["way"].map(lambda way: adaptive if way in ("DC least-delay", "DC credit") else 1)
    runs = runs.assign(goodput_mbps=runs["way"].map(MBPS) * factor, status="ok")
    judged = program("lwa")._module.judged(runs)
    assert [claim.verdict for claim in judged] == verdicts


@pytest.mark.long
def test_a_report_judges_all_experiments_of_a_sample() -> None:
    judged, behaviour, trees = (module("mesh", name) for name in ("judged", "behaviour", "trees"))
    names = {
        *("goodput_mbps", "throughput_mbps", "leg_loss_percent", "capacity_share", "jain_index"),
        *(f"flow_{number}_goodput_mbps" for number in (1, 2)),
        *(*behaviour.BEHAVIOUR, *behaviour.STATES, *trees.FEATURES, *trees.VARIANCES),
    }
    runs = with_numbers(runs_of("mesh", "quick"), sorted(names))
    made = titles("mesh", runs)
    report = module("mesh", "report")
    assert {f"Claims: {name}" for name in report.JUDGED} <= set(made)
    assert set(report.TABLES["item"]) <= set(made)
    assert made[-1].startswith("Trees")
    assert judged.WIRELESS == ["RP2", "RP3", "RP4", "RP5", "RP6", "RP7"]
