"""A campaign of Python cases on Dask workers, which may be killed, leave and return."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker, LocalCluster

from minitopo_dc import Campaign, InputError, Scenario, clocks, load
from minitopo_dc.campaign import executors
from minitopo_dc.campaign.executors import REAL_CLOCK, Cluster, received
from minitopo_dc.campaign.plan import Case
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries
from tests.campaign.cases import batches, scenario
from tests.stores import pretend

ADDRESS = "tcp://127.0.0.1:8786"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process of one thread."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as made:
        yield made


@pytest.mark.long
@pytest.mark.slow
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
    runs = there.run(executor=Cluster(cluster.scheduler_address))
    killer.join()
    same = ["batch", "seed", "status", "goodput_mbps", "leg_bytes_1", "run"]
    assert runs[same].equals(here[same])
    assert victim not in {worker.process.pid for worker in cluster.workers.values()}


@pytest.mark.slow
def test_a_client_s_executor_is_one(tmp_path: Path, cluster: LocalCluster) -> None:
    with cluster.get_client() as client:  # type: ignore[no-untyped-call]
        campaign = Campaign(tmp_path / "c", batches(2, 50), seeds=(1, 2))
        runs = campaign.run(executor=client.get_executor())
    assert (runs["status"] == "ok").all()
    assert load(tmp_path / "c").equals(runs)


_lock = threading.Lock()
_now = 0
_most = 0


def overlapping(one: Scenario, directory: Path) -> RunResult:
    """Count how many of it are under way."""
    global _now, _most  # noqa: PLW0603
    with _lock:
        _now += 1
        _most = max(_most, _now)
    time.sleep(0.05)
    with _lock:
        _now -= 1
    directory.mkdir()
    return pretend(one, directory)


@pytest.mark.slow
def test_a_worker_has_one_run_on_the_real_clock_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    global _most  # noqa: PLW0603
    monkeypatch.setattr(clocks, "runner_on", lambda _: overlapping)
    for clock, resources in (("virtual", None), ("real", None), ("real", {REAL_CLOCK: 1})):
        _most = 0
        with LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1,
            threads_per_worker=4,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address=":0",
            resources=resources,
        ) as made:
            cases: list[Case] = [(scenario(clock=clock), {})]
            campaign = Campaign(tmp_path / f"{clock}{resources}", cases, seeds=range(4))
            workers = Cluster(made.scheduler_address)
            if clock == "real" and resources is None:
                with pytest.raises(InputError, match="--resources real-clock=1"):
                    campaign.run(executor=workers, progress=False)
            else:
                campaign.run(executor=workers, progress=False)
                assert (_most == 1) == (clock == "real")


def ended(outcome: Any) -> Future[Any]:
    """Return a future that has this outcome; None: it has none yet."""
    future: Future[Any] = Future()
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    return future


class Client:
    """A client that has no worker, and from its third answer on no scheduler."""

    status = "running"
    looks = 0

    def scheduler_info(self, **_: Any) -> dict[str, Any]:
        self.looks += 1
        self.status = "connecting" if self.looks == 3 else "running"
        return {"workers": {}}


def awaited(outcome: Any, directory: Path) -> None:
    """Wait for a run that has this outcome."""
    watch = partial(Cluster(ADDRESS)._watch, Client())  # type: ignore[arg-type]
    list(received({ended(outcome): "a"}, directory, watch))


def test_an_archive_that_would_fill_the_disk_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packets.csv", b"0" * 100_000)
    future: Future[Any] = Future()
    future.set_result((None, packed.getvalue()))
    monkeypatch.setattr(executors, "MAX_RUN_BYTES", 99_999)
    with pytest.raises(InputError, match=r"a: 100,000 bytes.* 99,999"):
        list(received({future: "a"}, tmp_path))
    assert not any(tmp_path.iterdir())


def test_it_is_said_once_that_there_is_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executors, "WATCH_S", 0.01)
    with pytest.raises(InputError, match=f"--dask {ADDRESS}"):
        awaited(None, tmp_path)
    assert capsys.readouterr().err.count("has no worker left; waiting for one") == 1


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (asyncio.CancelledError(), "has gone; every run"),
        (
            KilledWorker("a", SimpleNamespace(address="tcp://x:1"), 3),  # type: ignore[arg-type]
            r"1 runs are not done \(the first: a\), .*KilledWorker: ",
        ),
    ],
)
def test_a_run_that_is_lost_is_one_error(outcome: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        awaited(outcome, tmp_path)


def test_a_scheduler_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.campaign.executors.CONNECT_TIMEOUT", "0.3s")
    with pytest.raises(InputError, match=r"--dask tcp://127\.0\.0\.1:9"):
        next(iter(Cluster("tcp://127.0.0.1:9")({}, Retries(), tmp_path)))


@pytest.mark.parametrize("host", ["8.8.8.8", "[2001:4860:4860::8888]", "scheduler.example"])
def test_a_public_address_without_tls_is_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(name: str, _port: None) -> list[Any]:
        return [(0, 0, 0, "", ("9.9.9.9" if name == "scheduler.example" else name, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    with pytest.raises(InputError, match=r"public.* TLS"):
        Cluster(f"tcp://{host}:8786")
    with pytest.raises(InputError):
        Cluster(f"{host}:8786")
    Cluster(f"tls://{host}:8786")
    Cluster(f"tcp://{host}:8786", without_tls=True)
    for private in ("127.0.0.1", "10.1.2.3", "192.168.0.9", "[::1]", "[fd00::1]"):
        Cluster(f"tcp://{private}:8786")
