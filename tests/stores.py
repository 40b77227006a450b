"""A campaign's directory whose runs went well at once, and files in it that do harm."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from minitopo_dc import clocks
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

HUGE_BYTES = 1 << 40
"""Of a file without content: no limit is so high."""
OPTIONAL_FILES = {
    "environment.json": '{"python": "3.11", "kernel": {"release": "6"}}',
    "client-rate.csv": "time_s,received_bytes\n0,0\n4,10000000\n",
    "qlog/server/a.qlog": (
        '{"traces": [{"events": ['
        '{"time": 0, "name": "recovery:metrics_updated", "data": {"cwnd": 9}}]}]}'
    ),
}
"""Files of a run, beside those that every run has."""


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE_BYTES)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "huge": _huge,
    "link out": lambda path: path.symlink_to(__file__),
    "cut": lambda path: path.write_text('{"a": [1, '),
    "deep": lambda path: path.write_text("[" * 100_000),
}
"""What can be in the place of a file."""


def put(path: Path, kind: str) -> None:
    """Replace a file by something of `SPECIAL`."""
    path.unlink(missing_ok=True)
    SPECIAL[kind](path)


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


def _recorded(scenario: Scenario, directory: Path) -> RunResult:
    for name, text in OPTIONAL_FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return pretend(scenario, directory)


def make_store(root: Path) -> Path:
    """Make a campaign's directory of two runs that went well at once; return it."""
    leg = {"downlink": {"rate_mbps": 20}}
    base = {"mode": "dc", "transport": "quic", "legs": [leg, leg], "clock": "virtual"}
    cases = [
        (Scenario.check({**base, "pdcp": {"batch": batch}}, "store"), {"batch": batch})
        for batch in (2, 100)
    ]
    with mock.patch.object(clocks, "runner_on", lambda _: _recorded):
        Campaign(root / "store", cases).run(jobs=1, progress=False)
    return root / "store"
