"""A run of one scenario, or of a user's programs, on the virtual clock (real: `real.run`)."""

from __future__ import annotations

import gc
import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from minitopo_dc import linux_guest
from minitopo_dc.errors import InputError
from minitopo_dc.files import write_json
from minitopo_dc.linux_guest.guest import GuestError, boot_obstacle
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.pool import worker_number
from minitopo_dc.results.run_result import DESYNCHRONISED, ENDS, ProgramResult, RunResult
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.guest_programs import ProgramsFlow, Take
from minitopo_dc.runs.check import check_scenario, has_guest
from minitopo_dc.runs.perform import Measured, RunFailedError, RunUnsupportedError, perform
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.virtual.connection import AnyConnection
from minitopo_dc.virtual.core import core_obstacle
from minitopo_dc.virtual.testbed import VirtualTestbed
from minitopo_dc.workloads import Download, Measurement
from minitopo_dc.workloads.command import escaped

PACKAGES = ("minitopo-dc", "aioquic", "cryptography", "pydantic")
version = cache(metadata.version)
"""Returns a package's version, read once a process: what is imported stays as it is."""


def run_virtual(scenario: Scenario, directory: Path) -> RunResult:
    """Run a checked scenario on the virtual clock (`perform`).

    The same scenario always gives the same result.

    Raises:
        OSError: `directory` cannot be written.
    """
    known = facts(scenario.resolved_flows)
    return perform(scenario, directory, facts=known, obstacle=core_obstacle, measure=_measure)


def facts(flows: Sequence[ResolvedFlow]) -> dict[str, Any]:
    """Return what the numbers may depend on: versions, a guest's too, but not the machine."""
    python, packages = platform.python_version(), {name: version(name) for name in PACKAGES}
    known: dict[str, Any] = {"clock": "virtual", "python": python, "packages": packages}
    if has_guest(flows) and linux_guest.find():
        known["linux_guest"] = linux_guest.facts()
    return known


def _measure(scenario: Scenario, directory: Path, details: dict[str, Any]) -> Measured:
    testbed, in_guest = VirtualTestbed(scenario, directory), has_guest(scenario.resolved_flows)
    details["core"] = testbed.core.name
    try:
        with garbage_collection_off(), one_processor() if in_guest else nullcontext():
            testbed.run()
    except GuestError as error:
        # What the scenario asks for may end a guest, too: then another one boots.
        if (reason := boot_obstacle()) is not None:
            raise RunUnsupportedError(reason) from None
        raise RunFailedError(str(error)) from None
    except (PolicyError, InputError) as error:
        raise RunFailedError(str(error)) from None
    measurements = [
        _of_flow(connection, scenario.timeout_s, alone=not scenario.flows)
        for connection in testbed.connections
    ]
    if wrong := testbed.gnb.desynchronised + testbed.ue.desynchronised:
        details[DESYNCHRONISED] = wrong
    elements = {"downlink": testbed.gnb, "uplink": testbed.ue}
    carried = [elements[way].delivered_bytes() for way in scenario.loads]
    return Measured(measurements, [sum(leg) for leg in zip(*carried, strict=True)])


def _of_flow(connection: AnyConnection, timeout_s: float, *, alone: bool) -> Measurement:
    """Return what a flow measured; a failure names the flow where there are several.

    Raises:
        TransferFailed: the flow measured less than was asked for; the message says whether its time
            was over.
    """
    try:
        return connection.measure()
    except TransferFailed as failure:
        words = str(failure)
        workload = connection.workload
        is_cut_off = isinstance(workload, Download) and workload.lasts_s is not None
        if not (connection.has_ended or is_cut_off):
            patience_s = timeout_s + (workload.lasts_s or 0)
            words = f"did not finish within {patience_s:g} s: {words}"
        if not alone:
            words = f"{connection.directory.name}: {words}"
        raise TransferFailed(words) from None


@contextmanager
def one_processor() -> Iterator[None]:
    """Keep this thread, and the processes that it starts, on one processor.

    A guest and this thread take turns, so a second processor gains nothing, and each change of it
    costs: a run takes half of the CPU time (docs/measurements/clocks.md). Processes of a pool have
    one each, as long as there are enough.
    """
    allowed = sorted(os.sched_getaffinity(0))
    number = worker_number()
    chosen = _present_processor() if number is None else allowed[number % len(allowed)]
    os.sched_setaffinity(0, {chosen})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _present_processor() -> int:
    """Return the processor that this process ran on last (proc(5), `stat`, field 39)."""
    fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[36])


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Switch off cyclic garbage collection, which costs 5 % of a run and finds nothing in it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


TIMEOUT_S = 86_400.0
"""Of virtual time: a program that waits for ever ends then, with its run."""


def programs_scenario(
    path: Scenario, command: Sequence[str], server: Sequence[str], server_port: int | None
) -> Scenario:
    """Return the scenario of a program and its server over a path, checked.

    Args:
        path: has legs, mode and PDCP.
        command: of the client.
        server: its command; none: there is no server.
        server_port: what the server binds when it is ready; None: it is after a moment.

    Raises:
        SettingsError, TraceError: the path has what the virtual clock has not.
    """
    workload = {
        "kind": "command",
        "client": [escaped(word) for word in command],
        "server": [escaped(word) for word in server],
        "server_ready": server_port,
    }
    run = {"transport": "command", "timeout_s": TIMEOUT_S}
    values = {**path.on_clock("virtual").model_dump(), **run, "workload": workload}
    made = Scenario.check(values, "exec")
    check_scenario(made)
    return made


def run_programs(
    scenario: Scenario,
    blank: ProgramResult,
    directory: Path,
    take: Take,
    say: Callable[[str], None],
) -> ProgramResult:
    """Run the programs of a scenario (`programs_scenario`).

    Args:
        scenario: of the programs.
        blank: the result so far, which names them.
        directory: gets the elements' files and the server's output.
        take: gets what the client prints, as it does.
        say: gets a line for the user.

    Returns:
        How it went. Failed when the server was not ready, or the guest died or hangs.
    """
    scenario.save(directory / "scenario.yaml")
    write_json(directory / "environment.json", facts(scenario.resolved_flows), synced=False)
    testbed = VirtualTestbed(scenario, directory)
    [connection] = testbed.connections
    flow = connection.ends
    assert isinstance(flow, ProgramsFlow)  # the transport is `command`
    flow.watch(take, say)
    try:
        with garbage_collection_off():
            testbed.run()
    except (PolicyError, InputError, GuestError) as error:
        return replace(blank, reason=str(error))
    finally:
        # Only what `exec` keeps stays, under its names.
        for name in ("client.out", "client.log", "certificate.pem", "key.pem"):
            (directory / name).unlink(missing_ok=True)
        (directory / "server.log").rename(directory / "server.err")
    if flow.error is not None:
        return replace(blank, reason=str(flow.error))
    if flow.seconds is None:
        return replace(blank, reason=f"the program did not end within {TIMEOUT_S:g} s")
    (ended, code), server = flow.ended["client"], flow.ended.get("server")
    summaries = {
        host: json.loads((directory / f"{host}-summary.json").read_text(encoding="utf-8"))
        for host in ENDS["downlink"]
    }
    server_code = None if server is None or server[0] > ended else server[1]
    return blank.ended(summaries, flow.seconds, code, server_code)
