"""Checks before a run, the same for both clocks: transports, options, legs, clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from minitopo_dc.fields import Direction, IpVersion, PathPlan, SettingsError
from minitopo_dc.runners.base import Runner, all_runners, get_runner, runner_names
from minitopo_dc.runners.tcp.runner import DCTCP
from minitopo_dc.runs.element_settings import bearers_of, client_legs
from minitopo_dc.runs.needs import cautions, print_once
from minitopo_dc.scenario import (
    Clock,
    Leg,
    RealSettings,
    ResolvedFlow,
    Scenario,
    VirtualSettings,
    check_unseen_legs,
    kernel_rates,
    resolve_scenario,
)
from minitopo_dc.workloads import Download, Realtime, Workload


class TransportLimitError(SettingsError):
    """A transport cannot do what a scenario asks for, anywhere; another one may.

    Where there are other runs, only this one is `unsupported`.
    """


def _transport_obstacle(flows: Sequence[ResolvedFlow], legs: int) -> str | None:
    """Return the first limit of a flow's own transport that the flow exceeds, or None.

    A limit is of the workload, of the path schedule, or of the number of legs.
    """
    for flow in flows:
        runner = get_runner(flow.transport)
        if (reason := runner.workload_obstacle(flow.workload)) is not None:
            return f"{flow.where}workload: {reason}"
        if (reason := _path_obstacle(runner, flow, legs)) is not None:
            return f"{flow.where}{reason}"
    return None


def _check_addresses(flows: Sequence[ResolvedFlow], legs: int) -> None:
    """Refuse flows of a transport from several client addresses if a host can only use one.

    On the virtual clock the flows of such a transport have a host each.
    """
    first: dict[str, tuple[int, tuple[int, ...]]] = {}
    for n, flow in enumerate(flows):
        runner, own = get_runner(flow.transport), client_legs(flow, legs)
        other, same = first.setdefault(runner.name, (n, own))
        if runner.one_client_address and own != same:
            named = "" if same == (1,) else f" with pdcp.legs: [{same[0]}, ...]"
            raise SettingsError(
                f"flows.{n}: transport {runner.name} can use one of the client's addresses only, "
                f"and flows.{other} uses that of leg {same[0]}; allowed: mode sc with "
                f"leg: {same[0]}, dc or dc-duplicate{named}"
            )


def _check_transport(flow: ResolvedFlow, version: IpVersion, where: str) -> None:
    """Refuse a flow's transport where there is none of this name, or its mode is not this one."""
    runner = _known_runner(flow.transport, flow.options, version, where)
    if runner.every_leg and (where or flow.mode != "sc"):
        raise SettingsError(
            f"{where}mode {flow.mode}: transport {runner.name} allows sc (it uses every leg), and "
            "no flows beside it"
        )
    if where and runner.foreign:
        raise SettingsError(
            f"{where}transport: the programs of {runner.name} choose their ports themselves; "
            f"allowed: a scenario of its own, with mode {' or '.join(runner.modes())}"
        )
    if flow.mode not in runner.modes():
        allowed = ", ".join(runner.modes()) + ("" if runner.multipath or where else ", flows")
        raise SettingsError(f"{where}mode {flow.mode}: transport {runner.name} allows {allowed}")
    if where and runner.multipath and not runner.checks_paths:
        # Beside other flows the legs' counters do not show whether this one used them.
        able = _names(lambda other: other.checks_paths)
        raise SettingsError(
            f"{where}transport: {runner.name} does not tell what each of its paths carried; "
            f"allowed with mode multipath: {able}"
        )


def _path_obstacle(runner: Runner, flow: ResolvedFlow, legs: int) -> str | None:
    if flow.paths is None or not flow.has_several_paths:
        return _start_obstacle(runner, flow.paths)
    if not flow.paths.is_default(legs) and not runner.takes_paths:
        able = _names(lambda other: other.takes_paths)
        return (
            f"paths: transport {runner.name} has a path on every leg from the beginning to the "
            f"end; with a schedule allowed: {able}"
        )
    if (reason := _start_obstacle(runner, flow.paths)) is not None:
        return reason
    if not runner.takes_paths and legs < 2:
        return f"mode multipath: transport {runner.name} needs at least two legs"
    used = len(flow.paths.legs)
    if used > (runner.path_limit or used):
        return (
            f"paths: on {used} legs; transport {runner.name} allows {runner.path_limit} at most: "
            "leave legs out of the schedule"
        )
    return None


def _start_obstacle(runner: Runner, plan: PathPlan | None) -> str | None:
    if plan is None:
        return None
    for field in plan.start_fields:
        if field not in runner.start_fields:
            able = ", ".join(other.name for other in all_runners() if field in other.start_fields)
            return f"paths.{field}: transport {runner.name} has no such start; allowed: {able}"
    if plan.attempts and plan.events and runner.paths_of_host:
        # It would not be known which leg's subflow is the initial one.
        return f"paths.attempt_delay_ms: transport {runner.name} has no schedule beside it"
    return None


def _check_path_flows(flows: Sequence[ResolvedFlow], legs: int) -> None:
    """Refuse a schedule of the client host's own paths beside another flow that uses them."""
    for n, flow in enumerate(flows):
        runner = get_runner(flow.transport)
        others = [m for m, it in enumerate(flows) if it.transport == flow.transport and m != n]
        scheduled = flow.paths and not flow.paths.is_default(legs)
        if runner.paths_of_host and scheduled and others:
            raise SettingsError(
                f"flows.{n}.paths: the paths of transport {runner.name} are the client host's; "
                f"leave them out, or flows.{others[0]}"
            )


def _check_load(flow: ResolvedFlow, legs: int, where: str) -> None:
    """Refuse a workload that makes no sense here, and a congestion control that nobody has."""
    if (reason := flow.workload.obstacle(legs)) is not None:
        raise SettingsError(f"{where}workload: {reason}")
    known = {name: None for runner in all_runners() for name in runner.congestion_controls}
    if flow.congestion_control not in known:
        words = f"{flow.congestion_control}; allowed: {', '.join(known)}"
        raise SettingsError(f"{where}congestion_control: {words}")


def _check_dctcp(clock: Clock, sysctl: Mapping[str, str], where: str) -> None:
    """Refuse DCTCP without both kernels, and ECN between them (RFC 8257, sections 3.2, 3.4)."""
    needed = {"net.ipv4.tcp_ecn": "1", "net.ipv4.tcp_congestion_control": DCTCP}
    if not needed.items() <= sysctl.items():
        shown = ", ".join(f"{name}: {value}" for name, value in needed.items())
        raise SettingsError(
            f"{where}congestion_control: {DCTCP} needs both ends: {clock}: {{sysctl: {{{shown}}}}}"
        )


def _names(is_able: Callable[[Runner], bool]) -> str:
    return ", ".join(runner.name for runner in all_runners() if is_able(runner))


def _known_runner(
    transport: str, options: Mapping[str, Any], version: IpVersion, where: str
) -> Runner:
    if transport == "ping":
        raise SettingsError(
            f"{where}transport: ping is a workload: write transport: icmp, workload: ping"
        )
    if transport not in runner_names():
        known = ", ".join(runner_names())
        raise SettingsError(f"{where}transport: {transport}; allowed: {known}")
    runner = get_runner(transport)
    try:
        runner.check_options(options, version)
    except SettingsError as error:
        raise SettingsError(f"{where}options: {error}") from None
    return runner


def check_real(scenario: Scenario) -> None:
    """Refuse what legs of the real clock, or of the kernel, cannot be or do.

    Raises:
        SettingsError: the message names the fields.
        TraceError: a trace of a leg of the kernel's is wrong.
    """
    if scenario.real.backend != "kernel":
        return
    if "legs" in scenario.real.capture:
        raise SettingsError(
            "real.capture: legs needs backend: user; the element does not see the kernel's legs"
        )
    for where, radio in scenario.directions():
        try:
            kernel_rates(radio)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None
    flows, legs = scenario.resolved_flows, len(scenario.legs)
    for direction in get_args(Direction):
        for _, bearer in bearers_of(flows, direction, scenario.ip_version, legs):
            try:
                check_unseen_legs(bearer["pdcp"], len(bearer["legs"]), of_kernel=True)
            except SettingsError as error:
                where = "" if direction == "downlink" else "uplink: "
                raise SettingsError(f"{where}{error}") from None


def _check_virtual(
    virtual: VirtualSettings, real: RealSettings, flows: Sequence[ResolvedFlow], legs: Sequence[Leg]
) -> None:
    """Refuse a network that only the real clock has, and what guests cannot do."""
    if real.backhaul:
        raise SettingsError("real.backhaul: needs clock: real; the virtual clock: server_delay_ms")
    if virtual.sysctl and not has_guest(flows):
        able = _names(lambda runner: bool(runner.guest()))
        raise SettingsError(f"virtual.sysctl: needs a transport with a kernel: {able}")
    if virtual.earlier_downloads:
        _check_earlier_downloads(flows, legs)


def _check_proxy(flow: ResolvedFlow, clock: Clock, version: IpVersion) -> None:
    """Refuse what cannot connect to a proxy on the UPF, or what the proxy does not carry."""
    tunnel = [name for name in flow.options if name.startswith("tunnel_")]
    if tunnel and not flow.proxied:
        raise SettingsError(f"options.{tunnel[0]}: needs mode: atsss")
    where = f"mode atsss: transport {flow.transport} ends at a proxy on gnb"
    runner = get_runner(flow.transport)
    if flow.proxied and clock == "real" and not runner.has_real_proxy:
        raise SettingsError(f"{where}, which only the virtual clock has; allowed: virtual")
    refuse = runner.proxy_obstacle
    if flow.proxied and (reason := refuse(flow.workload, flow.options, version)):
        raise SettingsError(f"{where}, {reason}")


def _check_earlier_downloads(flows: Sequence[ResolvedFlow], legs: Sequence[Leg]) -> None:
    """Refuse earlier downloads where they are not carried, or would move what has a time."""
    workload = flows[0].workload
    reason = None
    if [flow.transport for flow in flows] != ["tcp"]:
        reason = "allowed: one flow of transport tcp"
    elif not isinstance(workload, Download) or workload.duration_s is not None:
        reason = "allowed: workload download with size_mb"
    elif any(True for leg in legs for _ in leg.moments()):
        reason = "allowed: legs without changes and outages"
    if reason is not None:
        raise SettingsError(f"virtual.earlier_downloads: {reason}")


def check_scenario(scenario: Scenario) -> None:
    """Find before a run what would refuse it: transport, workload, options, clock, traces.

    What is doubtful of a trace is printed to standard error, once, and what is to be known of the
    scenario (`cautions`).

    Raises:
        SettingsError, TraceError: something is refused; the message says what is allowed.
        TransportLimitError: a transport cannot do what is asked of it.
    """
    resolved = check_fields(scenario)
    resolved.read_traces()
    for _, direction in scenario.directions():
        print_once(direction.trace_doubts())
    print_once(cautions(resolved))


def check_rows(rows: Sequence[Scenario]) -> None:
    """Do the checks of `check_scenario` on runs beside each other: one may be beyond a transport.

    Raises:
        SettingsError, TraceError: something is refused; the message says what is allowed.
        TransportLimitError: not one of them is within its transport's limits.
    """
    limits = []
    for scenario in rows:
        try:
            check_scenario(scenario)
        except TransportLimitError as limit:
            limits.append(limit)
    if limits and len(limits) == len(rows):
        raise limits[0]


def check_fields(scenario: Scenario) -> Scenario:
    """Return the scenario that is run, after the checks of `check_scenario` but those of traces.

    Several scenarios may share traces. They are read only where a handover rule needs them.

    Raises:
        SettingsError, TraceError: something is refused; the message says what is allowed.
        TransportLimitError: a transport cannot do what is asked of it, and all else is right.
    """
    scenario = resolve_scenario(scenario)
    version, legs, flows = scenario.ip_version, len(scenario.legs), scenario.resolved_flows
    _known_runner(scenario.transport, scenario.options, version, "")
    for flow in flows:
        _check_transport(flow, version, flow.where)
        _check_load(flow, legs, flow.where)
        if flow.congestion_control == DCTCP:
            _check_dctcp(scenario.clock, getattr(scenario, scenario.clock).sysctl, flow.where)
        _check_proxy(flow, scenario.clock, version)
    if scenario.flows:
        if scenario.clock == "real":
            _check_addresses(flows, legs)
        _check_path_flows(flows, legs)
    if scenario.clock == "virtual":
        _check_virtual(scenario.virtual, scenario.real, flows, scenario.legs)
    else:
        check_real(scenario)
    limit = _transport_obstacle(flows, legs)
    if limit is not None:
        raise TransportLimitError(limit)
    return scenario


def has_guest(flows: Sequence[ResolvedFlow]) -> bool:
    """Return whether a flow's hosts are in a guest on the virtual clock."""
    return any(get_runner(flow.transport).guest() for flow in flows)


def obstacle_here(scenario: Scenario) -> str | None:
    """Return why the first transport that cannot run on this clock here cannot, or None."""
    flows, is_virtual = scenario.resolved_flows, scenario.clock == "virtual"
    limit = _transport_obstacle(flows, len(scenario.legs))
    if limit is not None:
        return limit
    for flow in flows:
        runner = get_runner(flow.transport)
        if is_virtual and not runner.has_virtual:
            able = _names(lambda other: other.has_virtual)
            return (
                f"transport {runner.name} needs the real clock (Linux, root, Mininet); "
                f"the virtual clock has {able}"
            )
        if is_virtual:
            reason = runner.virtual_obstacle(flow.congestion_control, flow.workload)
        else:
            reason = runner.run_obstacle(flow.congestion_control)
        reason = reason or runner.options_obstacle(flow.options, virtual=is_virtual)
        reason = reason or runner.program_obstacle(flow.workload)
        reason = reason or _second_connection_obstacle(runner, flow.workload)
        if reason is not None:
            return reason
    return None


def _second_connection_obstacle(runner: Runner, workload: Workload) -> str | None:
    """Return why key frames cannot have a connection and a code point of their own, or None."""
    marked = isinstance(workload, Realtime) and workload.key_frame_dscp is not None
    if not marked or runner.marks_key_frames:
        return None
    able = _names(lambda other: other.marks_key_frames)
    return (
        f"key_frame_dscp: transport {runner.name} has one connection for all frames of a "
        f"call, and its packets do not tell which are key frames; a second one has {able}"
    )
