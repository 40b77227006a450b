"""A campaign of Python cases on two Dask workers, one of which is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from minitopo_dc import Campaign, load
from minitopo_dc.campaign.cluster import Cluster
from tests.campaign.cases import batches

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process of one thread."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as made:
        yield made


def test_a_worker_that_is_killed_costs_no_run(tmp_path: Path, cluster: LocalCluster) -> None:
    here = Campaign(tmp_path / "here", batches(2, 50), seeds=range(1, 11)).run(jobs=1)
    there = Campaign(tmp_path / "there", batches(2, 50), seeds=range(1, 11))
    victim = cluster.workers[0].process.pid

    def kill() -> None:
        while not list((tmp_path / "there").glob("runs/*")):
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    runs = there.run(executor=Cluster(cluster.scheduler_address, option="--dask"))
    killer.join()
    same = ["batch", "seed", "status", "goodput_mbps", "leg_bytes_1", "run"]
    assert runs[same].equals(here[same])
    assert victim not in {worker.process.pid for worker in cluster.workers.values()}


def test_a_client_s_executor_is_one(tmp_path: Path, cluster: LocalCluster) -> None:
    with cluster.get_client() as client:  # type: ignore[no-untyped-call]
        campaign = Campaign(tmp_path / "c", batches(2, 50), seeds=(1, 2))
        runs = campaign.run(executor=client.get_executor())
    assert (runs["status"] == "ok").all()
    assert load(tmp_path / "c").equals(runs)
