"""The result of a run from the measurements of its flows, on either clock.

A run fails if a client started too late for the scenario's changes, if a multipath transport could
not use a path although there was time for it (`path_use`), or if it used a leg on which its
schedule opens no path.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from minitopo_dc.fields import PathPlan
from minitopo_dc.files import CsvFile, shortage, write_whole
from minitopo_dc.interruption import raise_if_interrupted
from minitopo_dc.registry import place_in_plugins
from minitopo_dc.results.bound import bound_mbps
from minitopo_dc.results.path_use import PATH_USE, FlowPaths
from minitopo_dc.results.run_result import (
    SETTINGS,
    RunResult,
    available_bits,
    capacity_share,
    flow_directory,
    flow_windows,
    goodput_mbps,
    jain_index,
)
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Leg, ResolvedFlow, Scenario
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import COLUMNS, bytes_of_legs, path_rows

LATEST_START_S: Final = 1.0
"""The latest start of a client on a healthy machine: a Python client takes some tenths of a second
on a quiet one (docs/results.md, "Two clocks in a run")."""


def blank_result(scenario: Scenario, directory: Path) -> RunResult:
    """Return a failed result, to be completed, with the size that was asked for.

    A workload that lasts a given time has size 0.
    """
    flows, mode = scenario.resolved_flows, scenario.mode
    settings = {
        "leg": scenario.leg,
        "pdcp.split": "" if flows[0].proxied else flows[0].pdcp.split,
        "pdcp.t_reordering_ms": scenario.pdcp.t_reordering_ms.setting,
    }
    return RunResult(
        transport=scenario.transport,
        mode=mode,
        status="failed",
        reason="",
        seed=scenario.seed,
        size_bytes=sum(flow.workload.size_bytes for flow in flows),
        congestion_control=scenario.congestion_control,
        workload=scenario.workload.kind,
        clock=scenario.clock,
        directory=str(directory),
        settings={path: settings[path] if mode in of else None for path, of in SETTINGS.items()},
    )


def judge(
    blank: RunResult,
    scenario: Scenario,
    measurements: Sequence[Measurement],
    leg_bytes: list[int],
) -> RunResult:
    """Return the result of flows that measured what was asked for, and save their rows as files."""
    alone = not scenario.flows
    flows = list(zip(scenario.resolved_flows, measurements, strict=True))
    _save_rows(flows, Path(blank.directory), alone=alone)
    # On the virtual clock a client starts when it is to: as soon as a tunnel is open.
    late = (
        late_start_reason(scenario.legs, flow.paths, measured.started_s)
        for flow, measured in flows
        if scenario.clock == "real"
    )
    if (reason := _first_failure(late, alone=alone)) is not None:
        return replace(blank, reason=reason, leg_bytes=leg_bytes)
    measurements = [*measurements]
    faults: list[str | None] = [None] * len(flows)
    for place, (flow, measured) in enumerate(flows):
        if flow.has_several_paths and flow.paths is not None:
            # Beside other flows the legs' counters do not show what this one used.
            carried = leg_bytes if alone else bytes_of_legs(measured.details, len(scenario.legs))
            own = FlowPaths(scenario, flow, flow.paths, measured, carried)
            measurements[place] = replace(measured, details={**measured.details, **own.details})
            faults[place] = own.failure()
    if (reason := _first_failure(faults, alone=alone)) is not None:
        known = measurements[0].details if alone else {}
        details = {name: value for name, value in known.items() if name == PATH_USE}
        return replace(blank, reason=reason, leg_bytes=leg_bytes, details=details)
    return ok_result(blank, scenario, measurements, leg_bytes)


def _save_rows(
    flows: Sequence[tuple[ResolvedFlow, Measurement]], run: Path, *, alone: bool
) -> None:
    for number, (flow, measured) in enumerate(flows, start=1):
        if measured.rows:
            directory = flow_directory(run, number, alone=alone)
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / f"{flow.workload.kind}.csv"
            with CsvFile(path, measured.rows[0]) as file:
                file.add_all(row.values() for row in measured.rows)
    if any(measured.path_samples for _, measured in flows):
        with CsvFile(run / "paths.csv", COLUMNS) as file:
            for number, (_, measured) in enumerate(flows, start=1):
                file.add_all(path_rows(number, measured.path_samples))


def _first_failure(reasons: Iterable[str | None], *, alone: bool) -> str | None:
    """Return the first flow's fault, with the flow unless it is alone; None: there is none."""
    for number, reason in enumerate(reasons, start=1):
        if reason is not None:
            return reason if alone else f"flow-{number}: {reason}"
    return None


def ok_result(
    blank: RunResult,
    scenario: Scenario,
    measurements: Sequence[Measurement],
    leg_bytes: list[int],
) -> RunResult:
    """Return the result of a run in which every flow received what was asked for.

    The goodput is over all flows that have one: their bytes together, in the time of the longest
    flow. The legs' capacity counts from the first client's start of connecting to the last one's
    end.
    """
    flows = scenario.resolved_flows
    seconds = max(measured.completion_s for measured in measurements)
    details = dict(_per_flow(flows, measurements) if scenario.flows else measurements[0].details)
    (start, _), *_ = windows = flow_windows(details, seconds)
    bound = bound_mbps(scenario, start)
    result = replace(
        blank,
        status="ok",
        size_bytes=sum(measured.bytes_received for measured in measurements),
        completion_s=seconds,
        leg_bytes=leg_bytes,
        details=details if bound is None else details | {"bound_mbps": bound},
    )
    if not all(flow.workload.has_goodput for flow in flows):
        return result
    starts, ends = zip(*windows, strict=True)
    legs, cells = scenario.legs, scenario.cells
    carried = available_bits(legs, scenario.loads, min(starts), max(ends), shared=cells)
    return replace(
        result,
        goodput_mbps=goodput_mbps(result.size_bytes, seconds),
        capacity_share=capacity_share(result.size_bytes, sum(carried)),
    )


def _per_flow(flows: Sequence[ResolvedFlow], measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Return each flow's own goodput over its own time, and Jain's index where two have one."""
    rows = []
    for flow, measured in zip(flows, measurements, strict=True):
        size, seconds = measured.bytes_received, measured.completion_s
        splits = flow.mode in DUAL_CONNECTIVITY
        has_order = flow.pdcp.legs or flow.legs[0] != 1
        rows.append(
            {
                **measured.details,
                "mode": flow.mode,
                "leg": flow.leg,
                **({"legs": list(flow.legs)} if splits and has_order else {}),
                "transport": flow.transport,
                "workload": flow.workload.kind,
                "congestion_control": flow.congestion_control,
                "bytes_received": size,
                "completion_s": seconds,
                "goodput_mbps": goodput_mbps(size, seconds) if flow.workload.has_goodput else None,
            }
        )
    goodputs = [row["goodput_mbps"] for row in rows if row["goodput_mbps"] is not None]
    return {"flows": rows, "jain_index": jain_index(goodputs) if len(goodputs) > 1 else None}


def crashed(scenario: Scenario, directory: Path, error: Exception) -> RunResult:
    """Return the failed result of a run that an error ended; save it, and `crash.txt` beside it.

    The latter is the error's traceback. Neither can be where the disk is full.

    Raises:
        KeyboardInterrupt: a signal has arrived, of which the error is a consequence.
    """
    raise_if_interrupted()
    words = shortage(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
    reason = words + place_in_plugins(error, scenario.plugins)
    result = replace(blank_result(scenario, directory), reason=reason)
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(directory / "crash.txt", "".join(traceback.format_exception(error)))
        result.save(directory)
    return result


def late_start_reason(legs: Sequence[Leg], plan: PathPlan | None, started_s: float) -> str | None:
    """Return what a flow's client started too late for, as a failed run's reason; None: nothing."""
    if started_s <= LATEST_START_S:
        return None
    moments = [moment for leg in legs for moment in leg.moments()]
    moments += [event.at_s for event in plan.events] if plan is not None else []
    last = max((at_s for at_s in moments if at_s <= started_s), default=0.0)
    if last == 0:
        return None
    return (
        f"client started {started_s:.2f} s after time zero, later than the scenario's change at "
        f"{last:g} s: the machine gave it too little processor time"
    )
