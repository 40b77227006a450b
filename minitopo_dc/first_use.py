"""What is compiled on this machine is built at its first use, so that a notebook just runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

from minitopo_dc.extension.make import BuildError
from minitopo_dc.native import library as native
from minitopo_dc.native.build import build as build_native
from minitopo_dc.picoquic import library as picoquic
from minitopo_dc.picoquic.build import build as build_picoquic
from minitopo_dc.scenario import Scenario

Part = tuple[Callable[[], str | None], Callable[[Callable[[str], None]], Path]]
"""A function that says why a part cannot be used, and one that builds it."""
PARTS: dict[str, Part] = {
    "the native core": (native.missing, build_native),
    "picoquic": (picoquic.missing, build_picoquic),
}


def build_missing(scenarios: Iterable[Scenario]) -> None:
    """Build the native core and picoquic where scenarios use them and they are not here.

    Each is tried once in this process' life; a line on standard error says so. What cannot be
    built is said with what to install, and runs without it are slower, or unsupported.
    """
    for name in dict.fromkeys(name for scenario in scenarios for name in _used(scenario)):
        if PARTS[name][0]() is not None:
            _build_once(name)


def _used(scenario: Scenario) -> Iterator[str]:
    if scenario.clock == "virtual" and scenario.virtual.core != "python":
        yield "the native core"
    if any(flow.transport.endswith("-picoquic") for flow in scenario.resolved_flows):
        yield "picoquic"


@cache
def _build_once(name: str) -> None:
    say = partial(print, file=sys.stderr, flush=True)
    say(f"minitopo-dc: {name} is not here yet: building it, once (half a minute)")
    try:
        PARTS[name][1](lambda _: None)
    except BuildError as error:
        say(f"minitopo-dc: {name} cannot be built: {error}")
