"""The papers, item by item: what a list of published tables says of results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.condensed.load import shipped_results
from minitopo_dc.campaign.file.fields import Smaller, find_campaign
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.campaign.report import papers
from minitopo_dc.campaign.report.evaluation import Source, load_sources
from minitopo_dc.campaign.report.papers import (
    Item,
    Row,
    claims_text,
    head,
    judge,
    papers_page,
    read_published,
    summary,
)
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY
from tests.campaign.campaigns import document, fail, pretend, run_with

PAGE = REPOSITORY / "docs/measurements/papers-items.md"
EXPERIMENT: dict[str, Any] = {
    "title": "Batch",
    "grid": {"pdcp.batch": [2, 100]},
    "joined": {"rate": "= large.goodput_mbps"},
    "claims": [
        {"text": "fast", "value": "= mean(rate)", "least": 10},
        {"text": "slow", "value": "= mean(rate)", "most": 10},
    ],
    "figure": {
        "x": "pdcp.batch",
        "curves": [
            {"configuration": "default", "mean": "quic_mbps"},
            {"configuration": "large", "mean": "quic_bm_mbps"},
        ],
    },
    "reference": {"table": "thesis_table_5_3_batch_size.csv", "x": "batch_size_packets"},
}
THEIRS = {2: 31.0, 100: 32.5}, {2: 35.5, 100: 35.6}
"""Of table 5.3, which has 12 batch sizes: the default and the large buffer."""
ITEM = Item(item="Table 5.3", shows="batch", campaign="mine", experiments=("batch",))


def near(scenario: Scenario, directory: Path) -> RunResult:
    """The paper's goodput with the default buffer, 8 % more with the large one."""
    large = scenario.resolved_flows[0].options.get("receive_buffer_bytes") == 67_108_864
    theirs = THEIRS[large][scenario.pdcp.batch]
    return replace(pretend(scenario, directory), goodput_mbps=theirs * (1.08 if large else 1))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make results of a campaign that the list knows as `mine`."""
    monkeypatch.setattr(papers, "find_campaign", lambda _: tmp_path / "campaign.yaml")

    def make(execute: Any = near) -> list[Source]:
        root = run_with(tmp_path, document(experiments={"batch": EXPERIMENT}), execute)
        return load_sources([root])

    return make


def test_errors_are_means_over_all_cells_and_of_each_curve(results: Any) -> None:
    row = judge(ITEM, results())
    assert row.error == pytest.approx(4)
    assert (row.published, len(row.compared), row.near) == (24, 4, 2)
    assert row.is_near
    assert row.claims == {"holds": 1, "does not hold": 1}


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"holds": 1, "does not hold": 1}, "1 of 2 hold"),
        ({"holds": 1, "undecided": 1, "not enough evidence": 2}, "1 of 2 hold, 2 lack runs"),
        ({"not enough evidence": 2, "not run": 1}, "2 lack runs"),
        ({"not run": 3}, "-"),
    ],
)
def test_claims_that_too_few_runs_judge_count_apart(counts: dict[str, int], told: str) -> None:
    assert claims_text(counts) == told


def test_older_results_lack_an_experiment_and_are_no_error(results: Any) -> None:
    def older(source: Source) -> Source:
        file = source.plan.file.model_copy(update={"experiments": {}})
        none = source.cells[source.cells["experiment"] == ""]
        return replace(source, plan=replace(source.plan, file=file), cells=none)

    [source] = results()
    row = judge(ITEM, [older(source), source])
    assert row.claims == {"holds": 1, "does not hold": 1}
    assert judge(ITEM, [older(source)]).state == "absent"


def test_an_item_of_some_configurations_is_judged_by_those_alone(results: Any) -> None:
    row = judge(ITEM.model_copy(update={"configurations": ("large",)}), results())
    assert row.error == pytest.approx(8)
    assert (row.published, row.near, row.claims) == (12, 0, {})


def test_an_item_is_reproduced_when_all_of_the_full_version_has_been_run(results: Any) -> None:
    item = ITEM.model_copy(update={"configurations": ("default",)})
    sources = results()
    assert judge(item, sources).state == "reduced"  # the table has more batch sizes
    assert judge(item, []).state == "absent"
    assert judge(Item(item="Figure 1", shows=""), sources).state == "absent"


def test_runs_that_failed_repeat_nothing(results: Any) -> None:
    assert judge(ITEM, results(fail)).state == "absent"


def test_a_scale_gives_a_second_error_and_changes_no_verdict(results: Any) -> None:
    row = judge(ITEM.model_copy(update={"configurations": ("large",), "scale": 1.08}), results())
    assert row.scaled == pytest.approx(0, abs=1e-6)
    assert row.error == pytest.approx(8)
    assert not row.is_near


def test_a_summary_counts_items_and_cells(results: Any) -> None:
    rows: list[Row] = [judge(ITEM, results()), judge(Item(item="Figure 1", shows=""), [])]
    assert summary(rows) == (
        "**Within 5 %: 1 of 1 items** with numbers, by the cells that were run of them.\n"
        "These are 4 of 24 cells; 2 of them are within 5 %. Of 2 items\n"
        "0 are reproduced in full, 1 reduced, 1 absent."
    )


def test_what_makes_the_runs_smaller_is_told(results: Any) -> None:
    [source] = results()
    file = source.plan.file.model_copy(
        update={
            "parameters": {"duration_s": 60, "trace": "/some/where/a.csv", "leg": {"rate_mbps": 1}},
            "quick": Smaller(fields={"workload.size_mb": 30}),
        }
    )
    plan = replace(source.plan, file=file, version="quick")
    told = " ".join(head([replace(source, plan=plan)]).split())
    assert told.endswith(
        "Made from: - Test: virtual clock, quick, duration_s 60, trace a.csv, workload.size_mb 30, "
        "repetitions 2, 8 runs ok"
    )


def test_the_page_has_each_item_of_the_list() -> None:
    assert [line.split(" | ")[0] for line in rows(papers_page([]))] == [
        f"| {item.item}" for paper in read_published().papers for item in paper.items
    ]


def test_an_absent_item_tells_of_its_campaign_that_it_was_not_run() -> None:
    items = [item for paper in read_published().papers for item in paper.items]
    reasons = [line.removesuffix(" |").split(" | ")[-1] for line in rows(papers_page([]))]
    for item, reason in zip(items, reasons, strict=True):
        assert reason.startswith("not run") == bool(item.campaign)
        assert item.why in reason


def test_the_page_of_the_docs_is_of_the_same_list() -> None:
    ours, made = rows(PAGE.read_text(encoding="utf-8")), rows(papers_page([]))
    assert [line.split(" | ")[:2] for line in ours] == [line.split(" | ")[:2] for line in made]


@pytest.mark.slow
def test_the_page_of_the_docs_is_made_of_the_condensed_results_of_the_package() -> None:
    if not (directories := shipped_results()):
        pytest.skip("reference/measured has no condensed result yet")
    assert papers_page(load_sources(directories)) == PAGE.read_text(encoding="utf-8")


def rows(page: str) -> list[str]:
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| item |", "| --- |"))]


def test_cells_beyond_the_limit_have_a_reason() -> None:
    for line in rows(PAGE.read_text(encoding="utf-8")):
        parts = line.strip("| ").split(" | ")
        compared, near, reason = parts[4].split(" of ")[0], parts[6], parts[8]
        assert near in ("-", compared) or reason != "-", line


def test_items_name_experiments_and_configurations_that_there_are() -> None:
    for paper in read_published().papers:
        for item in (item for item in paper.items if item.campaign):
            file = read_file(find_campaign(item.campaign), Overrides())
            assert item.experiments
            assert set(item.experiments) <= set(file.experiments)
            assert set(item.configurations) <= set(file.configurations)


def test_every_reference_of_a_paper_s_campaign_is_an_item_s() -> None:
    listed = {
        (item.campaign, name)
        for paper in read_published().papers
        for item in paper.items
        for name in item.experiments
    }
    for campaign in {campaign for campaign, _ in listed if campaign}:
        file = read_file(find_campaign(campaign), Overrides())
        compared = {name for name, each in file.experiments.items() if each.reference is not None}
        assert {(campaign, name) for name in compared} <= listed
