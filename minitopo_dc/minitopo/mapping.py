"""The step from a topology file and an experiment file to a scenario, which describes a run.

A `c2r` path is a leg: client - ue = legs = gnb - server. An `r2s` path is a backhaul link between
gnb and the server, which has one address per link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitopo_dc.fields import PathSchedule, SettingsError
from minitopo_dc.minitopo.experiment import (
    CAPTURES,
    DEFAULT_CONGESTION_CONTROL,
    FILE_KEYS,
    FLOW,
    IGNORED,
    IPERF,
    IPERF_PARALLEL,
    IPERF_TIME,
    NONE,
    PATHS,
    PING,
    READERS,
    REQUEST_RESPONSE,
    RUN_TIME,
    SYSCTLS,
    WEB,
    Experiment,
    read_experiment,
)
from minitopo_dc.minitopo.lines import Line, word
from minitopo_dc.minitopo.topology import Topology, read_topology
from minitopo_dc.runners.base import all_runners, get_runner, runner_names
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Download

OF_KERNEL = {"tcp", "mptcp", "command"}
"""The transports on which settings of the kernel's TCP have an effect."""
OWN_KEYS = {
    **{"pingCount": [PING], "pingInterval": [PING]},
    RUN_TIME: [REQUEST_RESPONSE],
    **{IPERF_TIME: [IPERF], IPERF_PARALLEL: [IPERF]},
    "quicMultipath": ["quic", REQUEST_RESPONSE],
    "mptcpEnabled": [*WEB, IPERF],
}
"""Keys that only some experiment types have."""
OF_TRANSFERS = {*READERS, FLOW} - {*IGNORED, *SYSCTLS, *CAPTURES, "xpType", "desc"}


@dataclass(frozen=True, slots=True)
class MinitopoRun:
    """A run as two Minitopo files describe it."""

    scenario: Scenario
    notes: tuple[str, ...]
    """Notes on lines of the files that this run ignores, each with file and line."""
    interactive: bool = False
    """Whether there is no transfer: Mininet's command line is opened (`paths_scenario`)."""


def experiment_types() -> tuple[str, ...]:
    """Return the experiment types that can be run: Minitopo's own, then the runners' names."""
    return (NONE, PING, *WEB, IPERF, REQUEST_RESPONSE, *runner_names())


def read_minitopo(
    topology_file: Path, experiment_file: Path | None = None, *, testbed_hosts: bool = True
) -> MinitopoRun:
    """Read and check both files; without an experiment (or with `none`), the paths alone.

    Args:
        topology_file: the topology; its addresses and further clients are named as ignored.
        experiment_file: the experiment, if there is one.
        testbed_hosts: whether the topology is made of this project's hosts; a topology of the
            checkout uses what its file says of addresses and clients.

    Raises:
        SettingsError: names file and line of the first mistake, and says what is allowed there.
    """
    topology = read_topology(topology_file)
    seen = topology.notes + (topology.ignored if testbed_hosts else ())
    if experiment_file is None:
        notes = (*seen, *_without_transfer(topology))
        return MinitopoRun(paths_scenario(topology), notes, interactive=True)
    experiment = read_experiment(experiment_file, experiment_types())
    if experiment.type.value == NONE:
        scenario = paths_scenario(topology, experiment=experiment)
        unused = _without_transfer(topology, experiment.source.lines)
        notes = (*seen, *experiment.notes, *unused)
        return MinitopoRun(scenario, notes, interactive=True)
    scenario = _transfer(topology, experiment)
    notes = (*seen, *experiment.notes, *_notes(topology, experiment, scenario))
    return MinitopoRun(scenario, notes)


def paths_scenario(
    topology: Topology, transport: str | None = None, experiment: Experiment | None = None
) -> Scenario:
    """Return a topology's paths as a scenario, for what sends over them by itself.

    Args:
        topology: the topology read from its file.
        transport: what sends; None: a transport that the mode allows stands for it.
        experiment: tells more of the end hosts.
    """
    mode, stand_in = "dc-duplicate" if topology.duplicates else "dc", "tcp"
    if not topology.dual_connectivity:
        several = len(topology.c2r) > 1
        mode, stand_in = ("multipath", "mptcp") if several else ("sc", "tcp")
    fields = {"transport": transport or stand_in, "mode": mode}
    ends = {} if experiment is None else experiment.ends
    return _scenario(topology, fields, {"real": ends}, str(topology.file))


def _scenario(
    topology: Topology, fields: dict[str, Any], ends: dict[str, dict[str, Any]], source: str
) -> Scenario:
    """Return a scenario over a topology's paths; `ends` has the end hosts' fields by clock."""
    values = {
        "legs": [path.leg() for path in topology.c2r],
        "seed": topology.seed,
        **topology.bearer,
        **fields,
        **ends,
        "real": {"backhaul": [path.leg() for path in topology.r2s], **ends.get("real", {})},
    }
    return Scenario.check(values, source)


def _transfer(topology: Topology, experiment: Experiment) -> Scenario:
    transport = _transport(topology, experiment)
    mode = _mode(topology, experiment, transport)
    _check_transports(experiment, transport)
    clock = _clock(topology, experiment, transport)
    ends = experiment.ends
    if not OF_KERNEL.intersection(name for _, name in _transports(experiment, transport)):
        ends["sysctl"] = {}
    fields = {
        "transport": transport,
        "mode": mode,
        "workload": experiment.workload,
        "paths": _paths(topology, experiment, mode, transport),
        "congestion_control": experiment.values.get("congctrl", DEFAULT_CONGESTION_CONTROL),
        "clock": clock,
        "flows": _flows(topology, experiment),
    }
    if "timeout" in experiment.values:
        fields["timeout_s"] = experiment.values["timeout"]
    source = f"{topology.file}, {experiment.source.path}"
    return _scenario(topology, fields, {clock: ends}, source)


def _transports(experiment: Experiment, transport: str) -> list[tuple[Line, str]]:
    """Return the transport of each flow with its line, or that of the experiment."""
    of_flows = [(flow.line, flow.transport or transport) for flow in experiment.flows]
    return of_flows or [(experiment.type, transport)]


def _transport(topology: Topology, experiment: Experiment) -> str:
    kind = experiment.type.value
    if kind == PING:
        return "icmp"
    if kind in (*WEB, IPERF):
        return _tcp_or_mptcp(topology, experiment)
    if kind in ("quic", REQUEST_RESPONSE):
        return "mpquic-picoquic" if experiment.values.get("quicMultipath") else "quic"
    return kind


def _tcp_or_mptcp(topology: Topology, experiment: Experiment) -> str:
    """Return what Minitopo's TCP is: MPTCP with several paths, unless the file says otherwise.

    Over Dual Connectivity it is TCP, as the paths are joined below it.
    """
    enabled = experiment.values.get("mptcpEnabled")
    if topology.dual_connectivity:
        if enabled and (line := experiment.source.one("mptcpEnabled")):
            raise line.error("Dual Connectivity has one path for MPTCP; use topoType:MultiIf")
        return "tcp"
    return "tcp" if enabled is False or len(topology.c2r) < 2 else "mptcp"


def _mode(topology: Topology, experiment: Experiment, transport: str) -> str:
    line = experiment.type
    if get_runner(transport).multipath:
        if topology.dual_connectivity:
            raise line.error(f"{transport} needs several paths; use topoType:MultiIf")
        if len(topology.c2r) < 2:
            raise line.error(f"{transport} needs path_c2r_0 and path_c2r_1 in {topology.file}")
        for path in topology.c2r:
            if path.backup:
                words = f"no backup paths here; write backup 0, and pathAt_c2r_{path.id}:0,backup"
                raise path.line.error(words)
        return "multipath"
    if experiment.flows:
        return "flows"
    if not topology.dual_connectivity or get_runner(transport).every_leg:
        return "sc"
    return "dc-duplicate" if topology.duplicates else "dc"


def _check_transports(experiment: Experiment, transport: str) -> None:
    source, workload = experiment.source, experiment.workload
    if not isinstance(workload, Download) and (lines := source.all(FLOW, "duration")):
        raise lines[0].error(f"only downloads have it, not {experiment.type.value}")
    one_path = [
        runner.name for runner in all_runners() if not runner.multipath and not runner.every_leg
    ]
    for flow in experiment.flows:
        if flow.transport is not None:
            word(*one_path)(flow.line, flow.transport, "transport ")
    for _, name in _transports(experiment, transport):
        reason = get_runner(name).workload_obstacle(workload)
        if reason is not None:
            raise (source.one("duration") or experiment.type).error(reason)


def _paths(
    topology: Topology, experiment: Experiment, mode: str, transport: str
) -> PathSchedule | None:
    given = experiment.source.one(PATHS)
    schedule: PathSchedule | None
    if topology.path_lines is None:
        line, schedule = given, experiment.values.get(PATHS)
    else:
        line, schedule = topology.path_lines
        if given is not None:
            raise given.error(f"{topology.file} has a schedule ({line.key}); allowed: one of both")
    if line is None or schedule is None:
        return None
    able = ", ".join(runner.name for runner in all_runners() if runner.takes_paths)
    if mode != "multipath":
        raise line.error(f"mode {mode} has no paths to schedule; allowed: xpType {able}")
    legs = len(topology.c2r)
    try:
        whole = schedule.plan(legs).is_default(legs)
    except SettingsError as error:
        raise line.error(f"{error} (leg 1 is path_c2r_0)") from None
    if not whole and not get_runner(transport).takes_paths:
        raise line.error(f"{transport} has every path to the end; allowed: xpType {able}")
    return schedule


def _clock(topology: Topology, experiment: Experiment, transport: str) -> str:
    clock: str = experiment.values.get("clock", "real")
    if clock == "virtual":
        for line, name in _transports(experiment, transport):
            if not get_runner(name).has_virtual:
                able = ", ".join(runner.name for runner in all_runners() if runner.has_virtual)
                place = line if experiment.flows else experiment.source.one("clock") or line
                raise place.error(f"the virtual clock has {able}, not {name}")
        if topology.r2s:
            raise topology.r2s[0].line.error("the virtual clock has no r2s paths; use clock:real")
    return clock


def _flows(topology: Topology, experiment: Experiment) -> list[dict[str, Any]]:
    for flow in experiment.flows:
        if not topology.dual_connectivity:
            raise flow.line.error("flows need topoType:DualConnectivity")
        if flow.path >= len(topology.c2r):
            raise flow.line.error(f"there is no path_c2r_{flow.path} in {topology.file}")
        if flow.mode == "dc" and topology.duplicates:
            raise flow.line.error(f"{topology.file} has split:duplicate; write dc-duplicate")
    return [
        {"mode": flow.mode, "leg": flow.path + 1, "transport": flow.transport}
        for flow in experiment.flows
    ]


def _notes(topology: Topology, experiment: Experiment, scenario: Scenario) -> Iterator[str]:
    """Yield notes on lines that turn out to have no effect when both files are known."""
    given: dict[str, Line] = {line.key: line for line in experiment.source.lines}
    kind = experiment.type.value
    if kind != PING:
        for path in topology.r2s[1:]:
            yield path.line.says("carries nothing: flows use the server's address on path_r2s_0")
    for key, owners in OWN_KEYS.items():
        if key in given and kind not in owners:
            yield given[key].says(f"ignored: only xpType:{' or '.join(owners)} has it")
    if experiment.values.get("mptcpEnabled") and len(topology.c2r) < 2:
        yield given["mptcpEnabled"].says("ignored: MPTCP here needs two c2r paths; this is TCP")
    if "congctrl" in given and not get_runner(scenario.transport).congestion_controls:
        yield given["congctrl"].says(f"ignored: xpType:{kind} has no congestion control")
    without_file = kind in (PING, REQUEST_RESPONSE, IPERF)
    for key in FILE_KEYS if without_file else ():
        if key in given:
            yield given[key].says(f"ignored: xpType:{kind} has no file")
    if "duration" in given and not without_file and "file_size" in given:
        yield given["file_size"].says("ignored: duration says when a download ends")
    if not {flow.transport for flow in scenario.resolved_flows} & OF_KERNEL:
        for key in SYSCTLS:
            if key in given:
                words = f"no effect: a setting of TCP, and this is {scenario.transport}"
                yield given[key].says(words)
    yield from _backups(topology)


def _without_transfer(topology: Topology, experiment: Sequence[Line] = ()) -> Iterator[str]:
    """Yield notes on lines that Mininet's command line makes no use of."""
    for line in experiment:
        if line.key in OF_TRANSFERS:
            yield line.says(f"ignored: xpType:{NONE} transfers nothing")
    if topology.path_lines is not None:
        yield topology.path_lines[0].says("ignored, as all pathAt lines: nothing is transferred")
    yield from _backups(topology)


def _backups(topology: Topology) -> Iterator[str]:
    for path in (*topology.c2r, *topology.r2s):
        if path.backup:
            yield path.line.says("backup ignored: the transport uses one path, or all alike")
