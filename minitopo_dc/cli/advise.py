"""Advise on Dual Connectivity or multipath over your legs in a minute (`minitopo-dc advise`).

The command runs each leg alone, Dual Connectivity and multipath on the virtual clock with one seed
after the other. It ends when one of the two is better, when they tie, or when the time is over.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from minitopo_dc.advice import SECONDS, Advice, Adviser
from minitopo_dc.advice.candidates import QUIC
from minitopo_dc.advice.criterion import CRITERIA
from minitopo_dc.cli import options
from minitopo_dc.cli.options.legs import add_legs
from minitopo_dc.cli.options.scenario import CHOSEN, OF_ROWS, add_load, base_fields
from minitopo_dc.cli.screen import (
    StatusLine,
    new_directory,
    print_runs,
    resumable,
    save_figure,
    saved,
    say,
)
from minitopo_dc.clocks import require_clock
from minitopo_dc.comparison import ASKED, load_runs
from minitopo_dc.files import write_whole
from minitopo_dc.results import results_table, save_tables
from minitopo_dc.results.tables.labels import compared_labels, labelled
from minitopo_dc.runs.results import RunResult

ADVICE = "advice.json"
HELP = "decide whether Dual Connectivity or multipath is better over your legs, or whether they tie"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_legs(parser)
    group = parser.add_argument_group("transfer")
    group.add_argument(
        "--transports",
        nargs="+",
        default=QUIC,
        metavar="NAME",
        help="for each stack its single-path and its multipath transport, such as "
        f"{' '.join(QUIC)} tcp mptcp (default: {' '.join(QUIC)})",
    )
    add_load(group, (*CHOSEN, *OF_ROWS, "split_uplink"))
    options.add(parser, "--plugin", "--jobs")
    group = parser.add_argument_group("advice")
    group.add_argument(
        "--time",
        type=options.quantity("s"),
        default=SECONDS,
        metavar="S",
        help="time limit for the verdict on each stack in s, or with a unit: 5min "
        f"(default: {SECONDS:g})",
    )
    margins = ", ".join(f"{name} {100 * judged.margin:g}" for name, judged in CRITERIA.items())
    group.add_argument(
        "--margin",
        type=options.quantity("percent"),
        metavar="PERCENT",
        help="difference within which the verdict is a tie (docs/advise.md; default by workload: "
        f"{margins})",
    )
    group.add_argument(
        "--real", action="store_true", help="run both on the real clock as well; needs root"
    )
    options.add_output(parser, "advise", "new, or that of unfinished advice, which is resumed")
    options.add(parser, "--json", help="print JSON instead of sentences")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when there is a verdict, be it that the evidence is not enough; else 1.

    Raises:
        SettingsError, TraceError: an option is wrong, or something cannot run here.
    """
    adviser = Adviser(
        transports=options.listed(arguments.transports),
        seconds=arguments.time,
        margin_percent=arguments.margin,
        real=arguments.real,
        jobs=arguments.jobs,
        **base_fields(arguments),
    )
    require_clock("virtual", adviser.base.virtual.core)
    root = new_directory(arguments.output, "advise", ASKED)
    with resumable(arguments, root, lambda: f"{len(load_runs(root))} runs are"):
        with StatusLine("starting") as line:
            advice = adviser.advise(root, line.tell)
        results = load_runs(root)
        if arguments.json:
            print(json.dumps(advice.to_json(), indent=1))  # noqa: T201
        else:
            print_runs(results_table(results) if results else None, advice.sentences)
        if not saved(root, lambda: _save(advice, results, root)):
            return 1
    if not arguments.json:
        say(f"Results: {root}")
    return 0 if all(verdict.dual or verdict.multipath for verdict in advice.verdicts) else 1


def _save(advice: Advice, results: Sequence[RunResult], root: Path) -> None:
    """Write the advice, the table of runs, and a figure of each verdict."""
    write_whole(root / ADVICE, json.dumps(advice.to_json(), indent=1))
    if not results:
        return
    from minitopo_dc.plots import timeline  # noqa: PLC0415 (Matplotlib takes a second)

    frame = results_table(results)
    save_tables(labelled(frame, compared_labels(frame)), root)
    for verdict in advice.verdicts:
        runs: dict[str, Path] = {}
        for row, run in itertools.product(filter(None, (verdict.dual, verdict.multipath)), results):
            label = (row.fields["transport"], row.fields["mode"], row.variant)
            if run.status == "ok" and (run.transport, run.mode, run.variant) == label:
                runs.setdefault(row.name, Path(run.directory))
        if runs:
            figure = timeline(*runs.values(), names=[*runs])
            save_figure(figure, root / f"advice-{verdict.stack.lower()}.png")
