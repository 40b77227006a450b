"""Compare Dual Connectivity with transport multipath over the same legs (`minitopo-dc compare`)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.campaign.executors import local
from minitopo_dc.cli import options
from minitopo_dc.cli.options.legs import add_legs
from minitopo_dc.cli.options.rows import add_transfer, base_scenario, over_each_leg, rows
from minitopo_dc.cli.options.scenario import check_capture
from minitopo_dc.cli.screen import (
    ProgressLine,
    new_directory,
    print_runs,
    resumable,
    save_figure,
    save_runs,
    saved,
    say,
)
from minitopo_dc.clocks import build_missing, chosen_jobs, require_clock, unavailable_reason
from minitopo_dc.comparison import ASKED, RowCampaign, scenario_of_row, variants_of
from minitopo_dc.fields import SettingsError
from minitopo_dc.files import write_whole
from minitopo_dc.numbers import whole
from minitopo_dc.results import results_table
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.measures.expected_losses import few_losses
from minitopo_dc.results.measures.row_pairs import KINDS, BetterLegs, better_legs
from minitopo_dc.results.measures.verdict import Finding, MediaFinding, findings
from minitopo_dc.results.run_result import RunResult, exit_status, mode_and_variant
from minitopo_dc.runners.base import all_runners
from minitopo_dc.runs.check import check_rows
from minitopo_dc.runs.perform import Retries, check_retries
from minitopo_dc.runs.plan import primary_leg
from minitopo_dc.scenario import Scenario

MAX_REPETITIONS = 10_000
"""The most repetitions of a comparison, which lists them all; a campaign may have more."""
DEFAULT_TRANSPORTS = ("quic-picoquic", "tcp")
"""One of each stack that a comparison has unless transports are named."""
HELP = "compare transports over one leg, Dual Connectivity and several paths"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    add_legs(parser)
    add_transfer(parser)
    options.add(parser, "--clock", "--pcap", "--plugin", "--jobs")
    parser.add_argument(
        "--repetitions", type=whole, default=3, metavar="N", help="runs of each row (default: 3)"
    )
    options.add(parser, "--retry-disturbed")
    condition = "new, or that of an unfinished comparison, which is resumed"
    options.add_output(parser, "compare", condition)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check the options, count the runs and say which this machine cannot do",
    )
    options.add(parser, "--json", help="print the rows as a JSON list instead of the table")


def execute(arguments: argparse.Namespace) -> int:
    """Run the comparison and print its table.

    Returns:
        0 when every run is ok or unsupported, 1 when one is not, 3 when nothing can run.
    """
    check_retries(arguments.retry_disturbed, "--retry-disturbed")
    if not 1 <= arguments.repetitions <= MAX_REPETITIONS:
        allowed = f"1 to {MAX_REPETITIONS}"
        raise SettingsError(f"--repetitions: {arguments.repetitions}; allowed: {allowed}")
    base = base_scenario(arguments)
    check_capture(arguments, base.clock)
    jobs = chosen_jobs(arguments.jobs, base.clock)
    require_clock(base.clock)
    if not arguments.dry_run:  # the default rows depend on what is built
        transports = options.listed(arguments.transports or DEFAULT_TRANSPORTS)
        build_missing(base.model_copy(update={"transport": name}) for name in transports)
    compared = rows(arguments, base)
    if arguments.leg is None:
        compared = over_each_leg(compared, base)
    scenarios = [scenario_of_row(base, row) for row in compared]
    check_rows(scenarios)
    if arguments.dry_run:
        runs = len(scenarios) * arguments.repetitions
        print(f"{len(scenarios)} rows, {runs} runs on the {base.clock} clock")  # noqa: T201
        reasons = [unavailable_reason(scenario) for scenario in scenarios]
        for row, variant, reason in zip(scenarios, variants_of(scenarios), reasons, strict=True):
            if reason is not None:
                name = f"{row.transport} {mode_and_variant(row.mode, variant)}"
                print(f"unsupported here: {name}: {reason}")  # noqa: T201
        return exit_status(["ok" if reason is None else "unsupported" for reason in reasons])
    root = new_directory(arguments.output, "compare", ASKED)
    comparison = RowCampaign(root, scenarios, arguments.repetitions)
    with comparison.held():
        results: list[RunResult] = []
        kept = f"{{}} of {len(comparison.runs)} runs are"
        with resumable(arguments, root, lambda: kept.format(len(results))):
            watched = None if arguments.json else root
            retries = Retries(disturbed=arguments.retry_disturbed)
            _run(comparison, jobs, retries, results, watched)
            order = {run.name: place for place, run in enumerate(comparison.runs)}
            results.sort(key=lambda result: order[Path(result.directory).name])
            written = _report(base, results, root, as_json=arguments.json)
    return exit_status([result.status for result in results]) if written else 1


def _run(
    comparison: RowCampaign,
    jobs: int,
    retries: Retries,
    results: list[RunResult],
    watched: Path | None,
) -> None:
    done = comparison.finished(comparison.runs, retries)
    results += done.values()
    missing = [run for run in comparison.runs if run.name not in done]
    scenarios = [run.scenario for run in missing]
    with ProgressLine(scenarios, len(done), watched) as progress, local(jobs) as workers:
        for _, result in comparison.run(missing, workers, retries):
            results.append(result)
            progress.end(result)


def _report(base: Scenario, results: list[RunResult], root: Path, *, as_json: bool) -> bool:
    """Print what was measured, then write tables and figures; return whether they could be written.

    What was measured is printed first, even where nothing can be written any more.
    """
    frame = results_table(results)
    legs, verdict = better_legs(frame), _verdict(frame)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=1))  # noqa: T201
    else:
        _print(frame, legs, verdict)
    if not saved(root, lambda: _save(base, frame, legs.runs, verdict, root)):
        return False
    if not as_json:
        _print_files(root)
    return True


def print_comparison(results: Sequence[RunResult], root: Path) -> None:
    """Print a finished comparison from its results, as it was printed when it ran."""
    frame = results_table(results)
    _print(frame, better_legs(frame), _verdict(frame))
    _print_files(root)


def _verdict(frame: pd.DataFrame) -> list[Finding | MediaFinding]:
    return findings(frame, {runner.name: runner.stack for runner in all_runners()})


def _print(
    frame: pd.DataFrame, legs: BetterLegs, verdict: Iterable[Finding | MediaFinding]
) -> None:
    scenario = load_as_run(Path(frame["directory"].iloc[0]))
    if len(scenario.legs) > 1:
        say(primary_leg(scenario))
    findings_told = (finding.sentence for finding in verdict)
    print_runs(legs.runs, (*findings_told, *legs.sentences, *few_losses(frame)), frame)


def _print_files(root: Path) -> None:
    files = ", ".join(sorted(path.name for path in root.iterdir() if path.is_file()))
    say(f"Results: {root} ({files}, one directory per run)")


def _save(
    base: Scenario,
    frame: pd.DataFrame,
    shown: pd.DataFrame,
    verdict: Iterable[Finding | MediaFinding],
    root: Path,
) -> None:
    """Write the tables of all rows, figures of those shown and of each kind, and the verdict."""
    from minitopo_dc import plots  # noqa: PLC0415 (Matplotlib takes a second)

    save_runs(frame, root)
    name = "goodput" if base.workload.figure is None else base.workload.kind
    numbers = [
        {
            name: value
            for name, value in details.items()
            if name not in shown and isinstance(value, int | float) and not isinstance(value, bool)
        }
        for details in shown["details"]
    ]
    shown = shown.join(pd.DataFrame(numbers, shown.index))
    save_figure(plots.comparison(shown), root / f"{name}.png")
    if runs := best_of_each(shown, plots.main_measure(shown)):
        save_figure(plots.timeline(*runs.values(), names=[*runs]), root / "timeline.png")
    text = json.dumps([finding.to_json() for finding in verdict], indent=1)
    write_whole(root / "verdict.json", text)


def best_of_each(runs: pd.DataFrame, measure: str) -> dict[str, Path]:
    """Return the first run of the best leg alone, the best DC and the best multipath, by name."""
    from minitopo_dc import plots  # noqa: PLC0415 (Matplotlib takes a second)

    best_runs: dict[str, Path] = {}
    good = runs[(runs["status"] == "ok") & runs["mode"].isin(KINDS)]
    for _, alike in good.groupby(good["mode"].map(KINDS), sort=False):
        rows = alike.groupby(["transport", "mode", "variant"], sort=False)
        means = rows[measure].mean().dropna()
        if means.empty:
            continue
        best: Any = means.idxmin() if plots.is_better_low(measure) else means.idxmax()
        best_runs[" ".join(part for part in best if part)] = Path(
            rows.get_group(best)["directory"].iloc[0]
        )
    return best_runs
