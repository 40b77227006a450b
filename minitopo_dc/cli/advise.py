"""Advise on Dual Connectivity or multipath over your legs in a minute (`minitopo-dc advise`).

The command runs each leg alone, Dual Connectivity and multipath on the virtual clock with one seed
after the other. It ends when one of the two is better, when they tie, or when the time is over.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from minitopo_dc.advice import SECONDS, Advice, Limits, advise_on, base_of
from minitopo_dc.advice.criterion import CRITERIA, criterion
from minitopo_dc.advice.sequence import Runs
from minitopo_dc.advice.sides import QUIC, sides_of
from minitopo_dc.cli.options import quantities
from minitopo_dc.cli.options.pdcp import listed
from minitopo_dc.cli.options.scenario import (
    add_jobs_option,
    add_leg_options,
    add_load_options,
    add_output_option,
    add_plugin_option,
    base_fields,
)
from minitopo_dc.cli.screen import StatusLine, new_directory, save_figure
from minitopo_dc.clocks import require_clock
from minitopo_dc.comparison_runs import ASKED, held, planned_runs
from minitopo_dc.files import write_whole
from minitopo_dc.results import compare_table, render_table, results_table, save_tables
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import compared_labels, labelled, load_result
from minitopo_dc.runners.base import all_runners

ADVICE = "advice.json"
HELP = "decide whether Dual Connectivity or multipath is better over your legs, or whether they tie"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_leg_options(parser)
    group = parser.add_argument_group("transfer")
    group.add_argument(
        "--transports",
        nargs="+",
        default=QUIC,
        metavar="NAME",
        help="for each stack its single-path and its multipath transport, such as "
        f"{' '.join(QUIC)} tcp mptcp (default: {' '.join(QUIC)})",
    )
    add_load_options(group)
    add_plugin_option(parser)
    add_jobs_option(parser)
    group = parser.add_argument_group("advice")
    group.add_argument(
        "--time",
        type=quantities.of("s"),
        default=SECONDS,
        metavar="S",
        help="time limit for the verdict on each stack in s, or with a unit: 5min "
        f"(default: {SECONDS:g})",
    )
    margins = ", ".join(f"{name} {100 * found.margin:g}" for name, found in CRITERIA.items())
    group.add_argument(
        "--margin",
        type=quantities.of("percent"),
        metavar="PERCENT",
        help="difference within which the verdict is a tie (docs/advise.md; default by workload: "
        f"{margins})",
    )
    group.add_argument(
        "--real", action="store_true", help="run both on the real clock as well; needs root"
    )
    add_output_option(parser, "advise", "new, or that of unfinished advice, which is resumed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when there is a verdict, be it that the evidence is not enough; else 1.

    Raises:
        SettingsError, TraceError: an option is wrong, or something cannot run here.
    """
    base = base_of(**base_fields(arguments))
    judged = criterion(base.workload, arguments.margin)
    stacks = sides_of(base, listed(arguments.transports))
    limits = Limits(arguments.time, arguments.jobs, arguments.real)
    require_clock("virtual", base.virtual.core)
    root = new_directory(arguments.output, "advise", ASKED)
    rows = [dict(row.fields) for sides in stacks for row in sides.rows]
    with held(root, list(planned_runs(base, rows, 1))):
        try:
            with _Progress("starting") as progress:
                advice = advise_on(Runs(base, judged, root, progress=progress.tell), stacks, limits)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_resume_hint(arguments, root)) from None
        return _report(advice, root, as_json=arguments.json)


class _Progress(StatusLine):
    def tell(self, words: str) -> None:
        """Show what is under way in place of what was."""
        self._status.update(words)


def _resume_hint(arguments: argparse.Namespace, root: Path) -> str:
    """Say how many runs are kept, and by which command the rest is done."""
    output = [] if arguments.output else ["--output", str(root)]
    command = shlex.join(["minitopo-dc", *arguments.typed, *output])
    return f"{len(_results(root))} runs are finished; resume with: {command}"


def _results(root: Path) -> list[RunResult]:
    """Return the runs on the virtual clock that are done, in the order of their seeds."""
    found = []
    for path in sorted(root.glob("*/result.json")):
        with suppress(ResultError):
            found.append(load_result(path.parent))
    return sorted(found, key=lambda each: each.repetition)


def _report(advice: Advice, root: Path, *, as_json: bool) -> int:
    """Print the advice, also where it cannot be written; then write it down."""
    results = _results(root)
    if as_json:
        print(json.dumps(advice.to_json(), indent=1))  # noqa: T201
    else:
        tell_advice(results, advice.sentences)
    try:
        write_whole(root / ADVICE, json.dumps(advice.to_json(), indent=1))
        if results:
            _save(advice, results, root)
    except OSError as error:
        print(f"minitopo-dc: {root}: {error.strerror}; the tables are not written", file=sys.stderr)  # noqa: T201
        return 1
    if not as_json:
        Console().print(f"Results: {root}", markup=False, highlight=False, soft_wrap=True)
    return 0 if all(each.dual or each.multipath for each in advice.verdicts) else 1


def tell_advice(results: Sequence[RunResult], sentences: Sequence[str]) -> None:
    """Print the table of runs, if there are any, and what it comes to."""
    console = Console()
    if results:
        table = compare_table(results_table(results))
        console.print(render_table(table, {each.name: each.label for each in all_runners()}))
    for sentence in sentences:
        console.print(sentence, markup=False, highlight=False)


def _save(advice: Advice, results: Sequence[RunResult], root: Path) -> None:
    """Write the table of runs, and a figure of each verdict."""
    # Not above: Matplotlib takes a second.
    # ruff: noqa: PLC0415
    from minitopo_dc.plots import timeline

    frame = results_table(results)
    save_tables(labelled(frame, compared_labels(frame)), root)
    for verdict in advice.verdicts:
        runs: dict[str, Path] = {}
        for row, run in itertools.product(filter(None, (verdict.dual, verdict.multipath)), results):
            wanted = (row.fields["transport"], row.fields["mode"], row.variant)
            if run.status == "ok" and (run.transport, run.mode, run.variant) == wanted:
                runs.setdefault(row.name, Path(run.directory))
        if runs:
            figure = timeline(*runs.values(), names=[*runs])
            save_figure(figure, root / f"advice-{verdict.stack.lower()}.png")
