"""`minitopo-dc calibrate`: what the legs really do on this machine, against what was asked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from minitopo_dc.clocks import require_real
from minitopo_dc.commands.options.scenario import add_ip_option, add_leg_options, leg_settings
from minitopo_dc.numbers import real, whole
from minitopo_dc.scenario import Scenario

if TYPE_CHECKING:  # Mininet, which other commands do without
    from minitopo_dc.emulation.run.calibration import Quantity

HELP = "measure each leg's rate, delay, jitter and loss against what was asked"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_leg_options(parser, legs=("20", "20"))
    parser.add_argument(
        "--seconds",
        type=real,
        default=10,
        metavar="S",
        help="of each of the two measurements of a leg (10, at least 2)",
    )
    parser.add_argument("--seed", type=whole, default=1, help="of losses and jitter (1)")
    add_ip_option(parser)
    parser.add_argument("--json", action="store_true", help="print the quantities as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Measure and print; 1 when that failed."""
    require_real("calibrate")
    from minitopo_dc.emulation.network.elements import ElementFailedError  # noqa: PLC0415
    from minitopo_dc.emulation.run.calibration import calibrate  # noqa: PLC0415

    scenario = Scenario.check(
        {
            "transport": "tcp",
            "mode": "sc",
            "legs": leg_settings(arguments),
            "trace_offset_s": arguments.trace_offset,
            "ip_version": arguments.ip_version,
            "seed": arguments.seed,
        },
        "options",
    )
    try:
        with Console(stderr=True).status("measuring; every leg takes two runs"):
            quantities = calibrate(scenario, arguments.seconds)
    except ElementFailedError as error:
        print(f"minitopo-dc: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if arguments.json:
        rows = [asdict(quantity) | {"error": quantity.error} for quantity in quantities]
        print(json.dumps(rows, indent=1))  # noqa: T201
    else:
        Console().print(_table(quantities))
    return 0


def _table(quantities: Iterable[Quantity]) -> Table:
    table = Table("leg", "downlink", "asked", "ideal leg", "measured", "error", "unit")
    for quantity in quantities:
        asked = "" if quantity.asked is None else f"{quantity.asked:.3f}"
        numbers = (quantity.ideal, quantity.measured, quantity.error)
        table.add_row(
            str(quantity.leg),
            quantity.name,
            asked,
            *(f"{number:.3f}" for number in numbers),
            quantity.unit,
        )
    return table
