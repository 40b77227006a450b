"""What is written of a campaign, so that its page can be made without its runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.campaign.condensed.condense import condense
from minitopo_dc.campaign.condensed.load import load_condensed
from minitopo_dc.campaign.condensed.recipe import placed, portable
from minitopo_dc.campaign.execution.store import Store, StoreError
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from minitopo_dc.shipped import shipped
from tests.campaign.campaigns import document, fail, pretend
from tests.campaign.condensed.results import VIRTUAL, by_seed, change, condensed, run


def description(directory: Path) -> Any:
    return yaml.safe_load((directory / "condensed.yaml").read_text())


def test_each_run_is_a_line_with_what_the_campaign_asks_of_it(root: Path) -> None:
    text = (condensed(root, "some") / "runs.csv").read_text()
    head, *lines = text.splitlines()
    assert head == "id,status,reason,seed,trust,goodput_mbps"
    assert [line.split(",", 1)[1] for line in lines] == ["ok,,1,,1.00012", "ok,,2,,2.00012"] * 4
    assert {line.split(",")[0] for line in lines} == {
        each.name for each in root.glob("some/runs/*")
    }


def test_a_measure_of_files_is_worked_out_now(root: Path) -> None:
    curve = {"configuration": "large", "measure": "leg_bytes_1"}
    batch = {"title": "Batch", "grid": {"pdcp.batch": [2]}}
    change(
        root,
        document(experiments={"batch": batch | {"figure": {"x": "pdcp.batch", "curves": [curve]}}}),
    )
    store = run(root, "some")
    condense(store, root / "target")
    values = [row.get("leg_bytes_1") for row in load_condensed(root / "target").rows]
    assert values == [None, None, 5_300_000, 5_300_000]


def test_what_the_runs_were_made_with_is_told(root: Path) -> None:
    assert description(condensed(root, "some"))["made_with"] == {"minitopo-dc": ["0.2.0"]}


@pytest.mark.parametrize(
    "options",
    [
        {"size_mb": 3.0},
        {"seed": 7},
        {"core": "python"},
        {"repetitions": 3},
        {"experiments": ("other",)},
        {"configurations": ("extra",)},
        {"parameters": (("rate", "30"),)},
        {"version": "quick"},
        {"size_mb": 3.0, "seed": 7, "configurations": ("extra", "large"), "repetitions": 1},
    ],
    ids=" ".join,
)
def test_the_options_of_the_command_are_found(options: dict[str, Any], root: Path) -> None:
    content = document(
        parameters={"rate": 20},
        experiments={
            name: {"title": name, "grid": {"pdcp.batch": batches}}
            for name, batches in (("batch", [2, 100]), ("other", [3]))
        },
        quick={"fields": {"workload.size_mb": 0.05}},
        standard_configurations=["default", "large"],
    )
    content["base"]["pdcp.t_reordering_ms"] = "$rate"
    content["configurations"]["extra"] = {"transport": "quic", "pdcp.split": "least-delay"}
    change(root, content)
    store = run(root, "some", Overrides(clock="virtual", **options))
    assert condense(store, root / "target").stale == 0
    found = load_condensed(root / "target")
    assert [cell.runs for cell in found.plan.cells] == [cell.runs for cell in store.plan().cells]
    assert not found.stale


def test_a_configuration_of_one_experiment_need_not_fit_the_others(root: Path) -> None:
    content = document(standard_configurations=["default"])
    content["configurations"]["labelled"] = {
        "transport": "quic",
        "options.receive_buffer_bytes": "= size",
    }
    own = {"configurations": ["labelled"], "grid": {"label.size": [100_000, 200_000]}}
    content["experiments"]["own"] = {"title": "Own", **own}
    change(root, content)
    store = run(root, "some", Overrides(clock="virtual", size_mb=3.0))
    condense(store, root / "target")
    assert description(root / "target")["size_mb"] == 3


def test_a_run_that_failed_stays_one(root: Path) -> None:
    text = (condensed(root, "some", execute=fail) / "runs.csv").read_text()
    assert "failed,it broke,1,\n" in text


def test_what_the_machine_could_not_do_counts_as_not_run(root: Path) -> None:
    def some(scenario: Scenario, directory: Path) -> RunResult:
        made = pretend(scenario, directory)
        return made.without_numbers("unsupported", "no") if scenario.seed == 1 else made

    rows = load_condensed(condensed(root, "some", execute=some)).rows
    assert [row["status"] for row in rows] == ["missing", "ok"] * 4


def test_runs_that_the_file_no_longer_has_are_left_out_and_counted(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(root, "some")
    change(root, document(experiments={"batch": {"title": "B", "grid": {"pdcp.batch": [2, 50]}}}))
    assert main(["campaign", "condense", str(root / "some"), str(root / "target")]) == 0
    said = capsys.readouterr()
    assert "4 runs are of an earlier file of the campaign, and left out" in said.err
    assert said.out.startswith(f"{root / 'target'}: 4 runs, 0 measures, ")


def test_a_campaign_that_is_none_of_the_package_s_is_refused(root: Path) -> None:
    store = run(root, "some")
    change(root, document(title="Another"))
    with pytest.raises(SettingsError, match=r"'Test': no campaign .*; allowed: campaign$"):
        condense(store, root / "target")


def test_a_campaign_that_was_changed_throughout_is_refused(root: Path) -> None:
    store = run(root, "some")
    change(root, document(base=document()["base"] | {"ip_version": 6}))
    with pytest.raises(SettingsError, match="has none of its runs"):
        condense(store, root / "target")


def test_a_directory_without_a_finished_run_is_refused(root: Path) -> None:
    store = run(root, "some")
    for each in store.runs.iterdir():
        shutil.rmtree(each)
    with pytest.raises(StoreError, match="no run is finished"):
        condense(store, root / "target")


def test_a_former_result_is_replaced_and_nothing_else(root: Path) -> None:
    target = condensed(root, "some")
    before = (target / "runs.csv").read_text()
    condense(run(root, "more", Overrides(clock="virtual", repetitions=1)), target)
    assert len((target / "runs.csv").read_text()) < len(before)
    (target / "notes.txt").touch()
    with pytest.raises(StoreError, match=r"holds notes.txt; allowed: a new directory"):
        condense(Store(root / "some"), target)
    with pytest.raises(StoreError, match="allowed: a new directory"):
        condense(Store(root / "some"), root / "some")


@pytest.mark.parametrize("moment", ["rename", "write_text"])
def test_an_interruption_leaves_what_was_there(
    moment: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, store = condensed(root, "some"), Store(root / "some")
    before = {path.name: path.read_text() for path in target.iterdir()}
    there = {path.name for path in root.iterdir()}
    original = getattr(Path, moment)

    def interrupted(path: Path, *values: Any, **named: Any) -> Any:
        if path.name in ("made", "runs.csv"):
            raise KeyboardInterrupt
        return original(path, *values, **named)

    monkeypatch.setattr(Path, moment, interrupted)
    with pytest.raises(KeyboardInterrupt):
        condense(store, target)
    monkeypatch.undo()
    assert {path.name: path.read_text() for path in target.iterdir()} == before
    assert {path.name for path in root.iterdir()} == there


def test_a_place_that_cannot_be_written_is_one_error(root: Path) -> None:
    (root / "file").touch()
    with pytest.raises(StoreError, match="give another directory"):
        condense(run(root, "some"), root / "file" / "target")


def test_a_trace_of_the_package_is_known_by_its_name() -> None:
    trace = next(shipped("traces").glob("*.csv"))
    assert portable("trace", f"/elsewhere/{trace.name}") == f"traces/{trace.name}"
    assert placed(f"traces/{trace.name}") == str(trace)
    assert (portable("rate", 5), portable("name", "a/b")) == (5, "a/b")
    with pytest.raises(SettingsError, match=r"parameter trace: /mine.csv: allowed: a trace of the"):
        portable("trace", "/mine.csv")


def test_what_plans_the_runs_is_kept_and_no_default(root: Path) -> None:
    told = description(condensed(root, "some", VIRTUAL, execute=by_seed))
    del told["sha256"], told["made_with"]
    assert told == {
        "condensed": 1,
        "campaign": "campaign",
        "clock": "virtual",
        "version": "full",
        "experiments": ["batch"],
        "repetitions": 2,
        "measures": ["goodput_mbps"],
    }
