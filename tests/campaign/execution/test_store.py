"""What a campaign's directory holds, whatever happens while it runs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.hostile.small_disk import enlarge, small_disk
from minitopo_dc.campaign.execution.resume import missing_runs, run_missing
from minitopo_dc.campaign.execution.store import Store, StoreError, describe_status
from minitopo_dc.campaign.execution.table import campaign_table, cell_table
from minitopo_dc.campaign.executors import Execute, Serial
from minitopo_dc.campaign.file.plan import Plan, Run, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, fail, pretend, write


def run(
    plan: Plan, store: Store, execute: Execute = pretend, *, retry_failed: bool = False
) -> list[tuple[Run, RunResult]]:
    ended: list[tuple[Run, RunResult]] = []
    with store.open(plan):
        missing = missing_runs(plan, store, retry_failed=retry_failed)
        run_missing(
            plan,
            store,
            missing,
            workers=Serial(),
            execute=execute,
            ended=lambda *each: ended.append(each),
        )
    return ended


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return read_plan(write(tmp_path, document()))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def interrupted_after(runs: int) -> Execute:
    left = iter(range(runs))

    def execute(scenario: Scenario, directory: Path) -> RunResult:
        if next(left, None) is None:
            (directory / "half").write_text("what a killed run leaves")
            raise KeyboardInterrupt
        return pretend(scenario, directory)

    return execute


def test_every_run_is_once_in_both_tables(plan: Plan, store: Store) -> None:
    run(plan, store)
    table = pd.read_csv(store.root / "results.csv")
    assert sorted(table["id"]) == sorted(each.id for each in plan.runs)
    assert set(pd.read_parquet(store.root / "results.parquet")["id"]) == set(table["id"])
    assert sorted(table["pdcp.batch"]) == [2] * 4 + [100] * 4
    assert set(table["experiments"]) == {"batch"}


def test_a_run_that_is_done_is_not_run_again(plan: Plan, store: Store) -> None:
    assert len(run(plan, store)) == 8
    assert run(plan, store) == []


def test_an_interrupted_campaign_does_the_rest_and_has_every_run_once(
    plan: Plan, store: Store
) -> None:
    for runs in (3, 2):
        with pytest.raises(KeyboardInterrupt):
            run(plan, store, interrupted_after(runs))
    assert len(pd.read_csv(store.root / "results.csv")) == 5
    assert len(run(plan, store)) == 3
    assert sorted(pd.read_csv(store.root / "results.csv")["id"]) == sorted(store.done())
    assert not list(store.working.iterdir())


def test_a_run_is_not_there_before_it_is_complete(plan: Plan, store: Store) -> None:
    def look(scenario: Scenario, directory: Path) -> RunResult:
        assert directory.name not in store.done()
        return pretend(scenario, directory)

    run(plan, store, look)
    assert len(store.done()) == 8


def test_a_failed_run_is_tried_again_and_then_recorded_with_its_reason(
    tmp_path: Path, store: Store
) -> None:
    plan = read_plan(write(tmp_path, document(retries=2)), Overrides(repetitions=1))
    tried: list[Path] = []

    def broken(scenario: Scenario, directory: Path) -> RunResult:
        tried.append(directory)
        return fail(scenario, directory)

    run(plan, store, broken)
    assert len(tried) == 4 * 3
    for result in store.done().values():
        assert (result.status, result.reason) == ("failed", "it broke")
        assert result.details["failed_attempts"] == ["it broke"] * 2
    assert run(plan, store) == []


def test_a_run_that_works_the_second_time_is_ok_and_tells_of_the_first(
    tmp_path: Path, store: Store
) -> None:
    plan = read_plan(write(tmp_path, document(retries=1)), Overrides(repetitions=1))
    tried: set[str] = set()

    def flaky(scenario: Scenario, directory: Path) -> RunResult:
        first = directory.name not in tried
        tried.add(directory.name)
        return (fail if first else pretend)(scenario, directory)

    run(plan, store, flaky)
    assert {result.status for result in store.done().values()} == {"ok"}
    assert {len(result.details["failed_attempts"]) for result in store.done().values()} == {1}


def test_failed_runs_are_done_again_when_asked_for(plan: Plan, store: Store) -> None:
    run(plan, store, fail)
    assert len(run(plan, store, retry_failed=True)) == 8
    counts = describe_status(store.done(), plan)
    assert counts == {
        "runs": 8,
        "ok": 8,
        "failed": 0,
        "disturbed": 0,
        "unsupported": 0,
        "missing": 0,
    }


def test_an_unforeseen_error_is_a_failed_run_with_its_traceback(plan: Plan, store: Store) -> None:
    def crash(_scenario: Scenario, _directory: Path) -> RunResult:
        raise RuntimeError("a bug")

    run(plan, store, crash)
    assert {result.reason for result in store.done().values()} == {"RuntimeError: a bug"}
    text = (store.runs / plan.runs[0].id / "crash.txt").read_text()
    assert 'raise RuntimeError("a bug")' in text


def test_a_full_disk_during_a_run_is_one_error_and_loses_nothing(plan: Plan, store: Store) -> None:
    left = iter(range(3))

    def full(scenario: Scenario, directory: Path) -> RunResult:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))
        return pretend(scenario, directory)

    with pytest.raises(StoreError, match="the disk is full; every run that was recorded is kept"):
        run(plan, store, full)
    assert len(store.done()) == 3
    assert len(run(plan, store)) == 5


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    with small_disk(tmp_path / "disk", "2m") as place:
        yield place


@pytest.mark.root
def test_a_disk_that_fills_is_one_error_and_loses_nothing(plan: Plan, disk: Path) -> None:
    store = Store(disk / "store")

    def large(scenario: Scenario, directory: Path) -> RunResult:
        (directory / "qlog").write_bytes(bytes(500_000))
        return pretend(scenario, directory)

    with pytest.raises(StoreError, match="the disk is full"):
        run(plan, store, large)
    kept = store.done()
    assert 0 < len(kept) < 8
    enlarge(disk, "8m")
    assert len(run(plan, store, large)) == 8 - len(kept)
    assert len(pd.read_csv(store.root / "results.csv")) == 8


@pytest.mark.root
def test_a_failure_on_a_full_disk_is_no_result(plan: Plan, disk: Path) -> None:
    store = Store(disk / "store")

    def starved(scenario: Scenario, directory: Path) -> RunResult:
        (directory / "log").write_bytes(bytes(1_500_000))
        return fail(scenario, directory)

    with pytest.raises(StoreError, match="the disk is full"):
        run(plan, store, starved)
    assert store.done() == {}


def test_a_second_process_is_refused(plan: Plan, store: Store) -> None:
    with (
        store.open(plan),
        pytest.raises(StoreError, match="another process runs this campaign"),
        Store(store.root).open(plan),
    ):
        pass


def test_another_campaign_is_refused_and_more_of_the_same_is_not(
    tmp_path: Path, plan: Plan, store: Store
) -> None:
    run(plan, store)
    other = read_plan(write(tmp_path, document()), Overrides(size_mb=5))
    with pytest.raises(StoreError, match=r"holds another campaign.*8 of its runs"):
        run(other, store)
    more = read_plan(write(tmp_path, document()), Overrides(repetitions=3))
    assert len(run(more, store)) == 4


def test_a_campaign_of_which_nothing_was_run_gives_way_to_another(
    tmp_path: Path, plan: Plan, store: Store
) -> None:
    with store.open(plan):
        pass
    other = read_plan(write(tmp_path, document()), Overrides(size_mb=5))
    assert len(run(other, store)) == 8


def test_a_plan_that_a_directory_kept_is_not_taken_for_one_without_runs(
    plan: Plan, store: Store
) -> None:
    run(plan, store)
    with pytest.raises(StoreError, match="no scenarios to run"):
        run(store.plan(), store)


def test_a_directory_without_a_campaign_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"plan.json: No such file.*no campaign was run here"):
        Store(tmp_path).plan()


def test_a_spoilt_plan_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(StoreError, match="no plan of a campaign"):
        Store(tmp_path).plan()


def test_the_table_of_cells_has_a_row_for_each_repetition_also_those_not_done(
    plan: Plan, store: Store
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(plan, store, interrupted_after(5))
    cells = cell_table(plan, campaign_table(plan, store))
    assert len(cells) == 8
    assert sorted(cells["status"]) == ["missing"] * 3 + ["ok"] * 5
    assert set(cells[cells["status"] == "ok"]["goodput_mbps"]) == {20.0}
