"""Compare Dual Connectivity with transport multipath over the same legs (`minitopo-dc compare`)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rich.console import Console

from minitopo_dc.campaign.campaign import Bar, Campaign
from minitopo_dc.campaign.store import FACTS, LOCK
from minitopo_dc.cli import options
from minitopo_dc.cli.options import REAL_SEEDS, SEEDS, check_repetitions
from minitopo_dc.cli.options.rows import base_scenario, chosen_stacks, compared_ways
from minitopo_dc.cli.screen import (
    new_directory,
    print_json,
    print_runs,
    resumable,
    save_comparison,
    saved,
    say,
)
from minitopo_dc.clocks import build_missing, chosen_jobs, require_clock, run_obstacle
from minitopo_dc.results import compare_table, render_table
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.run_result import exit_status
from minitopo_dc.runners.quic import transports_of
from minitopo_dc.runs.needs import primary_leg
from minitopo_dc.runs.perform import Retries, check_retries
from minitopo_dc.scenario import Scenario
from minitopo_dc.ways import LABEL, Comparison, check_resumed

FIRST = "The first repetition of each way; means and intervals follow with the others:"


def execute(arguments: argparse.Namespace) -> int:
    """Run the comparison and print its table.

    Returns:
        0 when every run is ok or unsupported, 1 when one is not, 3 when nothing can run.
    """
    check_retries(arguments.retry_disturbed, "--retry-disturbed")
    base = base_scenario(arguments)
    if arguments.repetitions is None:
        arguments.repetitions = SEEDS if base.clock == "virtual" else REAL_SEEDS
    check_repetitions(arguments.repetitions)
    jobs = chosen_jobs(arguments.jobs, base.clock)
    require_clock(base.clock)
    if not arguments.dry_run:  # the default rows depend on what is built
        stacks = chosen_stacks(arguments, base.congestion_control, base.clock)
        single = [transports_of(stack)[0] for stack in stacks]
        transports = options.listed(arguments.transports or [*single, "tcp"])
        build_missing(base.model_copy(update={"transport": name}) for name in transports)
    ways = compared_ways(arguments, base)
    if arguments.dry_run:
        return _tell_plan(ways, arguments.repetitions)
    root = new_directory(arguments.output, "compare", FACTS, make=False)
    check_resumed(root, ways)
    cases = [(scenario, {LABEL: way}) for way, scenario in ways.items()]
    seeds = range(base.seed, base.seed + arguments.repetitions)
    campaign = Campaign(root, cases, seeds, title="Comparison")
    names, number = campaign.names, len(campaign.names)
    retries, bar_of = Retries(disturbed=arguments.retry_disturbed), partial(Bar, names=names)
    first = Campaign(root, cases, seeds[:1], title="Comparison")
    with resumable(
        arguments, root, lambda: f"{number - len(campaign.missing())} of {number} runs are"
    ):
        # On the real clock the other repetitions take minutes.
        if base.clock == "real" and len(seeds) > 1 and not arguments.json and first.missing():
            runs = first.run(jobs, retries=retries, progress=bar_of)
            shown = render_table(compare_table(Comparison(runs, root).better_legs[0]))
            Console(stderr=True).print("", FIRST, shown, sep="\n")
        runs = campaign.run(jobs, retries=retries, progress=bar_of)
        comparison = Comparison(runs, root).with_roles(ways, seeds, jobs=jobs, progress=False)
        # What was measured is printed first, even where nothing can be written any more.
        if arguments.json:
            print_json(comparison.runs)
        else:
            print_comparison(comparison)
        if not saved(root, lambda: save_comparison(comparison)):
            return 1
        if not arguments.json:
            print_files(root)
    return exit_status(list(runs["status"]))


def _tell_plan(ways: Mapping[str, Scenario], repetitions: int) -> int:
    clock = next(iter(ways.values())).clock
    print(f"{len(ways)} rows, {len(ways) * repetitions} runs on the {clock} clock")  # noqa: T201
    reasons = {way: run_obstacle(scenario) for way, scenario in ways.items()}
    for way, reason in reasons.items():
        if reason is not None:
            print(f"unsupported here: {way}: {reason}")  # noqa: T201
    return exit_status(["ok" if not reason else "unsupported" for reason in reasons.values()])


def print_comparison(comparison: Comparison) -> None:
    """Print the table of a comparison, and its sentences below."""
    results = comparison.results
    scenario = load_as_run(Path(results["directory"].iloc[0]))
    if len(scenario.legs) > 1:
        tried = " Another one is not tried on this clock." if scenario.clock == "real" else ""
        say(f"{primary_leg(scenario.leg_numbers[0], scenario.primary_leg)}{tried}")
    print_runs(comparison.better_legs[0], comparison.sentences, results)


def print_files(root: Path) -> None:
    """Print where the results are."""
    files = sorted(path.name for path in root.iterdir() if path.is_file() and path.name != LOCK)
    say(f"Results: {root} ({', '.join(files)}, one directory per run in runs)")
