"""Malformed input of what reads results: captures, and the public API.

The API is called as a notebook does: whatever a damaged directory holds, an error of this project's
or an OSError is all that it may raise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import minitopo_dc
from benchmarks.hostile.kinds import Kind
from benchmarks.hostile.kinds.captures import damaged, tcp_run
from benchmarks.hostile.stores import damaged_store
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.results import ResultError


@cache
def _tcp() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Return a run with captures, to be copied; it is removed when this process ends."""
    place = tempfile.TemporaryDirectory(prefix="minitopo-dc-hostile-")
    tcp_run(Path(place.name) / "run")
    return place, Path(place.name) / "run"


def _captures(rng: Random, directory: Path) -> Iterator[None]:
    """Read a capture of an end host's, up to the windows of its connection."""
    run = directory / "run"
    run.mkdir()
    for path in _tcp()[1].iterdir():
        (run / path.name).write_bytes(path.read_bytes())
    capture = run / rng.choice(("server.pcap", "client.pcap"))
    capture.write_bytes(damaged(rng, capture.read_bytes()))
    with _as_in_a_notebook():
        log = minitopo_dc.connection_log(run)
    yield
    with _as_in_a_notebook():
        log.during()


def _notebooks(rng: Random, directory: Path) -> Iterator[None]:
    """Read a damaged store by the names of the public API that read one."""
    runs = damaged_store(rng, directory) / "runs"
    readers = list(READERS)
    rng.shuffle(readers)
    for place, read in enumerate(readers):
        with _as_in_a_notebook():
            for run in sorted(runs.iterdir()) if read in RUN_READERS else [runs]:
                read(run)
        if place == 0:
            yield


@contextmanager
def _as_in_a_notebook() -> Iterator[None]:
    try:
        yield
    except (MinitopoDcError, OSError) as error:
        raise ResultError(str(error)) from error


def _tables(runs: Path) -> None:
    found = minitopo_dc.load_results(runs)
    minitopo_dc.compare_table(found)
    minitopo_dc.save_tables(found, runs.parent)


def _capacity(run: Path) -> None:
    minitopo_dc.capacity_over_time(minitopo_dc.load_as_run(run), 5.0)


RUN_READERS: tuple[Callable[[Path], Any], ...] = (
    minitopo_dc.load_as_run,
    minitopo_dc.client_rate,
    minitopo_dc.leg_series,
    minitopo_dc.leg_rates,
    minitopo_dc.path_series,
    minitopo_dc.path_rates,
    minitopo_dc.pdcp_series,
    minitopo_dc.reordering_wait_ms,
    minitopo_dc.open_capacity,
    minitopo_dc.handover_table,
    _capacity,
)
READERS: tuple[Callable[[Path], Any], ...] = (*RUN_READERS, _tables)
"""What may be called with a run's directory, and then with that of all runs."""
KINDS: dict[str, Kind] = {
    "captures": _captures,
    "notebooks": _notebooks,
}
