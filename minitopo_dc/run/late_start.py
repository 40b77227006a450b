"""Clients that started so late that a part of their scenario was over by then.

Changes, outages and schedules count from the elements' start, as on the virtual clock, where a
client connects at once. On the real one its program has to be loaded first, which a machine with
too much to do may take seconds for: such a run measured another scenario than its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.workloads import Measurement

LATEST_START_S: Final = 1.0
"""Up to here nothing is wrong with a machine: a Python client takes some tenths of a second on a
quiet one (docs/results.md, "Two clocks in a run")."""


def missed_by_client(scenario: Scenario, flow: ResolvedFlow, measured: Measurement) -> str | None:
    """What a flow's client started too late for, as a failed run's reason; None: nothing."""
    started_s = measured.started_s
    if started_s <= LATEST_START_S:
        return None
    last = max((at_s for at_s in _moments(scenario, flow) if at_s <= started_s), default=0.0)
    if last == 0:
        return None
    return (
        f"client started {started_s:.2f} s after the elements, behind what the scenario has at "
        f"{last:g} s: the machine gave it too little processor time"
    )


def _moments(scenario: Scenario, flow: ResolvedFlow) -> Iterator[float]:
    """When something happens to a leg, whoever uses it, or to the flow's paths (s)."""
    for leg in scenario.legs:
        yield from leg.moments()
    if flow.paths is not None:
        yield from (event.at_s for event in flow.paths.events)
