"""The study `which_is_better`: its cases are the recorded ones, and its numbers those published."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import islice
from statistics import fmean

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.advice import NETWORKS
from minitopo_dc.campaign.designs import spread
from minitopo_dc.campaign.plan import Plan
from minitopo_dc.scenario import Leg, Pdcp, Scenario
from minitopo_dc.scenario.presets import dual_connectivity
from minitopo_dc.trace import RateTrace, autocorrelation, read_trace, trace_info
from tests import long
from tests.studies import digests
from tests.studies.digests import MOST, program, runs_of, with_numbers

module = partial(digests.module, "which_is_better")
NAMES = {"campaign": "which_is_better"} | {
    name: f"which_is_better/{name}" for name in ("deployable", "policies", "media", "frontier")
}


@pytest.mark.slow
def test_findings_of_the_answer_are_those_of_its_recorded_runs() -> None:
    recorded = module("recorded")
    text = "\n".join(islice(recorded.pages(), 2))  # the head, and the answer
    assert recorded.FINDINGS.read_text(encoding="utf-8").startswith(text)


@pytest.mark.slow
@pytest.mark.long
def test_all_findings_are_those_of_the_recorded_runs() -> None:
    recorded = module("recorded")
    assert recorded.FINDINGS.read_text(encoding="utf-8") == "\n".join(recorded.pages())


def test_a_part_that_ran_again_replaces_its_rows_and_no_others() -> None:
    names = ["way", "status", "goodput_mbps", "run"]
    before = pd.DataFrame(
        [("a", "ok", 1.0, "x"), ("a", "ok", 1.0, "x"), ("b", "ok", 2.0, "y")], columns=names
    )
    part = pd.DataFrame([("a", "failed", 3.0, "x")], columns=names)
    after = module("recorded").with_part(before, part)
    assert after["goodput_mbps"].tolist() == [3.0, 3.0, 2.0]
    assert after["status"].tolist() == ["failed", "failed", "ok"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "ways"),
    [("campaign", ()), ("frontier", ()), ("deployable", ("dc-papers", "multipath"))],
)
def test_recorded_runs_are_those_of_the_campaign(name: str, ways: tuple[str, ...]) -> None:
    """The deployable and the ideal one were recorded as they were before `frontier.py`."""
    runs, joined = runs_of(NAMES[name], "full"), ["run", "way", "point"]
    kept = module("recorded").recorded(name)[joined]
    kept = kept[kept["way"].isin(ways or kept["way"])]
    rows = set(kept.itertuples(index=False, name=None))
    assert set(runs[joined].itertuples(index=False, name=None)).issuperset(rows)


def test_its_least_delay_is_the_ideal_one_with_an_adaptive_timer_and_its_papers_the_papers() -> (
    None
):
    ways, legs = module("ways"), [Leg(rate_mbps=20), Leg(rate_mbps=20)]
    ideal = dual_connectivity("ideal", legs)
    for direction in ("pdcp", "uplink_pdcp"):
        ideal[direction]["t_reordering_ms"] = "adaptive"
    assert ways.dual(ways.LEAST_DELAY, ways.LEAST_DELAY) == ideal
    assert Pdcp.check(dual_connectivity("papers", legs)["pdcp"], "papers") == Pdcp()


def coherence_s(trace: RateTrace) -> int:
    """Return the lag in s at which the autocorrelation is below 1/e."""
    return next(lag for lag in range(1, 100) if (autocorrelation(trace, lag) or 0) < 1 / math.e)


@pytest.mark.parametrize("capacity", ["lte", "walk", "drive", "road"])
def test_coherence_and_variation_are_those_of_the_traces(capacity: str) -> None:
    networks = module("networks")
    read = [read_trace(file, column=column) for file, column in networks.CAPACITIES[capacity]]
    traces = [trace for trace in read if isinstance(trace, RateTrace)]
    coherence = fmean(map(coherence_s, traces))
    assert networks.COHERENCE_S[capacity] == pytest.approx(coherence, abs=0.5)
    variation = fmean(trace_info(trace).variation for trace in traces)
    assert networks.VARIATION[capacity] == pytest.approx(variation, abs=0.01)


def recorded(experiment: str) -> pd.DataFrame:
    table = pd.read_csv(NETWORKS)
    return table[table["experiment"] == experiment].reset_index(drop=True)


def test_numbers_without_a_unit_are_those_of_the_recorded_networks() -> None:
    campaign, columns = program("which_is_better"), ["windows", "queueing", "lost_per_window"]
    points = pd.DataFrame(campaign._module.dc.campaign.sobol(512, campaign._module.DOWNLOADS))
    made = module("ratios").with_numbers(points.set_index("point"))
    pd.testing.assert_frame_equal(made[columns], recorded("download")[columns], rtol=1e-5)


@cache
def ratios(experiment: str) -> pd.Series[float]:
    runs = module("recorded").recorded()
    if experiment == "requests":
        return module("report").request_ratios(runs)  # type: ignore[no-any-return]
    if experiment == "tcp":
        return recorded("tcp")["ratio"]
    return module("report").downloads(runs, experiment)["ratio"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("experiment", "margin", "published"),
    [  # docs/study.md
        ("download", 0.05, "40 (36 to 44), 37 (33 to 41), 23 (20 to 27), 1.02 (0.96 to 1.14)"),
        ("download-unseen", 0.05,
         "32 (25 to 38), 33 (27 to 40), 36 (29 to 42), 1.01 (0.83 to 1.08)"),
        ("requests", 0.1, "63 (57 to 69), 15 (11 to 20), 22 (17 to 27), 1.24 (0.96 to 1.85)"),
        ("tcp", 0.05, "71 (66 to 74), 12 (9 to 15), 18 (15 to 21), 1.18 (1.03 to 1.68)"),
    ],
)  # fmt: skip
def test_recorded_runs_have_the_published_shares(
    experiment: str, margin: float, published: str
) -> None:
    (row,) = module("ratios").shares({"": ratios(experiment)}, margin).to_numpy().tolist()
    assert ", ".join(row[1:]) == published


@pytest.mark.parametrize("experiment", ["download", "download-unseen"])
def test_advise_has_the_ratios_of_the_recorded_runs(experiment: str) -> None:
    expected = recorded(experiment)["ratio"]
    np.testing.assert_allclose(ratios(experiment).to_numpy(), expected.to_numpy(), rtol=1e-5)


def test_the_fixed_rule_has_the_published_regret_and_digest() -> None:
    rules, report = module("rules"), module("report")
    rule, sha = rules.read_rule(module("ratios").REFERENCE / report.FIXED["ratio"])
    assert sha.startswith("ee7cfadb0980496d")  # docs/study.md
    unseen = rules.regrets(rule, recorded("download-unseen"), "ratio", report.SIDES)
    assert unseen["regret (%)"].tolist()[:3] == [  # docs/study.md
        "7.5 (6.0 to 9.2)",
        "11.9 (9.1 to 14.9)",
        "7.0 (5.4 to 9.0)",
    ]


def planted(points: int = 120) -> pd.DataFrame:
    """Return networks in which the first side is better by 2 where `loss` is at most 0.4."""
    random = np.random.default_rng(3)
    table = pd.DataFrame({"loss": random.random(points), "other": random.random(points)})
    noise = np.exp(random.normal(0, 0.05, points))
    return table.assign(ratio=np.where(table["loss"] <= 0.4, 2, 0.5) * noise, control="cubic")


def test_a_planted_threshold_is_the_rule_that_is_found_and_in_noise_is_none() -> None:
    rules = module("rules")
    rule = rules.find_rule(planted(), "ratio", ["other", "loss", "control"])
    assert (len(rule.terms), rule.terms[0].factor) == (1, "loss")
    assert rule.terms[0].value == pytest.approx(0.4, abs=0.1)
    noise = planted().assign(ratio=np.exp(np.random.default_rng(4).normal(0, 0.3, 120)))
    assert rules.find_rule(noise, "ratio", ["loss", "other"]).otherwise == "either"


def test_a_model_and_a_tree_name_the_planted_factor() -> None:
    learn, table = module("learn"), planted(60)
    errors, rises = learn.models(table, "ratio", ["loss", "other"], "control")
    assert rises.loc["cubic", "loss"] > 5 * abs(rises.loc["cubic", "other"])
    assert errors.loc["cubic", "mean error"] < 0.5 * errors.loc["cubic", "of a constant"]
    asked = learn.trees(
        table, lambda points: {"first": points["ratio"] > 1}, ["loss", "other"], planted(60)
    )
    words, leaves = asked
    assert words.startswith("first: right at ")
    assert leaves["where"].str.startswith("loss").all()
    assert leaves["right"].sum() == 60


def test_an_effect_falls_where_the_planted_ratio_falls() -> None:
    effect = module("learn").effects(planted(), "ratio", ["loss"])["loss"]
    low, high = effect["factor"].iloc[[0, -1]]
    assert low / high == pytest.approx(4, rel=0.2)


def test_a_failed_run_counts_and_a_missing_one_does_not() -> None:
    same = {"experiment": "download", "point": 1, "goodput_mbps": math.nan}
    runs = pd.DataFrame(
        [
            {**same, "way": "dc-papers", "status": "failed"},
            {**same, "way": "mpquic", "status": "ok", "goodput_mbps": 4.0},
            {**same, "way": "leg-1", "status": "missing"},
        ]
    )
    runs.attrs["labels"] = ["experiment", "way", "point"]
    (row,) = module("ratios").by_way(runs, "goodput_mbps", failed=0.0).to_dict("records")
    assert row == {"dc-papers": 0.0, "mpquic": 4.0, "leg-1": pytest.approx(math.nan, nan_ok=True)}


@pytest.mark.parametrize(("lost", "expected"), [(0, 7.0), (5, 9.0), (6, math.inf)])
def test_answers_that_did_not_come_are_late(lost: int, expected: float) -> None:
    runs = pd.DataFrame({"unanswered": [lost], "delay_max_ms": [9.0], "delay_p95_ms": [7.0]})
    late = module("ratios").late_answers(runs)
    assert late["answer_p95_ms"].tolist() == [expected]


@pytest.mark.parametrize("name", [long("campaign"), long("deployable"), "policies", "media"])
def test_a_report_of_runs_has_all_its_sections(name: str) -> None:
    """All that it needs is in the tables that the engine makes."""
    runs = runs_of(NAMES[name], "quick")
    labels = [column for column in runs if column not in ("seed", "run")]
    mine = program(NAMES[name])
    measures = Plan(spread(mine.cases("quick"), MOST), mine.seeds("quick")).measures
    zeros = {"unanswered": 0.0} if "unanswered" in measures else {}
    runs = with_numbers(runs, measures).assign(**zeros)
    if "point" in runs:
        runs = runs[runs["point"] <= 30]  # a search of rules needs more, and has its own test
    runs.attrs["labels"] = labels
    titles = [title for title, content in mine.sections(runs) if content is not None]
    assert len(titles) == {"campaign": 10, "deployable": 12, "policies": 3, "media": 4}[name]


def test_a_setting_is_safe_as_long_as_all_smaller_ones_are() -> None:
    runs = module("recorded").recorded("deployable")
    known = module("deployable").ratios(runs, "download")
    few = known[known["lost_per_window"] <= 0.02]
    ways = {"0": "dc-xn-0", "far": "dc-papers", "5": "dc-xn-5"}
    deployable = module("deployable")
    table = deployable.not_worse(few, ways, deployable.classes(few))
    assert table.loc["all", "not worse up to"] == "0"


def test_classes_have_each_network_once_and_a_run_that_failed_is_the_worse_one() -> None:
    deployable, runs = module("deployable"), module("recorded").recorded("deployable")
    known = deployable.ratios(runs, "download")
    counted = sum(members.astype(int) for _, members in deployable.combined(known))
    assert len(known) == 512
    assert (counted == 1).all()
    failed = runs.loc[runs["status"] == "failed", "point"]
    assert len(failed) == 4
    assert set(known.loc[known["point"].isin(failed), "dc-papers"]) == {0.0}


def test_two_tables_agree_where_outcomes_are_the_same() -> None:
    agreement, runs = module("agreement"), module("recorded").recorded()
    few = runs[(runs["experiment"] == "download") & (runs["point"] <= 10)]
    slower = few.assign(goodput_mbps=few["goodput_mbps"].where(few["way"] != "dc-papers", 1000.0))
    (row,) = agreement.same(few, slower)
    ratios = module("report").downloads(few, "download")["ratio"]
    assert row.same == pytest.approx(float((ratios > 1.05).mean()))
    assert row.points == 10


def test_shares_of_tcp_hold_the_clock_s_error_and_wilson_s_interval() -> None:
    ratios = module("ratios")
    at_the_border = pd.Series([1.06] * 40)
    alone, both = (
        ratios.shares({"all": at_the_border}, clock=clock).loc["all"].tolist()
        for clock in (False, True)
    )
    assert alone[1:4] == ["100 (91 to 100)", "0 (0 to 9)", "0 (0 to 9)"]
    low = int(both[1].removeprefix("100 (").split()[0])
    assert low < 70  # at half of the networks the clocks differ by more than the last percent
    assert both[2] != alone[2]


def test_what_a_split_was_judged_at_was_not_searched() -> None:
    frontier = module("frontier")
    judged = set(frontier.HELD_OUT[: frontier.POINTS["full"].losses])
    assert len(judged) == 64
    assert not judged & (set(frontier.SEARCHED) | frontier.FIRST_TRIED)


def test_the_split_of_before_desired_17_ms_and_waited_for_xn_twice() -> None:
    frontier, legs = module("frontier"), [Leg(rate_mbps=20, delay_ms=10, jitter_ms=0)] * 2
    before = frontier.before(Scenario(transport="quic", mode="dc", legs=legs))
    assert before.pdcp.t_reordering_ms.setting == 30  # 5 ms of Xn, and 17 held
    control = before.pdcp.flow_control
    assert [node.desired_ns / 1e6 for node in control.of_legs(2)] == [7, 17]
    assert before.uplink_pdcp.parameters == {"primary": 1, "threshold_bytes": 51_200}


def test_a_network_s_bound_is_above_what_all_recorded_ways_reached() -> None:
    table = module("deployable").of_bound(module("recorded").recorded("deployable"))
    assert len(table) == 10
    assert table["greatest"].astype(float).max() < 1
