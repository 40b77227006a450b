"""Runs in processes and on a Dask cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from minitopo_dc.campaign.cluster import REAL_CLOCK, Cluster
from minitopo_dc.campaign.execution.resume import missing_runs, run_missing
from minitopo_dc.campaign.execution.store import Store, StoreError
from minitopo_dc.campaign.executors import Execute, Processes, Serial, Workers
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.clocks import run_scenario
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, fail, pretend, write


def run(plan: Plan, store: Store, backend: Workers, execute: Execute = run_scenario) -> None:
    with store.open(plan):
        run_missing(
            plan,
            store,
            missing_runs(plan, store),
            workers=backend,
            execute=execute,
            ended=lambda *_: None,
        )


def numbers(store: Store) -> dict[str, float | None]:
    return {run: result.completion_s for run, result in store.done().items()}


def cluster(resources: dict[str, float] | None = None) -> LocalCluster:
    """One worker of four threads."""
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1,
        threads_per_worker=4,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=":0",
        resources=resources,
    )


@pytest.fixture(scope="module")
def able() -> Iterator[LocalCluster]:
    """A cluster that may run on the real clock."""
    with cluster({REAL_CLOCK: 1}) as made:
        yield made


def test_processes_and_a_cluster_give_what_one_process_gives(
    tmp_path: Path, able: LocalCluster
) -> None:
    plan = read_plan(write(tmp_path, document()), Overrides(repetitions=1))
    stores = [Store(tmp_path / name) for name in ("serial", "processes", "cluster")]
    backends: list[Workers] = [Serial(), Processes(2), Cluster(able.scheduler_address)]
    for store, backend in zip(stores, backends, strict=True):
        run(plan, store, backend)
    first, *others = (numbers(store) for store in stores)
    assert len(first) == 4
    assert others == [first, first]


def test_a_run_elsewhere_comes_with_all_its_files(tmp_path: Path, able: LocalCluster) -> None:
    plan = read_plan(write(tmp_path, document()), Overrides(repetitions=1))
    store = Store(tmp_path / "store")
    run(plan, store, Cluster(able.scheduler_address))
    found = store.runs / plan.runs[0].id
    assert {"scenario.yaml", "environment.json", "client-rate.csv"} <= {
        path.name for path in found.iterdir()
    }
    assert RunResult.load(found).directory == str(found)


_lock = threading.Lock()
_now = 0
_most = 0


def overlapping(scenario: Scenario, directory: Path) -> RunResult:
    """Count how many of it are under way."""
    global _now, _most  # noqa: PLW0603
    with _lock:
        _now += 1
        _most = max(_most, _now)
    time.sleep(0.05)
    with _lock:
        _now -= 1
    return pretend(scenario, directory)


@pytest.mark.parametrize(("clock", "most"), [("real", {1}), ("virtual", {2, 3, 4})])
def test_a_worker_has_one_run_on_the_real_clock_at_a_time(
    clock: str, most: set[int], tmp_path: Path, able: LocalCluster
) -> None:
    global _most  # noqa: PLW0603
    _most = 0
    plan = read_plan(write(tmp_path, document(clock=clock)))
    run(plan, Store(tmp_path / "store"), Cluster(able.scheduler_address), overlapping)
    assert _most in most


def test_without_a_worker_for_the_real_clock_nothing_waits(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, document(clock="real")))
    with (
        cluster() as unable,
        pytest.raises(StoreError, match="--resources real-clock=1"),
    ):
        run(plan, Store(tmp_path / "store"), Cluster(unable.scheduler_address), pretend)


def test_a_scheduler_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.campaign.cluster.CONNECT_TIMEOUT", "0.3s")
    plan = read_plan(write(tmp_path, document()))
    with pytest.raises(StoreError, match=r"--scheduler tcp://127\.0\.0\.1:9: no answer"):
        run(plan, Store(tmp_path / "store"), Cluster("tcp://127.0.0.1:9"), pretend)


def die(_scenario: Scenario, _directory: Path) -> RunResult:
    """As when the kernel wants its memory back."""
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def die_once_or_always(scenario: Scenario, directory: Path) -> RunResult:
    """One of the configurations always kills its process, the other one at its first run."""
    mark = directory.parents[1] / "mark"
    if scenario.options.get("receive_buffer_bytes") == 67_108_864 or not mark.exists():
        mark.touch()
        return die(scenario, directory)
    return pretend(scenario, directory)


def test_a_run_whose_process_is_killed_is_begun_again_and_in_the_end_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.campaign.executors.MAX_KILLS", 2)
    only = document(experiments={"one": {"title": "One", "cells": [{"pdcp.batch": 2}]}})
    plan = read_plan(write(tmp_path, only), Overrides(repetitions=1))
    store = Store(tmp_path / "store")
    with pytest.raises(StoreError, match=r"1 runs are not done: .* were killed again and again"):
        run(plan, store, Processes(2), die_once_or_always)
    assert [result.status for result in store.done().values()] == ["ok"]
    run(plan, store, Serial(), pretend)
    assert len(store.done()) == 2


def test_a_failure_elsewhere_is_recorded(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, document(retries=1)), Overrides(repetitions=1))
    store = Store(tmp_path / "store")
    run(plan, store, Processes(1), fail)
    assert {result.reason for result in store.done().values()} == {"it broke"}
