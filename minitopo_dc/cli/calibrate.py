"""Measure the legs on this machine against their settings (`minitopo-dc calibrate`)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from minitopo_dc.cli import options
from minitopo_dc.cli.options.legs import add_legs, leg_settings
from minitopo_dc.cli.options.scenario import add_set, assignments, put
from minitopo_dc.cli.screen import note, resume_text, say
from minitopo_dc.clocks import require_real, run_checked
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import significant, whole
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.results.trust import LIMITS_FILE, OFF, Limits
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import Proportion, expected_count

if TYPE_CHECKING:  # Mininet, which other commands do without
    from minitopo_dc.real.run.calibration import Quantity
    from minitopo_dc.real.run.disturbance import Row

RUNS, MAX_RUNS = 100, 10_000
HELP = "measure the rate, delay, jitter and loss of each leg and compare them with the settings"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    add_legs(parser, legs=("20", "20"))
    parser.add_argument(
        "--seconds",
        type=options.quantity("s"),
        default=10,
        metavar="S",
        help="duration of each of the two measurements of a leg (at least 2; default: 10)",
    )
    options.add(parser, "--seed")
    add_set(parser)
    options.add(parser, "--json", help="print the quantities as JSON")
    disturb = parser.add_argument_group(
        "limits of trust: what a disturbance of this machine does to a run (docs/trust.md)"
    )
    disturb.add_argument(
        "--disturb",
        type=whole,
        nargs="?",
        const=RUNS,
        metavar="RUNS",
        help="measure this machine's limits of trust, in place of its legs, from RUNS "
        f"undisturbed and RUNS disturbed runs of 3 s (default: {RUNS})",
    )
    disturb.add_argument(
        "--output",
        type=Path,
        default=Path("results/disturb"),
        metavar="DIR",
        help="directory of these runs, new or to be resumed (default: results/disturb)",
    )
    disturb.add_argument("--save", action="store_true", help=f"write the limits to {LIMITS_FILE}")


def execute(arguments: argparse.Namespace) -> int:
    """Measure and print; return 1 when that failed, else 0."""
    require_real("calibrate")
    if arguments.disturb is not None:
        return _disturb(arguments)
    from minitopo_dc.real.network.elements import ElementFailedError  # noqa: PLC0415
    from minitopo_dc.real.run.calibration import calibrate  # noqa: PLC0415

    fields = {"legs": leg_settings(arguments), "seed": arguments.seed}
    own = {"transport": "tcp", "mode": "sc"}
    scenario = Scenario.check({**put(fields, assignments(arguments)), **own}, "options")
    try:
        with Console(stderr=True).status("measuring each leg in two runs"):
            quantities = calibrate(scenario, arguments.seconds)
    except ElementFailedError as error:
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


def _table(quantities: Iterable[Quantity]) -> Sheet:
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


def _disturb(arguments: argparse.Namespace) -> int:
    from minitopo_dc.real.run import disturbance  # noqa: PLC0415 (Mininet)

    if not 1 <= arguments.disturb <= MAX_RUNS:
        raise SettingsError(f"--disturb: {arguments.disturb}; allowed: 1 to {MAX_RUNS}")
    directory: Path = arguments.output
    console = Console(stderr=True)
    total = 2 * arguments.disturb

    def ended(row: Row) -> None:
        goodput = (
            "no goodput" if row.goodput_mbps is None else f"{significant(row.goodput_mbps)} Mbit/s"
        )
        what = f"{row.disturbance.label} {row.part}".strip()
        console.print(
            f"{row.number + 1}/{total} {row.transport} {row.mode}, {what}: {row.status}, {goodput}"
        )

    try:
        directory.mkdir(parents=True, exist_ok=True)
        rows = disturbance.measure(
            arguments.disturb,
            arguments.seed,
            directory / "runs.jsonl",
            virtual=run_checked,
            ended=ended,
        )
    except OSError as error:
        raise SettingsError(f"--output: {directory}: {error.strerror}") from None
    except KeyboardInterrupt:
        done = len(disturbance.load(directory / "runs.jsonl"))
        raise KeyboardInterrupt(resume_text(done, total)) from None
    limits = disturbance.fit(rows)
    limits.save(directory / "trust-limits.yaml")
    if arguments.save:
        limits.save(LIMITS_FILE.expanduser())
    table = _detection_table(rows, limits)
    if arguments.json:
        print(json.dumps({"limits": limits.model_dump(), "disturbances": table}, indent=1))  # noqa: T201
    else:
        Console().print(_detection_sheet(table))
        say(f"Limits: {directory / 'trust-limits.yaml'}")
    return 0


def _detection_table(rows: Sequence[Row], limits: Limits) -> list[dict[str, Any]]:
    """Return for each disturbance how many runs it made wrong, and how many of those are told."""
    from minitopo_dc.real.run.disturbance import errors  # noqa: PLC0415 (Mininet)

    groups: dict[str, list[tuple[float, bool]]] = {}
    for row, error in zip(rows, errors(rows), strict=True):
        if error is not None:
            groups.setdefault(row.disturbance.label, []).append((abs(error), row.exceeds(limits)))
    every = [run for label, runs in groups.items() if label != "none" for run in runs]
    table = []
    for label, runs in [*sorted(groups.items()), ("all disturbances", every)]:
        wrong = [is_detected for error, is_detected in runs if error > OFF]
        share = Proportion(sum(wrong), len(wrong))
        alarms = Proportion(sum(alarm for error, alarm in runs if error <= OFF), len(runs))
        table.append(
            {
                "disturbance": label,
                "runs": len(runs),
                "wrong": len(wrong),
                "told": sum(wrong),
                "told_share": share.share if wrong else None,
                "told_low": share.low,
                "told_high": share.high,
                "alarms": alarms.count,
                "alarms_share": alarms.share,
                "alarms_high": alarms.high,
                "worst_untold": max((e for e, alarm in runs if e > OFF and not alarm), default=0.0),
            }
        )
    return table


def _detection_sheet(rows: Iterable[dict[str, Any]]) -> Sheet:
    shares = Head("of these\ndetected (share,\n95 % interval)", text=True)
    heads = [Head("disturbance", text=True), Head("runs"), Head("runs with\nan error\nabove 5 %")]
    sheet = Sheet([*heads, shares, Head("false\nalarms"), Head("largest\nundetected\nerror", "%")])
    for row in rows:
        interval = f"{row['told_low']:.2f} to {row['told_high']:.2f}"
        share = f"{row['told']} ({row['told_share']:.2f}, {interval})" if row["wrong"] else "-"
        worst = significant(100 * row["worst_untold"]) if row["worst_untold"] else "-"
        counts = str(row["runs"]), str(row["wrong"])
        sheet.add(row["disturbance"], *counts, share, str(row["alarms"]), worst)
    return sheet
