"""Measure the legs on this machine against their settings (`minitopo-dc calibrate`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.executors import Results, Scenarios
from minitopo_dc.campaign.store import FACTS
from minitopo_dc.cli.options.scenario import assignments, leg_settings, put
from minitopo_dc.cli.screen import new_directory, note, print_json, say
from minitopo_dc.clocks import require_real
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import significant
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.run_result import exit_status
from minitopo_dc.results.tables.runs import name_and_unit
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import expected_count

LABEL = "leg"
"""The label of the runs of a calibration."""


def execute(arguments: argparse.Namespace) -> int:
    """Measure and print; return 1 when that failed, else 0.

    Raises:
        SettingsError: an option is wrong, or the real clock cannot run here.
    """
    require_real("calibrate")
    from minitopo_dc.real.calibration import SECONDS  # noqa: PLC0415

    seconds, (least, most) = arguments.seconds, SECONDS
    if not least <= seconds <= most:
        raise SettingsError(f"--seconds {seconds:g}: allowed: {least:g} to {most:g}")
    fields: dict[str, Any] = {"legs": leg_settings(arguments), "seed": arguments.seed}
    own = {"transport": "tcp", "mode": "sc", "workload": {"duration_s": seconds}}
    base = Scenario.check({**put(fields, assignments(arguments)), **own}, "options")
    cases = [(base.evolve(leg=leg), {LABEL: leg}) for leg in range(1, len(base.legs) + 1)]
    root = new_directory(arguments.output, "calibrate", FACTS, make=False)
    with Console(stderr=True).status("measuring each leg in two runs"):
        campaign = Campaign(root, cases, title="Calibration")
        runs = campaign.run(executor=_measured, again=["failed"], progress=False)
    for reason in runs[runs["status"] != "ok"]["reason"]:
        note(reason)
    if arguments.json:
        print_json(runs)
    else:
        print_calibration(runs)
        say(f"Results: {root}")
    return exit_status(list(runs["status"]))


def _measured(scenarios: Scenarios, _: Retries, working: Path) -> Results:
    from minitopo_dc.real.calibration import calibrate  # noqa: PLC0415 (Mininet)

    for name, scenario in scenarios.items():
        yield name, calibrate(scenario, working / name)


def print_calibration(runs: pd.DataFrame) -> None:
    """Print what the legs of a scenario are, beside their settings and an ideal leg."""
    good = runs[runs["status"] == "ok"]
    if len(good):
        base = load_as_run(Path(runs.attrs["directory"]) / good["run"].iloc[0])
        Console().print(calibration_sheet(good, base))


def calibration_sheet(runs: pd.DataFrame, base: Scenario) -> Sheet:
    """Return the table of runs that are ok."""
    heads = [Head("", text=True), Head("downlink", text=True), Head("unit", text=True)]
    sheet = Sheet([*heads, *map(Head, ("asked", "ideal leg", "measured", "error"))])
    for run in runs.to_dict("records"):
        number = int(run[LABEL])
        downlink = base.legs[number - 1].downlink
        asked = {
            "rate_mbps": downlink.rate_mbps,
            "delay_median_ms": downlink.delay_ms,
            "delay_p99_ms": None,
            "delay_deviation_ms": None,
            "loss_percent": downlink.mean_loss_percent(),
        }
        for name in [name for name in asked if f"ideal_{name}" in run]:
            setting = asked[name]
            shown = "-" if setting is None else significant(setting)
            measured, ideal = run[name], run[f"ideal_{name}"]
            numbers = (ideal, measured, measured - ideal)
            sheet.add(f"leg {number}", *name_and_unit(name), shown, *map(significant, numbers))
        if (model := downlink.loss_model()) is not None:
            expected = expected_count(*model.moments(int(run["packets"]))).words
            counts = ("packets", "ideal_lost_packets", "lost_packets")
            packets, ideal, measured = (f"{int(run[name]):,}" for name in counts)
            sheet.notes.append(
                f"Leg {number} should lose {expected} of {packets} packets; with this seed the "
                f"ideal leg loses {ideal}, and {measured} were measured."
            )
    return sheet
