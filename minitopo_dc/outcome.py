"""From a run to its result, the same for both clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.capacity import available_bits
from minitopo_dc.metrics import capacity_share, goodput_mbps
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.settings import SettingsError
from runners.base import Runner, get_runner, runner_names
from runners.options import OptionError, parse_options


def chosen_runner(scenario: Scenario) -> Runner:
    """The scenario's transport, which has its mode and knows its options.

    Raises:
        SettingsError: it does not, or there is no such transport; with what is allowed.
    """
    if scenario.transport not in runner_names():
        known = ", ".join(runner_names())
        raise SettingsError(f"transport: {scenario.transport}; allowed: {known}")
    runner = get_runner(scenario.transport)
    try:
        parse_options(runner.options_type, scenario.options, runner.name)
    except OptionError as error:
        raise SettingsError(f"options: {error}") from None
    if runner.multipath != (scenario.mode == "multipath"):
        allowed = "multipath" if runner.multipath else "sc, dc, dc-duplicate, flows"
        raise SettingsError(f"mode {scenario.mode}: transport {runner.name} allows {allowed}")
    return runner


def check_real(scenario: Scenario) -> None:
    """Refuse what only the virtual clock does so far.

    Raises:
        SettingsError: naming the fields.
    """
    wanted = {"flows": scenario.flows, "duration_s": scenario.duration_s}
    wanted["virtual"] = scenario.virtual != type(scenario.virtual)()
    given = [name for name, value in wanted.items() if value]
    if given:
        raise SettingsError(f"{', '.join(given)}: needs clock: virtual; the real clock has no such")


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
    """A failed run, to be completed."""
    return RunResult(
        transport=scenario.transport,
        mode=scenario.mode,
        status="failed",
        reason="",
        seed=scenario.seed,
        size_bytes=scenario.size_bytes,
        congestion_control=scenario.congestion_control,
        clock=clock,
        directory=str(directory),
    )


def ok_result(
    blank: RunResult,
    scenario: Scenario,
    *,
    size_bytes: int,
    seconds: float,
    leg_bytes: list[int],
    details: Mapping[str, Any],
) -> RunResult:
    """A run in which ``size_bytes`` arrived in ``seconds``, all that was asked for."""
    return replace(
        blank,
        status="ok",
        size_bytes=size_bytes,
        goodput_mbps=goodput_mbps(size_bytes, seconds),
        completion_s=seconds,
        leg_bytes=leg_bytes,
        capacity_share=capacity_share(size_bytes, available_bits(scenario, seconds)),
        details=dict(details),
    )
