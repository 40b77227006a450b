"""From a run to its result, the same for both clocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import IpVersion
from minitopo_dc.capacity import available_bits
from minitopo_dc.metrics import capacity_share, goodput_mbps, jain_index
from minitopo_dc.plan import client_legs
from minitopo_dc.results import RunResult, flow_windows
from minitopo_dc.scenario import Clock, ResolvedFlow, Scenario
from minitopo_dc.settings import LegSettings, SettingsError, kernel_rates
from runners.base import Measurement, Runner, get_runner, runner_names
from runners.options import OptionError

MINIMUM_PATH_BYTES = 15_000
"""A path that carried less than ten full packets carried a handshake, not data."""


def chosen_runners(scenario: Scenario) -> tuple[Runner, ...]:
    """The transport of each flow (`resolved_flows`), which has its mode and knows its options.

    Raises:
        SettingsError: it does not, or there is no such transport; with what is allowed.
    """
    version = scenario.ip_version
    _known_runner(scenario.transport, scenario.options, version, "")
    flows = scenario.resolved_flows
    if not scenario.flows:
        return tuple(_runner_of(flow, version, "", ", flows") for flow in flows)
    runners = tuple(_runner_of(flow, version, f"flows.{n}.") for n, flow in enumerate(flows))
    _check_addresses(scenario, runners)
    return runners


def _check_addresses(scenario: Scenario, runners: Sequence[Runner]) -> None:
    """Refuse flows of a transport from several client addresses that can only have one."""
    first: dict[str, tuple[int, tuple[int, ...]]] = {}
    for n, (runner, flow) in enumerate(zip(runners, scenario.resolved_flows, strict=True)):
        legs = client_legs(scenario, flow)
        other, same = first.setdefault(runner.name, (n, legs))
        if runner.one_client_address and legs != same:
            split = ", dc or dc-duplicate" if same == (1,) else ""
            raise SettingsError(
                f"flows.{n}: transport {runner.name} can use one of the client's addresses only, "
                f"and flows.{other} uses that of leg {same[0]}; allowed: mode sc with "
                f"leg: {same[0]}{split}"
            )


def _runner_of(flow: ResolvedFlow, version: IpVersion, where: str, more: str = "") -> Runner:
    runner = _known_runner(flow.transport, flow.options, version, where)
    if runner.multipath != (flow.mode == "multipath"):
        allowed = "multipath" if runner.multipath else f"sc, dc, dc-duplicate{more}"
        raise SettingsError(f"{where}mode {flow.mode}: transport {runner.name} allows {allowed}")
    if where and runner.multipath and not runner.checks_paths:
        # Beside other flows the legs' counters do not show whether this one used them.
        able = ", ".join(each.name for each in _runners() if each.checks_paths)
        raise SettingsError(
            f"{where}transport: {runner.name} does not tell what each of its paths carried; "
            f"allowed with mode multipath: {able}"
        )
    return runner


def _known_runner(
    transport: str, options: Mapping[str, Any], version: IpVersion, where: str
) -> Runner:
    if transport not in runner_names():
        known = ", ".join(runner_names())
        raise SettingsError(f"{where}transport: {transport}; allowed: {known}")
    runner = get_runner(transport)
    try:
        runner.check_options(options, version)
    except OptionError as error:
        raise SettingsError(f"{where}options: {error}") from None
    return runner


def _runners() -> list[Runner]:
    return [get_runner(name) for name in runner_names()]


def check_real(scenario: Scenario) -> None:
    """Refuse what only the virtual clock does, and what legs of the kernel cannot be.

    Raises:
        SettingsError: naming the fields.
        TraceError: a trace of a leg of the kernel's is wrong.
    """
    if scenario.virtual != type(scenario.virtual)():
        raise SettingsError("virtual: needs clock: virtual; the real clock has no such")
    if scenario.duration_s is not None:
        able = [runner.name for runner in _runners() if runner.takes_duration]
        for flow in scenario.resolved_flows:
            if flow.transport not in able:
                raise SettingsError(
                    f"duration_s: the client of transport {flow.transport} stops at the download's "
                    f"end only; allowed: {', '.join(able)}"
                )
    if scenario.backend == "kernel":
        _check_kernel_legs(scenario)


def _check_kernel_legs(scenario: Scenario) -> None:
    if "legs" in scenario.capture:
        raise SettingsError("capture: legs needs backend: user; the kernel's legs are not seen")
    for where, radio in _radios(scenario):
        try:
            kernel_rates(radio)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None


def _radios(scenario: Scenario) -> Iterator[tuple[str, LegSettings]]:
    """Each direction of each link, with its place in the scenario."""
    for name, links in (("legs", scenario.legs), ("backhaul", scenario.backhaul)):
        for number, link in enumerate(links):
            yield f"{name}.{number}.downlink", link.downlink
            yield f"{name}.{number}.uplink", link.uplink


def check_virtual(scenario: Scenario) -> None:
    """Refuse what only the real clock does so far.

    Raises:
        SettingsError: naming the fields.
    """
    names = ("backhaul", "sysctl", "capture")
    wanted = {name: getattr(scenario, name) for name in names}
    wanted["backend: kernel"] = scenario.backend == "kernel"
    given = [name for name, value in wanted.items() if value]
    if given:
        raise SettingsError(f"{', '.join(given)}: needs clock: real; the virtual clock has no such")


def blank_result(scenario: Scenario, directory: Path, clock: Clock) -> RunResult:
    """A failed run, to be completed; its size is what was asked for, 0 where that is a duration."""
    asked = scenario.size_bytes * len(scenario.resolved_flows)
    return RunResult(
        transport=scenario.transport,
        mode=scenario.mode,
        status="failed",
        reason="",
        seed=scenario.seed,
        size_bytes=asked if scenario.duration_s is None else 0,
        congestion_control=scenario.congestion_control,
        clock=clock,
        directory=str(directory),
    )


def why_unsupported(scenario: Scenario, runners: Sequence[Runner]) -> str | None:
    """What the first transport that cannot run here lacks; None when all can."""
    for runner, flow in zip(runners, scenario.resolved_flows, strict=True):
        reason = runner.unsupported(flow.congestion_control)
        if reason is not None:
            return reason
    return None


def judge(
    blank: RunResult,
    scenario: Scenario,
    measurements: Sequence[Measurement],
    leg_bytes: list[int],
) -> RunResult:
    """The result of transfers that succeeded: failed when a multipath one left a path unused."""
    if scenario.mode == "multipath" and min(leg_bytes) < MINIMUM_PATH_BYTES:
        return replace(
            blank, reason=f"a leg carried no data: bytes per leg {leg_bytes}", leg_bytes=leg_bytes
        )
    for number, flow in enumerate(scenario.flows):
        paths = _path_bytes(measurements[number]) if flow.mode == "multipath" else [inf]
        if min(paths) < MINIMUM_PATH_BYTES:
            reason = f"flow-{number + 1}: a path carried no data: bytes per path {paths}"
            return replace(blank, reason=reason)
    return ok_result(blank, scenario, measurements, leg_bytes)


def _path_bytes(measurement: Measurement) -> list[int]:
    """Bytes sent to each address of an MPTCP client, whose every address had some."""
    carried: dict[str, int] = {}
    for subflow in measurement.details["subflows"]:
        carried[subflow["remote"]] = carried.get(subflow["remote"], 0) + subflow["bytes_sent"]
    return list(carried.values())


def ok_result(
    blank: RunResult,
    scenario: Scenario,
    measurements: Sequence[Measurement],
    leg_bytes: list[int],
) -> RunResult:
    """A run in which every flow received what was asked for.

    Over all flows: their bytes together, in the time of the longest one. The legs' capacity counts
    from the first client's start of connecting to the last one's end.
    """
    size_bytes = sum(each.bytes_received for each in measurements)
    seconds = max(each.completion_s for each in measurements)
    details = _per_flow(scenario, measurements) if scenario.flows else measurements[0].details
    starts, ends = zip(*flow_windows(details, seconds), strict=True)
    available = sum(available_bits(scenario, min(starts), max(ends)))
    return replace(
        blank,
        status="ok",
        size_bytes=size_bytes,
        goodput_mbps=goodput_mbps(size_bytes, seconds),
        completion_s=seconds,
        leg_bytes=leg_bytes,
        capacity_share=capacity_share(size_bytes, available),
        details=dict(details),
    )


def _per_flow(scenario: Scenario, measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Each flow's own goodput over its own time, and Jain's index of them."""
    flows = [
        {
            **each.details,
            "mode": flow.mode,
            "leg": flow.leg,
            "transport": flow.transport,
            "congestion_control": flow.congestion_control,
            "bytes_received": each.bytes_received,
            "completion_s": each.completion_s,
            "goodput_mbps": goodput_mbps(each.bytes_received, each.completion_s),
        }
        for flow, each in zip(scenario.resolved_flows, measurements, strict=True)
    ]
    return {"flows": flows, "jain_index": jain_index([flow["goodput_mbps"] for flow in flows])}
