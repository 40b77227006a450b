"""User programs in virtual time (`minitopo_dc.real.run.user_program` on the real clock)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from minitopo_dc.link.cell.scheduler import SchedulerError
from minitopo_dc.linux_guest.guest import GuestError
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.results.program_result import ProgramResult, leg_counts, pdcp_counts
from minitopo_dc.runners.guest_programs import ProgramsFlow, Take
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import facts, garbage_collection_off
from minitopo_dc.virtual.testbed import Testbed
from minitopo_dc.workloads.command import escaped

TIMEOUT_S = 86_400.0
"""Of virtual time: a program that waits for ever ends then, with its run."""
SIGNALLED = 128
"""The exit status of a program that a signal ended, less its number."""


@dataclass(frozen=True, slots=True)
class UserProgram:
    """Holds what is to run, and who is told of it."""

    command: tuple[str, ...]
    server: tuple[str, ...]
    server_port: int | None
    """What the server binds when it is ready; None: it is after a moment."""
    take: Take
    """Gets what the client prints, as it does."""
    say: Callable[[str], None]
    """Gets a line for the user."""

    def scenario(self, path: Scenario) -> Scenario:
        """Return the scenario of these programs over a path, checked.

        Raises:
            SettingsError, TraceError: the path has what the virtual clock has not.
        """
        workload = {
            "kind": "command",
            "client": [escaped(word) for word in self.command],
            "server": [escaped(word) for word in self.server],
            "server_ready": self.server_port,
        }
        run = {"transport": "command", "timeout_s": TIMEOUT_S}
        values = {**path.on_clock("virtual").model_dump(), **run, "workload": workload}
        made = Scenario.check(values, "exec")
        check_scenario(made)
        return made


def run_program(scenario: Scenario, program: UserProgram, directory: Path) -> ProgramResult:
    """Run programs over the path of their scenario.

    Args:
        scenario: `program.scenario` has made it.
        program: what runs.
        directory: gets the elements' files and the server's output.

    Returns:
        How it went. Failed when the server was not ready, or the guest died or hangs.
    """
    scenario.save(directory / "scenario.yaml")
    text = json.dumps(facts(scenario), indent=1)
    (directory / "environment.json").write_text(text, encoding="utf-8")
    testbed = Testbed(scenario, directory)
    [connection] = testbed.connections
    flow = connection.ends
    assert isinstance(flow, ProgramsFlow)  # the transport is `command`
    flow.watch(program.take, program.say)
    blank = ProgramResult(program.command, "client", program.server, scenario.mode)
    try:
        with garbage_collection_off():
            testbed.run()
    except (PolicyError, SchedulerError, GuestError) as error:
        return replace(blank, reason=str(error))
    finally:
        _keep_files(directory)
    if flow.error is not None:
        return replace(blank, reason=str(flow.error))
    if flow.seconds is None:
        return replace(blank, reason=f"the program did not end within {TIMEOUT_S:g} s")
    return _result(blank, flow, flow.seconds, directory)


def _result(
    blank: ProgramResult, flow: ProgramsFlow, seconds: float, directory: Path
) -> ProgramResult:
    (ended, code), server = flow.ended["client"], flow.ended.get("server")
    gnb, ue = (
        json.loads((directory / f"{host}-summary.json").read_text(encoding="utf-8"))
        for host in ("gnb", "ue")
    )
    return replace(
        blank,
        status="ok",
        exit_status=code if code >= 0 else SIGNALLED - code,
        server_exit_code=None if server is None or server[0] > ended else server[1],
        seconds=seconds,
        legs=leg_counts({"downlink": gnb, "uplink": ue}, seconds),
        pdcp=pdcp_counts({"downlink": ue, "uplink": gnb}),
    )


def _keep_files(directory: Path) -> None:
    """Leave the files that `exec` keeps, under its names."""
    for name in ("client.out", "client.log", "certificate.pem", "key.pem"):
        (directory / name).unlink(missing_ok=True)
    (directory / "server.log").rename(directory / "server.err")
