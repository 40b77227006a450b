"""`minitopo-dc run -t TOPO` alone: Mininet's command line on the topology, as Minitopo has it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minitopo_dc.clocks import require_real
from minitopo_dc.settings import SettingsError

if TYPE_CHECKING:
    from minitopo_dc.scenario import Scenario


def open_command_line(scenario: Scenario, directory: Path) -> int:
    """Read commands from standard input, on running legs.

    Returns:
        0, or 1 when something of the network failed.
    """
    # Not above: the rest of the command line must work without Mininet.
    # ruff: noqa: PLC0415
    from minitopo_dc.emulation.elements import ElementFailedError, stop_all
    from minitopo_dc.emulation.machine import save_facts
    from minitopo_dc.emulation.testbed import testbed

    save_facts(directory)
    scenario.save(directory / "scenario.yaml")
    try:
        with testbed(scenario, directory) as bed:
            _say("hosts server, gnb, ue, client; try: client ping -c 3 server; exit ends it")
            bed.start()
            bed.hosts.command_line()
            stop_all(bed.elements)
    except ElementFailedError as error:
        _say(str(error))
        return 1
    _say(f"files: {directory}")
    return 0


def check_command_line(scenario: Scenario, clock: str | None) -> None:
    """Refuse what needs a transfer, before anything is made.

    Raises:
        SettingsError: the virtual clock, a path schedule, or a machine without the real clock.
    """
    what = "run: -t TOPO without an experiment opens Mininet's command line, which"
    if clock == "virtual":
        raise SettingsError(f"{what} needs --clock real")
    if scenario.paths is not None:
        raise SettingsError(f"{what} has no transfer for --paths")
    require_real(what)


def _say(line: str) -> None:
    """A line for the user, where Mininet also writes what commands say."""
    print(f"minitopo-dc: {line}", file=sys.stderr, flush=True)  # noqa: T201
