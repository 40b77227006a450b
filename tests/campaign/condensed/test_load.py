"""Condensed results are read as campaigns' directories are, and put together by their seeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.condensed import load
from minitopo_dc.campaign.condensed.load import load_condensed, pooled, shipped_results
from minitopo_dc.campaign.execution.store import StoreError
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.campaign.report import papers
from minitopo_dc.campaign.report.evaluation import load_sources, measured_points
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.campaign.report.papers import Item, Published, judge, made_from
from minitopo_dc.campaign.report.report import write_report
from minitopo_dc.cli import main
from minitopo_dc.errors import InputError
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, pretend
from tests.campaign.condensed.results import by_seed, change, condensed, run


def virtual(**options: Any) -> Overrides:
    return Overrides(clock="virtual", **options)


def fails_first(scenario: Scenario, directory: Path) -> RunResult:
    """Only runs of the first seed fail."""
    made = by_seed(scenario, directory)
    return made.without_numbers("failed", "it broke") if scenario.seed == 1 else made


def test_points_are_those_of_the_directory(root: Path) -> None:
    target = condensed(root, "some")
    [ours, theirs] = load_sources([root / "some", target])
    curve = ours.plan.file.experiments["batch"].figure.curves[0]  # type: ignore[union-attr]
    points, same = (measured_points(each, "batch", curve, "pdcp.batch") for each in (ours, theirs))
    assert points["mean"].tolist() == pytest.approx(same["mean"].tolist(), rel=1e-5)
    assert points["runs"].tolist() == same["runs"].tolist() == [2, 2]
    assert (ours.label, theirs.label) == ("virtual, some", "virtual, condensed-some")


def test_failed_runs_count_as_the_file_says(root: Path) -> None:
    rate = {"rate": "= default.goodput_mbps"}
    batch = {"title": "Batch", "grid": {"pdcp.batch": [2]}, "joined": rate}
    change(root, document(failed_runs="endless", experiments={"batch": batch}))
    [source] = load_sources([condensed(root, "some", execute=fails_first)])
    [found] = joined_table(source, "batch", source.plan.file.experiments["batch"])["rate"]
    assert found == pytest.approx(1, abs=0.01)  # the median of 0 and 2


def test_seeds_of_several_results_are_put_together(root: Path) -> None:
    first = condensed(root, "first")
    second = condensed(root, "second", virtual(seed=3, repetitions=3))
    [source] = load_sources([first, second])
    assert [len(cell.runs) for cell in source.plan.cells] == [5] * 4
    assert source.cells["repetition"].tolist() == [1, 2, 3, 4, 5] * 4
    curve = source.plan.file.experiments["batch"].figure.curves[0]  # type: ignore[union-attr]
    assert measured_points(source, "batch", curve, "pdcp.batch")["mean"].tolist() == [3.00012] * 2
    assert made_from(source) == "virtual clock, full, repetitions 5, 20 runs ok"


def test_runs_of_one_seed_have_one_repetition_where_only_some_results_have_a_cell(
    root: Path,
) -> None:
    first = condensed(root, "first", virtual(configurations=("large",)))
    second = condensed(root, "second", virtual(seed=2))
    [source] = load_sources([first, second])
    rows = source.cells.groupby("configuration", sort=False)["repetition"].unique()
    assert {name: list(numbers) for name, numbers in rows.items()} == {
        "large": [1, 2, 3],
        "default": [2, 3],
    }
    assert (source.cells["seed"] == source.cells["repetition"]).all()


def test_a_run_of_several_results_counts_once_and_the_good_one_of_it(root: Path) -> None:
    first = condensed(root, "first", execute=fails_first)
    second = condensed(root, "second", virtual(repetitions=3))
    [both] = pooled([load_condensed(first), load_condensed(second)])
    assert [row["status"] for row in both.rows] == ["ok"] * 12


@pytest.mark.parametrize("options", [{"size_mb": 1.0}, {"core": "python"}])
def test_results_of_other_settings_stay_apart(options: dict[str, Any], root: Path) -> None:
    directories = [condensed(root, "first"), condensed(root, "second", virtual(**options))]
    assert len(load_sources(directories)) == 2


def test_a_size_of_the_command_line_is_told(root: Path) -> None:
    [source] = load_sources([condensed(root, "some", virtual(size_mb=30))])
    told = "virtual clock, full, workload.size_mb 30, repetitions 2, 8 runs ok"
    assert made_from(source) == told


def test_a_changed_campaign_is_noticed_and_its_runs_are_none(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = condensed(root, "some")
    change(root, document(experiments={"batch": {"title": "B", "grid": {"pdcp.batch": [2, 50]}}}))
    [source] = load_sources([target])
    told = "4 of 8 runs ok, 4 runs of an earlier campaign file left out"
    assert made_from(source).endswith(told)
    monkeypatch.setattr(papers, "read_published", lambda: Published(papers=()))
    assert main(["campaign", "papers", str(target)]) == 0
    said = f"{target}: 4 runs are of an earlier file of the campaign, and left out; run it again"
    assert said in capsys.readouterr().err


def test_an_item_of_an_earlier_file_is_absent(root: Path) -> None:
    item = Item(item="Table 1", shows="", campaign="campaign", experiments=("batch",))
    target = condensed(root, "some")
    assert judge(item, load_sources([target])).state == "reproduced"
    grid = {"title": "B", "grid": {"pdcp.batch": [3]}}
    change(root, document(experiments={"batch": grid}))
    assert judge(item, load_sources([target])).state == "absent"


def test_a_measure_that_is_asked_for_since_is_told(root: Path) -> None:
    target = condensed(root, "some")
    curves = [{"configuration": "large", "measure": "rtt_ms"}]
    batch = {"title": "B", "grid": {"pdcp.batch": [2, 100]}}
    batch |= {"figure": {"x": "pdcp.batch", "curves": curves}}
    change(root, document(experiments={"batch": batch}))
    [source] = load_sources([target])
    assert made_from(source).endswith("8 runs ok, rtt_ms of 4 runs not kept")


def test_a_measure_that_a_run_does_not_have_is_no_lack(root: Path) -> None:
    curves = [{"configuration": "large", "measure": "leg_bytes_7"}]
    batch = {"title": "B", "grid": {"pdcp.batch": [2]}}
    batch |= {"figure": {"x": "pdcp.batch", "curves": curves}}
    change(root, document(experiments={"batch": batch}))
    target = condensed(root, "some")
    assert "nan" in (target / "runs.csv").read_text()
    assert not load_condensed(target).lacking


Change = Callable[[str], str]


@pytest.mark.parametrize(
    ("file", "changed", "said"),
    [
        ("runs.csv", lambda text: text.replace("1.00012", "9.00012"), "runs.csv: changed since"),
        ("runs.csv", lambda text: text[:-20], "runs.csv: changed since"),
        (
            "runs.csv",
            lambda text: text.replace("trust", "mine"),
            "column 'mine' is unknown; allowed",
        ),
        ("runs.csv", lambda _: "id,status\n", "columns id, status; allowed: id, status, reason"),
        ("runs.csv", lambda _: "", "runs.csv: "),
        ("runs.csv", lambda _: 'id,"', "runs.csv: "),
        ("condensed.yaml", lambda text: text.replace("condensed: 1", "condensed: 2"), "allowed: 1"),
        (
            "condensed.yaml",
            lambda text: text + "mine: 1\n",
            "mine: unknown field; known: condensed",
        ),
        ("condensed.yaml", lambda _: "{", "condensed.yaml:"),
        (
            "condensed.yaml",
            lambda text: text.replace("campaign: campaign", "campaign: mine"),
            "condensed.yaml: campaign: mine; allowed: campaign",
        ),
        (
            "condensed.yaml",
            lambda text: text.replace("[batch]", "[gone]"),
            "experiments: gone; the campaign has none of them any more",
        ),
        (
            "condensed.yaml",
            lambda text: text + "parameters: {rate: 1}\n",
            "its runs cannot be planned again: .*--parameter rate: unknown",
        ),
    ],
)
def test_damage_is_one_error(file: str, changed: Change, said: str, root: Path) -> None:
    target = condensed(root, "some")
    text = (target / file).read_text()
    (target / file).write_text(changed(text))
    with pytest.raises(InputError, match=said) as raised:
        load_condensed(target)
    assert str(target) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",ok,", ",fine,", "line 2: status 'fine'; allowed: ok, failed"),
        ("1.00012", "much", "line 2: could not convert"),
        (",,1,,", ",,1,,,", "line 2: 7 fields; allowed: 6"),
    ],
)
def test_what_no_program_wrote_is_one_error(old: str, new: str, said: str, root: Path) -> None:
    target = condensed(root, "some")
    table, description = target / "runs.csv", target / "condensed.yaml"
    table.write_text(table.read_text().replace(old, new, 1))
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    text = re.sub("sha256: .*", f"sha256: {digest}", description.read_text())
    description.write_text(text)
    with pytest.raises(InputError, match=f"runs.csv: {said}"):
        load_condensed(target)


def test_a_missing_table_is_one_error(root: Path) -> None:
    target = condensed(root, "some")
    (target / "runs.csv").unlink()
    with pytest.raises(InputError, match=r"runs\.csv: No such file"):
        load_condensed(target)


@pytest.mark.parametrize("command", ["status", "report", "condense"])
def test_commands_that_need_runs_say_that_there_are_none(
    command: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = condensed(root, "some")
    others = [str(root / "other")] if command == "condense" else []
    assert main(["campaign", command, str(target), *others]) == 2
    assert "a condensed result, which has no runs to be shown or resumed" in capsys.readouterr().err


def test_a_campaign_is_not_run_into_one(root: Path) -> None:
    condensed(root, "some").rename(root / "target")
    with pytest.raises(StoreError, match="a condensed result"):
        run(root, "target", execute=pretend)


def test_a_report_in_python_needs_runs_too(root: Path) -> None:
    sources = load_sources([condensed(root, "some")])
    with pytest.raises(StoreError, match="a condensed result"):
        write_report(sources, root / "report")
    assert not (root / "report").exists()


def test_the_package_s_own_are_taken_in_the_order_of_their_names(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "measured").mkdir()
    (root / "measured" / "README.md").touch()
    for name in ("b", "a"):
        condensed(root, name).rename(root / "measured" / name)
    monkeypatch.setattr(load, "shipped", lambda _: root)
    assert [each.name for each in shipped_results()] == ["a", "b"]


def test_the_page_of_no_results_is_one_error(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "shipped", lambda _: root)
    assert main(["campaign", "papers"]) == 2
    assert (
        "no condensed results come with this package; give directories" in capsys.readouterr().err
    )
