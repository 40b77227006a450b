"""Workers of a Dask scheduler, which run a campaign on several machines."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitopo_dc.campaign.executors import (
    AnyRun,
    Perform,
    Run,
    as_they_end,
    killers,
    perform_elsewhere,
    unpack,
)
from minitopo_dc.campaign.store import StoreError
from minitopo_dc.runs.results import RunResult
from minitopo_dc.settings import SettingsError

if TYPE_CHECKING:
    from distributed import Client

REAL_CLOCK = "real-clock"
"""The Dask resource of which a worker has one where it may run on the real clock."""
CONNECT_TIMEOUT = "10s"
GONE = (asyncio.CancelledError, concurrent.futures.CancelledError)
"""The errors of runs whose scheduler has gone; which of the two depends on the version of Dask."""
LOGS = ("distributed.client", "distributed.core", "distributed.comm")
ENCRYPTED = ("tls", "wss")
"""Dask's protocols with TLS."""


class Cluster:
    """The workers of a Dask scheduler; each has this package, and traces at the same paths.

    A run takes place in a temporary directory of its worker and is sent here: no file system needs
    to be shared. On the real clock it takes the worker's resource, so that a worker started with
    `--resources real-clock=1` has one such run at a time, whatever its number of threads.
    """

    def __init__(
        self, address: str, *, without_tls: bool = False, option: str = "--scheduler"
    ) -> None:
        """Take a scheduler's address, `tcp://HOST:PORT` or `tls://HOST:PORT`.

        Raises:
            SettingsError: its host is on the Internet, without TLS, and `without_tls` is not set.
        """
        if not without_tls:
            refuse_public(address, option)
        self._address = address
        self._name = f"{option} {address}"

    def __call__(
        self, runs: Sequence[AnyRun], perform: Perform[AnyRun], working: Path
    ) -> Iterator[tuple[AnyRun, RunResult]]:
        """Yield each run with its result; when a run kills its workers, the others go on.

        Raises:
            StoreError: no scheduler answers, or no longer; no worker may run on the real clock;
                runs killed their workers again and again (raised when all others have ended).
        """
        from distributed import KilledWorker  # noqa: PLC0415 (a second others need not wait)

        with self._connect() as client:
            _check_workers(client, self._address, self._name, runs)
            given_up, watch = [], self._watch(client)

            def submit(run: AnyRun) -> Any:
                call = perform_elsewhere, run, perform
                return client.submit(*call, resources=_resources(run), pure=False)

            for run, future in as_they_end(runs, submit, client.cancel, watch.__next__):
                try:
                    result, archive = future.result()
                except KilledWorker:
                    given_up.append(run)
                except GONE:
                    raise self._connection_lost() from None
                else:
                    unpack(archive, working / run.id)
                    yield run, result
            if given_up:
                raise killers(given_up, "give the same command again, with more memory for each")

    def _watch(self, client: Client) -> Iterator[None]:
        """Look at the scheduler, again and again; say once that there is no worker to wait for."""
        has_waited = False
        while client.status == "running":
            waits = not client.scheduler_info(n_workers=-1)["workers"]
            if waits and not has_waited:
                print(  # noqa: T201
                    f"minitopo-dc: {self._name}: has no worker left; waiting for one "
                    "(Ctrl-C ends; the same command goes on)",
                    file=sys.stderr,
                )
            has_waited = waits
            yield
        raise self._connection_lost()

    def _connection_lost(self) -> StoreError:
        return StoreError(
            f"{self._name}: has gone; every run that was recorded is kept: start it "
            "again, then give the same command again"
        )

    def _connect(self) -> Client:
        from distributed import Client  # noqa: PLC0415

        for name in LOGS:  # tracebacks, of what is told in a line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            return Client(  # type: ignore[no-untyped-call]
                self._address, timeout=CONNECT_TIMEOUT
            )
        except (OSError, ValueError) as error:
            raise StoreError(f"{self._name}: no answer: {error}") from None


def refuse_public(address: str, option: str = "--scheduler") -> None:
    """Refuse a scheduler on the Internet without TLS.

    Whoever reaches it, or the way to it, can run anything as its workers' user: root on the real
    clock.

    Raises:
        SettingsError: the address is refused; the message says what is allowed.
    """
    scheme, _, rest = address.rpartition("://")
    if scheme in ENCRYPTED:
        return
    host = rest.rpartition(":")[0].strip("[]")
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return  # connecting to it says so
    public = [
        each for each in sorted(map(str, found)) if ip_address(each.partition("%")[0]).is_global
    ]
    if public:
        raise SettingsError(
            f"{option} {address}: {public[0]} is a public address, and the connection has no "
            f"TLS; allowed: tls://HOST:PORT, a tunnel's private address, or {option}-without-tls"
        )


def _resources(run: Run) -> dict[str, float]:
    return {REAL_CLOCK: 1} if run.scenario.clock == "real" else {}


def _check_workers(client: Client, address: str, name: str, runs: Iterable[Run]) -> None:
    """Refuse to start without a worker that can do the runs, which would wait for ever."""
    workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise StoreError(f"{name}: has no worker; start one: dask worker {address}")
    able = any(worker.get("resources", {}).get(REAL_CLOCK) for worker in workers.values())
    if not able and any(_resources(run) for run in runs):
        raise StoreError(
            f"{name}: no worker may run on the real clock; on each machine that "
            f"may, as root: dask worker {address} --nworkers 1 --resources {REAL_CLOCK}=1"
        )
