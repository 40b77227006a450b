"""The choice between the real and the virtual clock, and the run of a scenario on its clock.

What is compiled on this machine is built at its first use, so that a notebook just runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

from minitopo_dc import linux_guest
from minitopo_dc.extension.make import BuildError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.linux_guest.build import build_agent
from minitopo_dc.native import library as native
from minitopo_dc.native.library import build as build_native
from minitopo_dc.quic import noq, picoquic
from minitopo_dc.results.judge import crashed
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import check_scenario, has_guest, obstacle_here
from minitopo_dc.scenario import Clock, Core, ResolvedFlow, Scenario

# ruff: noqa: PLC0415
# Each clock is imported when it is used: the virtual one must work without what the real one needs.


def run_scenario(scenario: Scenario, directory: Path) -> RunResult:
    """Check a scenario, then run it on its clock (`runs.perform`).

    Args:
        scenario: what is run.
        directory: new or empty, so that results are never mixed or lost.

    Raises:
        SettingsError, TraceError: the scenario is wrong, its clock cannot run here, or the
            directory holds something.
    """
    check_scenario(scenario)
    require_clock(scenario.clock)
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise SettingsError(f"{quoted(directory)} exists; give a new directory or an empty one")
    return runner_on(scenario.clock)(scenario, directory)


def runner_on(clock: Clock) -> Callable[[Scenario, Path], RunResult]:
    """Return the function that runs on a clock what `check_scenario` has accepted."""
    if clock == "virtual":
        from minitopo_dc.virtual.run import run_virtual

        return run_virtual
    from minitopo_dc.real.run import run_real

    return run_real


def attempt(scenario: Scenario, directory: Path) -> RunResult:
    """Run a checked scenario; an unexpected error fails the run, and no other one."""
    try:
        return runner_on(scenario.clock)(scenario, directory)
    except Exception as error:
        return crashed(scenario, directory, error)


def default_clock() -> Clock:
    """Return the real clock where it can run; else the virtual one, and print why."""
    if (reason := real_clock_obstacle()) is None:
        return "real"
    print(f"minitopo-dc: {reason}: using the virtual clock", file=sys.stderr)  # noqa: T201
    return "virtual"


def run_obstacle(scenario: Scenario) -> str | None:
    """Return what this machine lacks for a checked scenario whose clock can run here, else None.

    A run of a scenario for which there is an obstacle would be `unsupported` with this reason.
    """
    if scenario.clock == "real":
        from minitopo_dc.real.run import machine_obstacle

        reason = machine_obstacle(scenario)
    else:
        from minitopo_dc.virtual.core import core_obstacle

        reason = core_obstacle(scenario)
    reason = reason or obstacle_here(scenario)
    in_guest = scenario.clock == "virtual" and has_guest(scenario.resolved_flows)
    if reason is None and in_guest:
        from minitopo_dc.linux_guest.guest import boot_obstacle

        reason = boot_obstacle()
    return reason


def clean_killed() -> None:
    """Remove the hosts and processes that a killed run on the real clock has left."""
    from minitopo_dc.real.run_registry import clean

    clean()


MAX_JOBS = 1024
"""The most runs at once, each of which is a process: far above any machine's processors."""


def chosen_jobs(jobs: int | None, clock: Clock) -> int:
    """Return how many runs to have at once; None: one per processor that this process may use.

    On the real clock that is one.

    Raises:
        SettingsError: more than one on the real clock, more than `MAX_JOBS`, or none.
    """
    if jobs is None:
        return 1 if clock == "real" else len(os.sched_getaffinity(0))
    if not 1 <= jobs <= MAX_JOBS:
        raise SettingsError(f"--jobs: {jobs}; allowed: 1 to {MAX_JOBS}")
    if clock == "real" and jobs > 1:
        raise SettingsError(
            "--jobs: only 1 on the real clock: runs at once would disturb each other"
        )
    return jobs


def require_clock(clock: Clock) -> None:
    """Refuse a clock that cannot run here.

    Raises:
        SettingsError: the clock cannot run here; the message names what is lacking.
    """
    if clock == "real" and (reason := real_clock_obstacle()) is not None:
        raise SettingsError(f"clock real: {reason}; --clock virtual needs none of this")


def require_real(what: str) -> None:
    """Refuse what only the real clock can do where it cannot run.

    Raises:
        SettingsError: the real clock cannot run here; the message names `what`, and what is
            lacking.
    """
    if (reason := real_clock_obstacle()) is not None:
        raise SettingsError(f"{what} needs the real clock: {reason}")


def real_clock_obstacle() -> str | None:
    """Return what the real clock lacks on this machine, as `check` says it; None: nothing."""
    if sys.platform != "linux":
        return "this is not Linux"
    from minitopo_dc.real.machine import real_obstacle

    return real_obstacle()


Part = tuple[Callable[[], str | None], Callable[[Callable[[str], None]], Path]]
"""A function that says why a part cannot be used, and one that builds it."""
NATIVE, PICOQUIC, NOQ, PROXY = "the native core", "picoquic", "noq", "the MPTCP proxy"
PARTS: dict[str, Part] = {
    NATIVE: (native.obstacle, build_native),
    PICOQUIC: (picoquic.EXTENSION.obstacle, picoquic.build),
    NOQ: (noq.EXTENSION.obstacle, noq.build),
    PROXY: (linux_guest.proxy_obstacle, build_agent),
}


def build_missing(scenarios: Iterable[Scenario]) -> None:
    """Build the native core, picoquic and the proxy where scenarios use them and lack them.

    Each is tried once in this process' life; lines on standard error say what is done. What cannot
    be built is said with what to install, and runs without it are slower, or unsupported.
    """
    used = (
        name
        for it in scenarios
        for name in _used(it.clock, getattr(it, it.clock).core, it.resolved_flows)
    )
    for name in dict.fromkeys(used):
        if PARTS[name][0]() is not None:
            _build_once(name)


def _used(clock: Clock, core: Core, flows: Iterable[ResolvedFlow]) -> Iterator[str]:
    if core != "python" and (clock == "virtual" or _is_damaged(NATIVE)):
        yield NATIVE
    for stack in (PICOQUIC, NOQ):
        if any(flow.transport.endswith(f"-{stack}") for flow in flows):
            yield stack
    if clock == "real" and any(flow.proxied for flow in flows):
        yield PROXY


def _is_damaged(name: str) -> bool:
    return "damaged" in (PARTS[name][0]() or "")


@cache
def _build_once(name: str) -> None:
    say = partial(print, file=sys.stderr, flush=True)
    damaged = _is_damaged(name)
    why = "is damaged: building it anew" if damaged else "is not here yet: building it, once"
    say(f"minitopo-dc: {name} {why}")
    try:
        PARTS[name][1](lambda step: say(f"minitopo-dc: {step}"))
    except BuildError as error:
        slow = "Python computes the same, several times as slowly"
        without = slow if name == NATIVE else "what needs it is unsupported here"
        say(f"minitopo-dc: {name} cannot be built: {error}: {without}")
