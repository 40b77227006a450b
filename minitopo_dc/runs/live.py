"""The rates of a run while it goes on, from the time series that its elements write."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Self

from minitopo_dc.fields import Direction
from minitopo_dc.units import NS_PER_S

BEGIN_S = 5.0
"""A shorter run has ended before anybody has read a line."""
INTERVAL_S = 1.0
TAIL_BYTES = 1 << 16
"""Of a file's end: hundreds of rows, of which a second has ten for each leg."""
HOSTS: dict[Direction, tuple[str, str]] = {"downlink": ("gnb", "ue"), "uplink": ("ue", "gnb")}
"""Which element has the legs of a direction, and which one its receiving bearers."""


class Live:
    """A thread that says once a second what the newest run below a directory carries."""

    def __init__(
        self, root: Path, loads: tuple[Direction, ...], say: Callable[[str], None]
    ) -> None:
        """Take where runs are, the directions that count, and what shows a line."""
        self._root, self._loads, self._say = root, loads, say
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        watched, began, shown = None, 0.0, ""
        while not self._stop.wait(INTERVAL_S):
            newest = self._newest()
            line = "" if newest is None else line_of(newest.parent, self._loads)
            if newest != watched or not line:
                watched, began = newest, time.monotonic()
            elapsed_s = time.monotonic() - began
            if line != shown and elapsed_s >= BEGIN_S:  # the same line: the run has ended
                self._say(f"{elapsed_s:.0f} s: {line}")
            shown = line

    def _newest(self) -> Path | None:
        series = chain(self._root.glob("gnb-legs.csv"), self._root.glob("*/gnb-legs.csv"))
        try:
            return max(series, key=lambda path: path.stat().st_mtime, default=None)
        except FileNotFoundError:  # a run has gone to its place meanwhile
            return None


def line_of(run: Path, loads: tuple[Direction, ...]) -> str:
    """Return the rates of a run's flows and legs in the last second; empty: nothing moves."""
    parts = []
    for way in loads:
        sender, receiver = HOSTS[way]
        legs, bearers = rates(run / f"{sender}-legs.csv"), rates(run / f"{receiver}-receive.csv")
        if not any(legs.values()):
            continue
        flows = {(number + 1) // 2: rate for number, rate in bearers.items()}
        flows = flows or {1: sum(legs.values())}
        parts += [*_named("flow", flows), *_named("leg", legs)]
        parts[-1] += f" Mbit/s {'down' if way == 'downlink' else 'up'}"
    return ", ".join(parts)


def _named(name: str, rates_mbps: dict[int, float]) -> Iterator[str]:
    yield from (f"{name} {number} {rate:.1f}" for number, rate in rates_mbps.items())


def rates(path: Path) -> dict[int, float]:
    """Return the rate of each leg or bearer in the last second that a series has (Mbit/s).

    A file that is missing, or has less, has no rates.
    """
    try:
        with path.open("rb") as file:
            head = file.readline().decode()
            file.seek(max(file.tell(), path.stat().st_size - TAIL_BYTES))
            lines = file.read().decode().splitlines()
    except OSError:
        return {}
    columns = head.strip().split(",")
    rows = [row for row in csv.reader(lines[:-1]) if len(row) == len(columns)]
    if not rows or "delivered_bytes" not in columns:
        return {}
    place = columns.index("delivered_bytes")
    counts: dict[int, list[tuple[int, int]]] = {}
    last = int(rows[-1][0])
    for row in rows:
        if int(row[0]) >= last - INTERVAL_S * NS_PER_S:
            counts.setdefault(int(row[1]), []).append((int(row[0]), int(row[place])))
    return {key: _rate(of) for key, of in counts.items()}


def _rate(counts: list[tuple[int, int]]) -> float:
    (since, before), (until, count) = counts[0], counts[-1]
    return 8 * (count - before) / max(1, until - since) * NS_PER_S / 1e6
