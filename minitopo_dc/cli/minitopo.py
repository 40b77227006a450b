"""Run in your own Minitopo checkout, with the elements of this project (`minitopo-dc minitopo`)."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from minitopo_dc.cli.screen import new_directory, note
from minitopo_dc.clocks import require_real
from minitopo_dc.results.run_result import exit_status

PING_LOG = "ping.log"
"""Minitopo's name of the log of its pings."""


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when nothing failed, 1 when something did, 3 when nothing can run here."""
    require_real("minitopo")
    # Imported here, as the rest of the command line must work without Mininet.
    from minitopo_dc.minitopo.plugin import CheckoutRun  # noqa: PLC0415
    from minitopo_dc.runs.perform import RunFailedError  # noqa: PLC0415

    files = (arguments.topology, arguments.experiment)
    plugin = CheckoutRun(arguments.minitopo, *files, ip_version=arguments.ip_version)
    for line in plugin.notes:
        note(line)
    directory = new_directory(arguments.output, "minitopo")
    try:
        result = plugin.run(directory)
    except RunFailedError as error:
        note(str(error))
        return 1
    if result is None:
        log = directory / PING_LOG
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        for line in text.splitlines():
            if line.startswith(("PING ", "rtt ")) or "packets transmitted" in line:
                print(line)  # noqa: T201
        print(f"Files: {directory}")  # noqa: T201
    else:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
    return 0 if result is None else exit_status([result.status])
