"""``minitopo-dc minitopo``: a run inside your own Minitopo checkout, ours beside its own."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from minitopo_dc.commands.output import new_directory

HELP = "run inside your own Minitopo checkout, with topoType:DualConnectivity and our experiments"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--minitopo", type=Path, required=True, metavar="DIR", help="the checkout (core/, topos/)"
    )
    parser.add_argument(
        *("-t", "--topo_param_file"),
        dest="topology",
        type=Path,
        required=True,
        metavar="TOPO",
        help="topology file (docs/minitopo.md)",
    )
    parser.add_argument(
        *("-x", "--experiment_param_file"),
        dest="experiment",
        type=Path,
        required=True,
        metavar="XP",
        help="experiment file",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where all files go; must not exist (results/minitopo-TIME)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when nothing failed, 1 when something did."""
    # Not above: the rest of the command line must work without Mininet.
    from minitopo_dc.minitopo.plugin import MinitopoError, Plugin  # noqa: PLC0415

    plugin = Plugin(arguments.minitopo, arguments.topology, arguments.experiment)
    for note in plugin.notes:
        print(f"minitopo-dc: {note}", file=sys.stderr)  # noqa: T201
    directory = new_directory(arguments.output, "minitopo")
    try:
        result = plugin.run(directory)
    except MinitopoError as error:
        print(f"minitopo-dc: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if result is not None:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
    return 1 if result is not None and result.status == "failed" else 0
