"""The files that a scenario names: what a run gives depends on what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minitopo_dc.scenario.scenario import Scenario


def file_digests(scenario: Scenario) -> dict[str, str]:
    """Return the SHA-256 of each trace and Python file that it names, by path.

    Raises:
        OSError: one of them cannot be read.
    """
    plugins = (name for name in scenario.plugins if name.endswith(".py"))
    paths = dict.fromkeys((*_traces(scenario), *plugins))
    return {path: file_digest(path) for path in paths}


def file_digest(path: str) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal digits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


cached_digest = cache(file_digest)
"""The same for campaigns, which ask for one file thousands of times."""


def _traces(scenario: Scenario) -> Iterator[str]:
    for leg in (*scenario.legs, *scenario.real.backhaul):
        for direction in (leg.downlink, leg.uplink):
            if direction.trace is not None:
                yield str(direction.trace)
