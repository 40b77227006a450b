"""The places where runs take place: this process, others here, a Dask cluster, any executor.

Workers are a function of the scenarios by their identities, of how often they are tried again, and
of the directory below which each has its own.
"""

from __future__ import annotations

import asyncio
import io
import logging
import math
import shutil
import socket
import sys
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, as_completed
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitopo_dc.clocks import attempt, clean_killed
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.files import check_size, naming
from minitopo_dc.pool import Deadline, Killed, Pool
from minitopo_dc.registry import load_plugins
from minitopo_dc.results.run_result import ATTEMPTS, RunResult
from minitopo_dc.runs.perform import Retries
from minitopo_dc.runs.script_plugins import plugin_files, restored
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.scratch import scratch

if TYPE_CHECKING:
    from distributed import Client

MAX_KILLS = 3
"""The most times that the process of one run may be killed, as Dask's `allowed-failures`."""
Results = Iterator[tuple[str, RunResult]]
"""The identity and the result of each run, as it ends."""
Scenarios = Mapping[str, Scenario]
Workers = Callable[[Scenarios, Retries, Path], Results]
Watch = Callable[[BaseException | None], None]
"""A function that is called now and then, and with the error of a run that is lost."""
Packed = tuple[RunResult, bytes]
"""A result with its directory as a zip archive."""


def perform(scenario: Scenario, directory: Path, retries: Retries) -> RunResult:
    """Run a scenario, and again as `retries` say; return the last result.

    Its details have the time of all in real s as `wall_s`, and say why the earlier attempts did not
    count (`ATTEMPTS`).

    Args:
        scenario: what is run.
        directory: where it takes place; made, and emptied before each attempt.
        retries: how often it is tried again.
    """
    begin = time.monotonic()
    load_plugins(scenario.plugins)  # also where another version of one was loaded since
    left = {"failed": retries.failed, "disturbed": retries.disturbed}
    earlier: dict[str, list[str]] = {}
    while True:
        shutil.rmtree(directory, ignore_errors=True)
        result = attempt(scenario, directory)
        if not left.get(result.status, 0):
            wall = {"wall_s": round(time.monotonic() - begin, 3)}
            return replace(result, details=result.details | earlier | wall)
        left[result.status] -= 1
        earlier.setdefault(ATTEMPTS[result.status], []).append(result.reason)


@contextmanager
def local(jobs: int, until: float = math.inf) -> Iterator[Workers]:
    """Open this machine's workers, which make one lot of runs after the other.

    Args:
        jobs: runs at once, each in a process; 1: one after the other in this process.
        until: on `time.monotonic()`, in s; runs that have not ended by then are given up.
    """
    if jobs == 1:
        yield partial(_serial, until)
        return
    with Pool(perform, jobs) as pool:
        yield partial(pooled, pool, lambda: until)


def _serial(until: float, scenarios: Scenarios, retries: Retries, working: Path) -> Results:
    if any(scenario.clock == "real" for scenario in scenarios.values()):
        clean_killed()
    for name, scenario in scenarios.items():
        if time.monotonic() >= until:
            return
        yield name, perform(scenario, working / name, retries)


def pooled(
    pool: Pool, until: Deadline, scenarios: Scenarios, retries: Retries, working: Path
) -> Results:
    """Perform runs (`perform`) in processes; begin again those that were killed.

    Raises:
        InputError: some were killed `MAX_KILLS` times; raised when all others have ended.
    """
    names = list(scenarios)
    for _ in range(MAX_KILLS):
        killed = []
        arguments = [(scenarios[name], working / name, retries) for name in names]
        for place, outcome in pool.results(arguments, until):
            if isinstance(outcome, Exception):
                raise outcome
            if isinstance(outcome, Killed):
                killed.append(names[place])
            else:
                yield names[place], outcome
        names = killed
    if names:
        why = "their processes were killed again and again, maybe for want of memory"
        raise _lost(names, f"{why}: give the same command again, with fewer --jobs")


def executed(executor: Executor, scenarios: Scenarios, retries: Retries, working: Path) -> Results:
    """Let an executor perform the runs, maybe on other machines; errors are those of `received`."""
    waiting = {submitted(executor, run, retries): name for name, run in scenarios.items()}
    try:
        yield from received(waiting, working)
    finally:
        for future in waiting:
            future.cancel()


def submitted(executor: Executor, scenario: Scenario, retries: Retries) -> Future[Packed]:
    """Submit a run as plain values, with the files of the user's own plugins."""
    values, files = scenario.model_dump(mode="json"), plugin_files(scenario)
    return executor.submit(perform_elsewhere, values, files, retries)


def perform_elsewhere(values: dict[str, Any], files: dict[str, str], retries: Retries) -> Packed:
    """Run in a temporary directory; return the result and the directory as a zip archive."""
    with scratch() as place:
        run = place / "run"
        result = perform(restored(values, files), run, retries)
        return result, Path(shutil.make_archive(f"{run}-packed", "zip", run)).read_bytes()


GONE = (asyncio.CancelledError, CancelledError)
"""The errors of runs that were given up; which of the two depends on the version of Dask."""
MAX_RUN_BYTES = 1 << 34
"""The most bytes of a run's directory that a worker sends: far above its captures."""
WATCH_S = 5.0
"""How often `watch` is called, whether or not runs end."""


def received(
    waiting: dict[Future[Packed], str], working: Path, watch: Watch = lambda _: None
) -> Results:
    """Yield runs that were `submitted` as they end; one that is lost does not end the others.

    Args:
        waiting: the identity of each run by its future; those that have ended are removed.
        working: where the directories are made that were sent.
        watch: looks after whoever performs them.

    Raises:
        InputError: runs are lost; raised when all others have ended.
    """
    lost: dict[str, BaseException] = {}
    while waiting:
        with suppress(TimeoutError):
            for future in as_completed([*waiting], WATCH_S):
                name = waiting.pop(future)
                try:
                    result, packed = future.result()
                    _check_unpacked(packed, name)
                except (Exception, *GONE) as error:
                    watch(error)
                    lost[name] = error
                else:
                    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                        archive.extractall(working / name)
                    yield name, result
        watch(None)
    for cause in lost.values():
        raise _lost([*lost], f"the executor lost them: {type(cause).__name__}: {cause}")


def _check_unpacked(packed: bytes, name: str) -> None:
    """Refuse an archive that would fill the disk; InputError names its run."""
    with naming(Path(name)), zipfile.ZipFile(io.BytesIO(packed)) as archive:
        check_size(sum(entry.file_size for entry in archive.infolist()), MAX_RUN_BYTES)


def _lost(names: Sequence[str], why: str) -> InputError:
    return InputError(
        f"{len(names)} runs are not done (the first: {names[0]}), all others are kept: {why}"
    )


REAL_CLOCK = "real-clock"
"""The Dask resource of which a worker has one where it may run on the real clock."""
CONNECT_TIMEOUT = "10s"
LOGS = ("distributed.client", "distributed.core", "distributed.comm")
ENCRYPTED = ("tls", "wss")
"""Dask's protocols with TLS."""


class Cluster:
    """The workers of a Dask scheduler; each has this package, and traces at the same paths.

    A run takes place in a temporary directory of its worker and is sent here: no file system needs
    to be shared. On the real clock it takes the worker's resource, so that a worker started with
    `--resources real-clock=1` has one such run at a time, whatever its number of threads.
    """

    def __init__(self, address: str, *, without_tls: bool = False, option: str = "--dask") -> None:
        """Take a scheduler's address, `tcp://HOST:PORT` or `tls://HOST:PORT`.

        Raises:
            SettingsError: its host is on the Internet, without TLS, and `without_tls` is not set.
        """
        if not without_tls:
            _refuse_public(address, option)
        self._address = address
        self._name = f"{option} {address}"
        self._is_waiting = False

    def __call__(self, scenarios: Scenarios, retries: Retries, working: Path) -> Results:
        """Yield each run with its result; when a run kills its workers, the others go on.

        Raises:
            InputError: no scheduler answers, or no longer; no worker may run on the real clock;
                runs killed their workers again and again (raised when all others have ended).
        """
        with self._connected() as client:  # which gives up what is left when it closes
            self._check_workers(client, {scenario.clock for scenario in scenarios.values()})
            executors = {
                "virtual": client.get_executor(pure=False),
                "real": client.get_executor(pure=False, resources={REAL_CLOCK: 1}),
            }
            waiting = {
                submitted(executors[scenario.clock], scenario, retries): name
                for name, scenario in scenarios.items()
            }
            yield from received(waiting, working, partial(self._watch, client))

    def _watch(self, client: Client, error: BaseException | None) -> None:
        """Say once that there is no worker to wait for; InputError where the scheduler has gone."""
        if client.status != "running" or isinstance(error, GONE):
            raise InputError(
                f"{self._name}: has gone; every run that was recorded is kept: start it "
                "again, then give the same command again"
            ) from None
        is_waiting = not client.scheduler_info(n_workers=-1)["workers"]
        if is_waiting and not self._is_waiting:
            words = "has no worker left; waiting for one (Ctrl-C ends; the same command goes on)"
            print(f"minitopo-dc: {self._name}: {words}", file=sys.stderr)  # noqa: T201
        self._is_waiting = is_waiting

    def _connected(self) -> Client:
        from distributed import Client  # noqa: PLC0415 (a second that others need not wait)

        for name in LOGS:  # tracebacks, of what is told in a line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        options = {"timeout": CONNECT_TIMEOUT}
        try:
            return Client(self._address, **options)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError(f"{self._name}: no answer: {error}") from None

    def _check_workers(self, client: Client, clocks: Collection[Clock]) -> None:
        """Refuse to start without a worker that can do the runs, which would wait for ever."""
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise InputError(f"{self._name}: has no worker; start one: dask worker {self._address}")
        if "real" in clocks and not any(worker["resources"].get(REAL_CLOCK) for worker in workers):
            raise InputError(
                f"{self._name}: no worker may run on the real clock; on each machine that may, as "
                f"root: dask worker {self._address} --nworkers 1 --resources {REAL_CLOCK}=1"
            )


def _refuse_public(address: str, option: str) -> None:
    """Refuse a scheduler on the Internet without TLS.

    Whoever reaches it, or the way to it, can run anything as its workers' user: root on the real
    clock.
    """
    scheme, _, rest = address.rpartition("://")
    if scheme in ENCRYPTED:
        return
    host = rest.rpartition(":")[0].strip("[]")
    try:
        answers = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return  # connecting to it says so
    hosts = sorted({str(answer[4][0]) for answer in answers})
    public = [host for host in hosts if ip_address(host.partition("%")[0]).is_global]
    if public:
        raise SettingsError(
            f"{option} {address}: {public[0]} is a public address, and the connection has no "
            f"TLS; allowed: tls://HOST:PORT, a tunnel's private address, or {option}-without-tls"
        )
