"""Malformed input of what reads results: expressions over them, captures, and the public API.

The API is called as a notebook does: whatever a damaged directory holds, an error of this project's
or an OSError is all that it may raise.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

import minitopo_dc
from benchmarks.hostile.examples import EXPRESSIONS, HOSTILE_EXPRESSIONS, KNOWN
from benchmarks.hostile.kinds import Kind
from benchmarks.hostile.kinds.captures import damaged, tcp_run
from benchmarks.hostile.mutations import GARBLED, changed, near_text
from benchmarks.hostile.stores import damaged_store, fill
from minitopo_dc.analysis import ResultError
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.file.fields import CampaignFile
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.report.answer import answers
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.errors import MinitopoDcError

MAX_RUNS = 60
"""Of a changed campaign that are recorded: more find nothing else, and take seconds."""


def _expressions(rng: Random, directory: Path) -> Iterator[None]:
    """Read a campaign of expressions, with made-up results, up to its claims and answers."""
    path = directory / "campaign.yaml"
    path.write_bytes(_with_expressions(rng).encode("utf-8", "surrogatepass"))
    CampaignFile.load(path)
    yield
    plan = read_plan(path)
    if len(plan.runs) > MAX_RUNS:
        return
    store = Store(directory / "campaign.store")
    fill(plan, store)
    [source] = minitopo_dc.load_sources([store.root])
    try:
        minitopo_dc.claims_table([source])
        for name, experiment in plan.file.experiments.items():
            tables = {source.label: joined_table(source, name, experiment)}
            list(answers([source], name, experiment, tables))
    except MinitopoDcError as error:  # it names the experiment, and what is read is named before
        raise ResultError(f"{store.root}: {error}") from None


def _with_expressions(rng: Random) -> str:
    if rng.random() < GARBLED:
        return changed(rng, EXPRESSIONS, KNOWN)
    document = copy.deepcopy(EXPRESSIONS)
    places = list(_expressions_of(document))
    for container, key in rng.sample(places, rng.choice((1, 1, 1, 2))):
        hostile = rng.random() < GARBLED
        text = container[key]
        container[key] = rng.choice(HOSTILE_EXPRESSIONS) if hostile else near_text(rng, text)
    return yaml.safe_dump(document, sort_keys=False)


def _expressions_of(value: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str) and inner.startswith(("=", "$")):
            yield value, key
        yield from _expressions_of(inner)


@cache
def _tcp() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Return a run with captures, to be copied; it is removed when this process ends."""
    place = tempfile.TemporaryDirectory(prefix="minitopo-dc-hostile-")
    tcp_run(Path(place.name) / "run")
    return place, Path(place.name) / "run"


def _captures(rng: Random, directory: Path) -> Iterator[None]:
    """Read a capture of an end host's, up to the features of its connection."""
    run = directory / "run"
    run.mkdir()
    for path in _tcp()[1].iterdir():
        (run / path.name).write_bytes(path.read_bytes())
    capture = run / rng.choice(("server.pcap", "client.pcap"))
    capture.write_bytes(damaged(rng, capture.read_bytes()))
    with _as_in_a_notebook():
        minitopo_dc.connection_log(run)
    yield
    with _as_in_a_notebook():
        minitopo_dc.feature_table([run])


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


def _claims(store: Path) -> None:
    minitopo_dc.claims_table(minitopo_dc.load_sources([store]))


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
READERS: tuple[Callable[[Path], Any], ...] = (*RUN_READERS, _tables, minitopo_dc.recorded_runs)
"""What may be called with a run's directory, and then with that of all runs."""
KINDS: dict[str, Kind] = {
    "expressions": _expressions,
    "captures": _captures,
    "notebooks": _notebooks,
}
