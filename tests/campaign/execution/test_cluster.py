"""A Dask cluster that comes apart: one clear message each, and what was recorded is kept."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker

from minitopo_dc.campaign.cluster import Cluster, refuse_public
from minitopo_dc.campaign.executors import pack
from minitopo_dc.campaign.file.plan import Run
from minitopo_dc.campaign.store import StoreError
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document

ADDRESS = "tcp://127.0.0.1:8786"


class Future:
    """A run that has ended, or not."""

    def __init__(self, key: str, outcome: Any) -> None:
        self.key = key
        self._outcome = outcome

    def add_done_callback(self, call: Callable[[Future], None]) -> None:
        if self._outcome is not None:
            call(self)

    def result(self) -> Any:
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


class Client:
    """A client whose runs end as told; None: not before there is a worker."""

    def __init__(self, outcomes: list[Any]) -> None:
        self.status = "running"
        self.asked = 0
        self._outcomes = outcomes
        self._waiting: list[tuple[Callable[[Future], None], Future]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, *_: Any, **__: Any) -> Future:
        return Future(str(len(self._outcomes)), self._outcomes.pop(0))

    def scheduler_info(self, **_: Any) -> dict[str, Any]:
        """Workers at first; then none, and at last no scheduler."""
        self.asked += 1
        if self.asked > 3:
            self.status = "connecting"
        return {"workers": {"one": {}} if self.asked == 1 else {}}

    def cancel(self, _: Any) -> None:
        raise OSError("there is no scheduler")


@pytest.fixture
def planned() -> list[Run]:
    base = {
        "transport": "quic",
        "mode": "sc",
        "clock": "virtual",
        "legs": document()["base"]["legs"],
    }
    scenario = Scenario.check(base, "base")
    return [Run(name, scenario, 1) for name in ("a", "b")]


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Runs whose futures end so."""
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    whole = pack(directory)
    monkeypatch.setattr("minitopo_dc.campaign.executors.WATCH_S", 0.01)

    def run(planned: list[Run], *outcomes: Any) -> Iterator[Any]:
        ended = [("ok", whole) if outcome == "ok" else outcome for outcome in outcomes]
        monkeypatch.setattr(Cluster, "_connect", lambda _: Client(ended))
        return Cluster(ADDRESS)(planned, never, tmp_path)

    yield run


def never(run: Run, directory: Path) -> RunResult:
    raise AssertionError(f"{run.id} in {directory}: the client has its outcome")


def killed() -> KilledWorker:
    return KilledWorker("a", SimpleNamespace(address="tcp://x:1"), 3)  # type: ignore[arg-type]


def test_a_run_that_kills_its_workers_is_one_error_behind_the_others(
    planned: list[Run], over: Callable[..., Any]
) -> None:
    runs = over(planned, killed(), "ok")
    assert next(runs) == (planned[1], "ok")
    with pytest.raises(StoreError, match=r"1 runs are not done: .*\(the first: a, quic-sc\)"):
        next(runs)


def test_a_scheduler_that_has_gone_is_one_error(
    planned: list[Run], over: Callable[..., Any]
) -> None:
    runs = over(planned, "ok", asyncio.CancelledError())
    assert next(runs) == (planned[0], "ok")
    with pytest.raises(StoreError, match=f"--scheduler {ADDRESS}: has gone; every run"):
        next(runs)


def test_it_is_said_once_that_there_is_no_worker(
    planned: list[Run], over: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = over(planned, "ok", None)
    next(runs)
    with pytest.raises(StoreError, match="has gone"):
        next(runs)
    told = capsys.readouterr().err
    assert told.count("has no worker left; waiting for one") == 1


@pytest.mark.parametrize("host", ["8.8.8.8", "[2001:4860:4860::8888]", "scheduler.example"])
def test_a_public_address_without_tls_is_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str, _port: None) -> list[Any]:
        return [(0, 0, 0, "", ("9.9.9.9" if name == "scheduler.example" else name, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    with pytest.raises(SettingsError, match="is a public address, and the connection has no TLS"):
        Cluster(f"tcp://{host}:8786")
    with pytest.raises(SettingsError):
        Cluster(f"{host}:8786")
    Cluster(f"tls://{host}:8786")
    Cluster(f"tcp://{host}:8786", without_tls=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "192.168.0.9", "[::1]", "[fd00::1]"])
def test_a_private_address_is_not_refused(host: str) -> None:
    refuse_public(f"tcp://{host}:8786")
