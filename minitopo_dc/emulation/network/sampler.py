"""What happens while a transfer runs: the client's rate is recorded, the testbed is watched."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from minitopo_dc.emulation.network.hosts import EmulatedHost
from minitopo_dc.run.perform import RunFailedError


class Sampler:
    """A thread that samples the client's received bytes from `start` until the `with` ends.

    When `check` raises RunFailedError it calls `abort` once, so that a transfer does not wait for
    its timeout.
    """

    def __init__(
        self,
        client: EmulatedHost,
        check: Callable[[], None],
        interval_ms: int,
        abort: Callable[[], None],
    ) -> None:
        self.samples: list[tuple[float, int]] = []
        """(s since start, IP bytes received since start)."""
        self._client = client
        self._check = check
        self._interval = interval_ms / 1000
        self._abort = abort
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def start(self) -> None:
        """Time zero of the samples."""
        self._thread.start()

    def save(self, path: Path) -> None:
        """Write the samples as CSV."""
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["time_s", "received_bytes"])
            rows.writerows((f"{moment:.4f}", count) for moment, count in self.samples)

    def _run(self) -> None:
        try:
            self._sample()
        except OSError:  # the client's host has gone, and with it /proc/PID
            self._abort()

    def _sample(self) -> None:
        begin, before = time.monotonic(), self._client.received_bytes()
        while True:
            ended = self._stop.wait(self._interval if self.samples else 0)
            self.samples.append((time.monotonic() - begin, self._client.received_bytes() - before))
            if ended:
                return
            try:
                self._check()
            except RunFailedError:
                self._abort()
                return
