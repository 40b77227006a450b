"""Who is set against whom: of one stack the deployable Dual Connectivity and multipath.

One against one, both fixed before anything is run: the best of several is better than one by chance
alone. The papers' Dual Connectivity, the ideal one and each leg alone are beside them.

A difference within a workload's margin is a tie. The margin is not smaller than what the virtual
clock and real packets differ by: who decides more finely decides on an artefact of the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from minitopo_dc.clocks import run_obstacle
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.measures.named import CRITERIA, MARGINS, Criterion
from minitopo_dc.runners.base import Runner, get_runner, runner_names
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import DualConnectivity
from minitopo_dc.ways import scenario_of_row, ways_of
from minitopo_dc.workloads import Video, Workload

DUALS: tuple[DualConnectivity, ...] = ("deployable", "papers", "ideal")
"""The first of these is judged."""
ALLOWED = (
    "allowed: two of a stack, one for dc and one for multipath: "
    "quic-picoquic mpquic-picoquic; tcp mptcp"
)


class Candidates(NamedTuple):
    """The ways of one stack, by their names."""

    stack: str
    ways: Mapping[str, Scenario]
    dual: str
    multipath: str
    """These two are judged; others are the papers' and the ideal one, and each leg alone."""


def candidates_of(base: Scenario, pairs: Sequence[Sequence[str]], xn_ms: float) -> list[Candidates]:
    """Return the candidates of each stack over the legs of a scenario; no two ways have one name.

    Args:
        base: what all have in common.
        pairs: of each stack, the transport over one path and that over several.
        xn_ms: the delay of Xn of what can be deployed.

    Raises:
        SettingsError, TraceError: the transports are unknown, not two of a stack or cannot run
            here; there are no two legs; or a scenario of a row is wrong.
    """
    if len(base.legs) < 2:
        raise SettingsError(f"--legs: {len(base.legs)}; allowed: two or more")
    runners = [_runners_of(pair) for pair in pairs]
    rows = [row for pair in runners for row in _rows_of(base, *pair, xn_ms)]
    ways = ways_of([scenario_of_row(base, row) for row in rows])
    for scenario in ways.values():
        check_scenario(scenario)
        if (reason := run_obstacle(scenario)) is not None:
            name = scenario.transport
            raise SettingsError(f"--transports: {name} cannot run here: {reason}")
    return [_of_stack(ways, *pair) for pair in runners]


def _runners_of(transports: Sequence[str]) -> tuple[Runner, Runner]:
    """Return the runner over one path and that over several; SettingsError: not two of a stack."""
    if unknown := [name for name in transports if name not in runner_names()]:
        raise SettingsError(f"--transports: {unknown[0]}; allowed: {', '.join(runner_names())}")
    found, named = [], " ".join(transports)
    for mode in ("dc", "multipath"):
        able = [name for name in transports if mode in get_runner(name).modes()]
        if len(able) != 1:
            words = f"{len(able)} can do mode {mode}; {ALLOWED}"
            raise SettingsError(f"--transports: {named}: {words}")
        found.append(get_runner(able[0]))
    single, several = found
    if single.stack != several.stack:
        raise SettingsError(f"--transports: {named}: {single.stack}, {several.stack}; {ALLOWED}")
    return single, several


def _rows_of(base: Scenario, single: Runner, several: Runner, xn_ms: float) -> list[dict[str, Any]]:
    """Return the fields in which the ways of a stack differ from what all have in common."""
    # A path that carries nothing fails no run: over very unequal legs a scheduler may do so.
    paths = {"each_carries": False}
    fields = {"mode": "multipath", "paths": paths if several.takes_paths else None}
    one = {"transport": single.name}
    return [
        *(one | {"mode": "dc"} | base.dc_fields(name, xn_ms) for name in DUALS),
        {"transport": several.name, **fields},
        *(one | {"mode": "sc", "leg": leg} for leg in range(1, len(base.legs) + 1)),
    ]


def _of_stack(ways: Mapping[str, Scenario], single: Runner, several: Runner) -> Candidates:
    own = {name: way for name, way in ways.items() if way.transport in (single.name, several.name)}
    dual, *_, multipath = [name for name, way in own.items() if way.mode != "sc"]
    # In the order in which they are run.
    names = sorted(own, key=lambda name: (name not in (dual, multipath), own[name].mode == "sc"))
    stack = single.stack or single.name
    return Candidates(stack, {name: own[name] for name in names}, dual, multipath)


MIN_MARGIN, MAX_MARGIN = 0.001, 1.0


def judged_of(workload: Workload, margin_percent: float | None = None) -> Criterion:
    """Return what is judged of a workload; its margin is that of `MARGINS` unless it is given.

    Raises:
        SettingsError: another workload, or a margin that makes no sense.
    """
    if workload.kind not in MARGINS:
        raise SettingsError(f"--workload: {workload.kind}; allowed: {', '.join(MARGINS)}")
    criterion = CRITERIA[workload.kind][0]
    margin = MARGINS[workload.kind] if margin_percent is None else margin_percent / 100
    if not MIN_MARGIN <= margin <= MAX_MARGIN:
        allowed = f"{100 * MIN_MARGIN:g} to {100 * MAX_MARGIN:g} %"
        raise SettingsError(f"--margin: {margin_percent:g}; allowed: {allowed}")
    highest_mbps = workload.content.bitrates_kbps[-1] / 1000 if isinstance(workload, Video) else 1
    return replace(criterion, margin=margin * (100 if criterion.unit == "%" else highest_mbps))
