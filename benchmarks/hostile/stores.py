"""A campaign's directory that was damaged, or made to do harm."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import minitopo_dc
from benchmarks.hostile import Kind
from benchmarks.hostile.mutations import garbled, near_text, with_near_misses
from minitopo_dc import clocks
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.table import FACTS, TABLE, load
from minitopo_dc.cli import entry
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.results import ResultError
from minitopo_dc.results.files import seal
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

HUGE_BYTES = 1 << 40
"""Of a file without content: no limit is so high."""
LEG = {"downlink": {"rate_mbps": 20}}
OPTIONAL_FILES = {
    "environment.json": '{"python": "3.11", "kernel": {"release": "6"}}',
    "client-rate.csv": "time_s,received_bytes\n0,0\n4,10000000\n",
    "gnb-summary.json": '{"start_ns": 0, "transmit": {}}',
    "ue-summary.json": '{"start_ns": 0, "receive": {"1": {"waiting_total_ns": 5, "delivered": 9}}}',
    "gnb-legs.csv": (
        "time_ns,leg,pushed_packets,pushed_bytes,delivered_bytes,dropped_queue,queue_packets\n"
        "0,1,0,0,0,0,0\n1000000000,1,1,9,9,0,1\n2000000000,1,2,99,99,0,0\n"
    ),
    "ue-receive.csv": "time_ns,bearer,delivered_bytes\n0,1,0\n4000000000,1,9\n",
    "paths.csv": (
        "time_s,flow,leg,path,state,cwnd_bytes,in_flight_bytes,smoothed_rtt_ms,bytes_sent,"
        "bytes_acked,packets_lost\n0,1,1,0,open,9,0,,0,0,0\n1,1,1,0,open,9,9,20,9,9,0\n"
    ),
    "qlog/server/a.qlog": (
        '{"traces": [{"events": ['
        '{"time": 0, "name": "recovery:metrics_updated", "data": {"cwnd": 9}}, '
        '{"time": 9, "name": "recovery:metrics_updated", "data": {"cwnd": 5}}]}]}'
    ),
}
"""Files of a run, beside those that every run has."""
REQUIRED_FILES = ("result.json", "checksums.json", "scenario.yaml")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE_BYTES)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "huge": _huge,
    "link out": lambda path: path.symlink_to(__file__),
    "loop": lambda path: path.symlink_to(path),
}
"""What can be in the place of a file, and is none with a content."""
CONTENTS = {
    "empty": b"",
    "cut": b'{"a": [1, ',
    "deep": b"[" * 100_000,
    "bytes": bytes(range(256)),
    "half a character": b'{"transport": "\\ud800"}',
    "long number": b'{"seed": ' + b"9" * 5000 + b"}",
}


def put(path: Path, kind: str) -> None:
    """Replace a file by something of `SPECIAL` or `CONTENTS`."""
    path.unlink(missing_ok=True)
    if kind in SPECIAL:
        SPECIAL[kind](path)
    else:
        path.write_bytes(CONTENTS[kind])


def recorded(scenario: Scenario, directory: Path) -> RunResult:
    """Return the result of a run that went well at once, and write files of all kinds."""
    for name, text in OPTIONAL_FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return pretend(scenario, directory)


def pretend(scenario: Scenario, directory: Path) -> RunResult:
    """Return the result of a run that went well at once: 10 MB in 4 s, whatever was asked for."""
    scenario.save(directory / "scenario.yaml")
    return replace(
        blank_result(scenario, directory),
        status="ok",
        goodput_mbps=20.0,
        completion_s=4.0,
        leg_bytes=[5_300_000, 5_200_000],
        capacity_share=0.5,
    )


def make_store(root: Path) -> Path:
    """Make a campaign's directory of two runs that went well at once; return it."""
    leg = {"downlink": {"rate_mbps": 20}}
    base = {"mode": "dc", "transport": "quic", "legs": [leg, leg], "clock": "virtual"}
    cases = [
        (Scenario.check({**base, "pdcp": {"batch": batch}}, "store"), {"batch": batch})
        for batch in (2, 100)
    ]
    with mock.patch.object(clocks, "run_checked", recorded):
        Campaign(root / "store", cases).run(jobs=1, progress=False)
    return root / "store"


@cache
def _whole() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Return a store that is right, to be copied; it is removed when this process ends."""
    place = tempfile.TemporaryDirectory(prefix="minitopo-dc-hostile-")
    return place, make_store(Path(place.name))


def damaged_store(rng: Random, directory: Path) -> Path:
    """Return a copy of a store that is right, with a file of it changed at a random place."""
    root = directory / "store"
    shutil.copytree(_whole()[1], root)
    run = rng.choice(sorted((root / "runs").iterdir()))
    path = rng.choice(
        [root / FACTS, root / TABLE, *(run / name for name in (*OPTIONAL_FILES, *REQUIRED_FILES))]
    )
    _damage(rng, path)
    if path.name != "checksums.json" and rng.random() < 0.8:  # by who knows what digests are
        seal(run)
    return root


def _commands(rng: Random, directory: Path) -> Iterator[None]:
    """Read a damaged store, and ask for its state or its report."""
    root = damaged_store(rng, directory)
    load(root)
    yield
    parsed = entry.parser().parse_args(["campaign", rng.choice(("status", "report")), str(root)])
    entry.command(parsed.command).execute(parsed)


def _notebooks(rng: Random, directory: Path) -> Iterator[None]:
    """Read a damaged store by the names of the public API that read one, as a notebook does.

    Whatever it holds, an error of this project's or an OSError is all that they may raise.
    """
    root = damaged_store(rng, directory)
    readers = list(READERS)
    rng.shuffle(readers)
    for place, read in enumerate(readers):
        try:
            for run in sorted((root / "runs").iterdir()):
                read(run)
        except (MinitopoDcError, OSError) as error:
            raise ResultError(str(error)) from error
        if place == 0:
            yield


def _tables(run: Path) -> None:
    table = minitopo_dc.results.load_results(run.parent)
    minitopo_dc.results.compare_table(table)
    minitopo_dc.results.save_tables(table, run.parent.parent)


def _capacity(run: Path) -> None:
    minitopo_dc.results.capacity_over_time(minitopo_dc.results.load_as_run(run), 5.0)


READERS: tuple[Callable[[Path], Any], ...] = (
    minitopo_dc.results.load_as_run,
    minitopo_dc.results.client_rate,
    minitopo_dc.results.leg_series,
    minitopo_dc.results.leg_rates,
    minitopo_dc.results.path_series,
    minitopo_dc.results.path_rates,
    minitopo_dc.results.pdcp_series,
    minitopo_dc.results.reordering_wait_ms,
    minitopo_dc.results.open_capacity,
    minitopo_dc.results.handover_table,
    _capacity,
    _tables,
)
"""What may be called with a run's directory; the last one reads those beside it, too."""


def _damage(rng: Random, path: Path) -> None:
    way = rng.random()
    if way < 0.3:
        put(path, rng.choice([*SPECIAL, *CONTENTS]))
    elif way < 0.8 and path.suffix in (".json", ".qlog"):
        path.write_text(json.dumps(with_near_misses(rng, json.loads(path.read_text()), {})))
    elif path.name == TABLE:
        content = bytearray(path.read_bytes())
        for _ in range(rng.randint(1, 20)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
    else:
        change = near_text if way < 0.8 else garbled
        path.write_bytes(change(rng, path.read_text()).encode("utf-8", "surrogatepass"))


KINDS: dict[str, Kind] = {"store": _commands, "notebooks": _notebooks}
