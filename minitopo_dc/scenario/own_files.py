"""The files that a scenario names: what a run gives depends on what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from minitopo_dc.scenario.scenario import Scenario


def file_digests(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Return the SHA-256 of each trace and Python file that scenarios name, by path.

    Each file is read once.

    Raises:
        OSError: one of them cannot be read.
    """
    paths = dict.fromkeys(path for each in scenarios for path in _paths(each))
    return {path: file_digest(path) for path in paths}


def file_digest(path: str) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal digits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


cached_digest = cache(file_digest)
"""The same for campaigns, which ask for one file thousands of times."""


def _paths(scenario: Scenario) -> Iterator[str]:
    yield from trace_paths(scenario)
    yield from (name for name in scenario.plugins if name.endswith(".py"))


def trace_paths(scenario: Scenario) -> Iterator[str]:
    """Yield the path of each trace that a scenario names, once for each place that names it."""
    for leg in (*scenario.legs, *scenario.real.backhaul):
        for direction in (leg.downlink, leg.uplink):
            if direction.trace is not None:
                yield str(direction.trace)
