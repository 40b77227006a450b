"""Workers of a Dask scheduler, which run a campaign on several machines."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Collection
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from minitopo_dc.campaign.executors import GONE, Results, Scenarios, received, submitted
from minitopo_dc.campaign.store import StoreError
from minitopo_dc.fields import SettingsError
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Clock

if TYPE_CHECKING:
    from distributed import Client

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
            StoreError: no scheduler answers, or no longer; no worker may run on the real clock;
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
        """Say once that there is no worker to wait for; StoreError where the scheduler has gone."""
        if client.status != "running" or isinstance(error, GONE):
            raise StoreError(
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
            raise StoreError(f"{self._name}: no answer: {error}") from None

    def _check_workers(self, client: Client, clocks: Collection[Clock]) -> None:
        """Refuse to start without a worker that can do the runs, which would wait for ever."""
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise StoreError(f"{self._name}: has no worker; start one: dask worker {self._address}")
        if "real" in clocks and not any(worker["resources"].get(REAL_CLOCK) for worker in workers):
            raise StoreError(
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
