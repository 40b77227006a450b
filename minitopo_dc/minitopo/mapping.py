"""From a topology file and an experiment file to a scenario, the one description of a run.

A ``c2r`` path is a leg: client - ue = legs = gnb - server. An ``r2s`` path is a backhaul link
between gnb and the server, which has one address a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitopo_dc.minitopo.experiment import (
    CAPTURES,
    PING,
    SYSCTLS,
    WEB,
    Experiment,
    read_experiment,
)
from minitopo_dc.minitopo.lines import Line, ParameterError
from minitopo_dc.minitopo.topology import Topology, read_topology
from minitopo_dc.minitopo.values import word
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from runners.base import get_runner, runner_names


@dataclass(frozen=True, slots=True)
class MinitopoRun:
    """A run as two Minitopo files describe it."""

    scenario: Scenario
    notes: tuple[str, ...]
    """What the files say and this run ignores: a line each, with file and line."""


def experiment_types() -> tuple[str, ...]:
    """The experiment types that can be run: Minitopo's own, then the names of the runners."""
    return (PING, *WEB, *runner_names())


def read_minitopo(topology_file: Path, experiment_file: Path) -> MinitopoRun:
    """Read and check both files.

    Raises:
        ParameterError: naming file and line of the first mistake, and what is allowed there.
    """
    topology = read_topology(topology_file)
    experiment = read_experiment(experiment_file, experiment_types())
    transport = _transport(topology, experiment)
    mode = _mode(topology, experiment, transport)
    _check_transports(experiment, transport)
    values = {
        "transport": transport,
        "mode": mode,
        "legs": [path.leg() for path in topology.c2r],
        "backhaul": [path.leg() for path in topology.r2s],
        **topology.bearer,
        "size_mb": experiment.size_bytes / 1e6,
        "congestion_control": experiment.congestion_control,
        "seed": topology.seed,
        "sysctl": experiment.sysctl,
        "capture": experiment.captures,
        "options": _options(experiment, transport),
        "duration_s": experiment.duration_s,
        **_clock(topology, experiment, transport),
        **_flows(topology, experiment),
    }
    if experiment.timeout_s is not None:
        values["timeout_s"] = experiment.timeout_s
    try:
        scenario = Scenario.check(values, f"{topology_file}, {experiment_file}")
    except SettingsError as error:
        raise ParameterError(str(error)) from None
    notes = (*topology.notes, *experiment.notes, *_notes(topology, experiment, scenario))
    return MinitopoRun(scenario, notes)


def _options(experiment: Experiment, transport: str) -> dict[str, Any]:
    if transport != PING:
        return {}
    return {"count": experiment.ping_count, "interval_s": experiment.ping_interval_s}


def _transport(topology: Topology, experiment: Experiment) -> str:
    kind = experiment.type.value
    if kind in WEB:
        return _web(topology, experiment)
    if kind == "quic" and experiment.quic_multipath:
        return "mpquic"
    return kind


def _web(topology: Topology, experiment: Experiment) -> str:
    """Minitopo's download is MPTCP unless the file says otherwise, and TCP where one path is all.

    Over Dual Connectivity it is TCP: the paths are joined below it.
    """
    if topology.dual_connectivity:
        line = experiment.source.one("mptcpEnabled")
        if line is not None and experiment.mptcp:
            raise line.error("Dual Connectivity has one path for MPTCP; use topoType:MultiIf")
        return "tcp"
    return "tcp" if experiment.mptcp is False or len(topology.c2r) < 2 else "mptcp"


def _mode(topology: Topology, experiment: Experiment, transport: str) -> str:
    line = experiment.type
    if transport != PING and get_runner(transport).multipath:
        if topology.dual_connectivity:
            raise line.error(f"{transport} needs several paths; use topoType:MultiIf")
        if len(topology.c2r) < 2:
            raise line.error(f"{transport} needs path_c2r_0 and path_c2r_1 in {topology.file}")
        _no_backup(topology)
        return "multipath"
    if experiment.flows:
        return "flows"
    if not topology.dual_connectivity or transport == PING:
        return "sc"
    return "dc-duplicate" if topology.duplicates else "dc"


def _check_transports(experiment: Experiment, transport: str) -> None:
    """That each flow has one path for its transport, and that each client can stop in time."""
    duration = experiment.source.one("duration")
    if transport == PING:
        for key in ("flow", "duration"):
            for line in experiment.source.all(key):
                raise line.error("only downloads have it, not ping")
        return
    one_path = [name for name in runner_names() if not get_runner(name).multipath]
    for flow in experiment.flows:
        if flow.transport is not None:
            word(flow.line, flow.transport, "transport", one_path)
    for name in [flow.transport or transport for flow in experiment.flows] or [transport]:
        if duration is not None and not get_runner(name).takes_duration:
            able = [name for name in runner_names() if get_runner(name).takes_duration]
            raise duration.error(
                f"the client of {name} stops at the download's end only; allowed: {', '.join(able)}"
            )


def _no_backup(topology: Topology) -> None:
    for path in topology.c2r:
        if path.backup:
            raise path.line.error("no backup paths here; write backup 0, or leave the path out")


def _clock(topology: Topology, experiment: Experiment, transport: str) -> dict[str, Any]:
    if experiment.clock is None:
        return {}
    if experiment.clock == "virtual":
        line = experiment.source.one("clock")
        assert line is not None
        if transport != "quic":
            raise line.error(f"the virtual clock runs quic only, not {transport}")
        for flow in experiment.flows:
            if flow.transport not in (None, "quic"):
                raise flow.line.error(f"the virtual clock runs quic only, not {flow.transport}")
        if topology.r2s:
            raise topology.r2s[0].line.error("the virtual clock has no r2s paths; use clock:real")
        for key in (
            *SYSCTLS,
            *(key for key, host in CAPTURES.items() if host in experiment.captures),
        ):
            if (other := experiment.source.one(key)) is not None:
                raise other.error("the virtual clock has no kernel; use clock:real")
    return {"clock": experiment.clock}


def _flows(topology: Topology, experiment: Experiment) -> dict[str, Any]:
    """Several downloads at once, each with a bearer of its own."""
    if not experiment.flows:
        return {}
    first = experiment.flows[0].line
    if not topology.dual_connectivity:
        raise first.error("flows need topoType:DualConnectivity")
    for flow in experiment.flows:
        if flow.path >= len(topology.c2r):
            raise flow.line.error(f"there is no path_c2r_{flow.path} in {topology.file}")
        if flow.mode == "dc" and topology.duplicates:
            raise flow.line.error(f"{topology.file} has split:duplicate; write dc-duplicate")
    flows = [
        {"mode": flow.mode, "leg": flow.path + 1, "transport": flow.transport}
        for flow in experiment.flows
    ]
    return {"flows": flows}


def _notes(topology: Topology, experiment: Experiment, scenario: Scenario) -> Iterator[str]:
    """What only both files together show to change nothing."""
    given: dict[str, Line] = {line.key: line for line in experiment.source.lines}
    if scenario.transport != PING:
        for path in topology.r2s[1:]:
            yield path.line.says(
                "carries nothing: transfers use the server's address on path_r2s_0"
            )
        for key in ("pingCount", "pingInterval"):
            if key in given:
                yield given[key].says("ignored: only xpType:ping pings")
    if scenario.duration_s is not None and "file_size" in given:
        yield given["file_size"].says("ignored: duration says when a download ends")
    if not {flow.transport for flow in scenario.resolved_flows} & {"tcp", "mptcp"}:
        for key in SYSCTLS:
            if key in given:
                yield given[key].says(
                    f"no effect: a setting of TCP, and this is {scenario.transport}"
                )
    for path in (*topology.c2r, *topology.r2s):
        if path.backup:
            yield path.line.says("backup ignored: the transport uses one path, or all alike")
    if topology.type.value == "MultiIfMultiClient":
        yield topology.type.says("the further clients send nothing here, and are left out")
