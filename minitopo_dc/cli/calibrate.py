"""Measure the legs on this machine against their settings (`minitopo-dc calibrate`)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console

from minitopo_dc.cli.options.scenario import assignments, leg_settings, put
from minitopo_dc.cli.screen import note
from minitopo_dc.clocks import require_real
from minitopo_dc.numbers import significant
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import expected_count

if TYPE_CHECKING:  # Mininet, which other commands do without
    from minitopo_dc.real.run.calibration import LegProperty


def execute(arguments: argparse.Namespace) -> int:
    """Measure and print; return 1 when that failed, else 0."""
    require_real("calibrate")
    from minitopo_dc.real.run.calibration import calibrate  # noqa: PLC0415
    from minitopo_dc.runs.perform import RunFailedError  # noqa: PLC0415

    fields = {"legs": leg_settings(arguments), "seed": arguments.seed}
    own = {"transport": "tcp", "mode": "sc"}
    scenario = Scenario.check({**put(fields, assignments(arguments)), **own}, "options")
    try:
        with Console(stderr=True).status("measuring each leg in two runs"):
            quantities = calibrate(scenario, arguments.seconds)
    except RunFailedError as error:
        note(str(error))
        return 1
    if arguments.json:
        rows = []
        for quantity in quantities:
            rows.append(asdict(quantity) | {"error": quantity.error})
            if (lost := quantity.losses) is not None:
                expected = asdict(expected_count(lost.mean, lost.variance))
                rows[-1]["losses"] |= {"expected": expected}
        print(json.dumps(rows, indent=1))  # noqa: T201
    else:
        Console().print(_table(quantities))
    return 0


def _table(quantities: Iterable[LegProperty]) -> Sheet:
    heads = [Head("", text=True), Head("downlink", text=True), Head("unit", text=True)]
    sheet = Sheet([*heads, *map(Head, ("asked", "ideal leg", "measured", "error"))])
    for quantity in quantities:
        setting = "-" if quantity.asked is None else significant(quantity.asked)
        numbers = (quantity.ideal, quantity.measured, quantity.error)
        name = (f"leg {quantity.leg}", quantity.name, quantity.unit)
        sheet.add(*name, setting, *map(significant, numbers))
        if (lost := quantity.losses) is not None:
            expected = expected_count(lost.mean, lost.variance)
            sheet.notes.append(
                f"Leg {quantity.leg} should lose {expected.words} of {lost.packets:,} packets; "
                f"with this seed the ideal leg loses {lost.ideal:,}, and {lost.measured:,} were "
                "measured."
            )
    return sheet
