"""Campaigns of YAML files, which go when the last of them is a Python file."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

from minitopo_dc.campaign.cluster import Cluster
from minitopo_dc.campaign.execution.cost import (
    Weighted,
    calibrate,
    real_cost,
    timed_before,
    timed_runs,
    virtual_cost,
)
from minitopo_dc.campaign.execution.resume import left_runs, missing_runs, run_missing
from minitopo_dc.campaign.execution.store import Store, reporting_full_disk
from minitopo_dc.campaign.execution.table import save_table
from minitopo_dc.campaign.executors import Processes, Serial, Workers
from minitopo_dc.campaign.file.design import Version
from minitopo_dc.campaign.file.fields import find_campaign
from minitopo_dc.campaign.file.plan import Run, count_plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.clocks import (
    chosen_jobs,
    clean_killed,
    require_clock,
    run_checked,
    unavailable_reason,
)
from minitopo_dc.commands.campaign import papers
from minitopo_dc.commands.campaign.progress import CampaignProgress
from minitopo_dc.commands.campaign.state import tell_campaign
from minitopo_dc.commands.options import quantities
from minitopo_dc.commands.options.scenario import (
    add_core_option,
    add_plugin_option,
)
from minitopo_dc.commands.owner import drop_privileges
from minitopo_dc.numbers import duration, whole
from minitopo_dc.plugins import load_plugins
from minitopo_dc.runs.attempts import check_retries
from minitopo_dc.scenario import Clock, ResolvedFlow
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted
from minitopo_dc.settings.ranges import MAX_REPETITIONS


def add(actions: Any) -> None:
    """Add `condense` and `papers`, and the options that only campaigns of YAML files have."""
    _add_run(actions.choices["run"])
    report = actions.choices["report"]
    add_plugin_option(report)
    report.add_argument(
        "--figures",
        nargs="+",
        choices=("pdf", "svg", "png"),
        default=(),
        help="also write each figure at the width of a paper's column to figures/",
    )
    papers.add(actions)


def _add_run(parser: argparse.ArgumentParser) -> None:
    add_core_option(parser)
    parser.add_argument(
        "--size",
        type=quantities.of("mb"),
        metavar="MB",
        help="size of a download (default: the file's)",
    )
    parser.add_argument(
        "--repetitions", type=whole, metavar="N", help="runs per cell (default: the file's)"
    )
    parser.add_argument("--seed", type=whole, help="first seed (default: the file's)")
    parser.add_argument(
        "--experiments",
        nargs="+",
        default=(),
        metavar="NAME",
        help="run these experiments only (default: all)",
    )
    parser.add_argument(
        "--configurations",
        nargs="+",
        default=(),
        metavar="NAME",
        help="run these configurations only (default: all)",
    )
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter of the file; repeatable",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask scheduler: tcp://HOST:PORT"
    )
    parser.add_argument(
        "--scheduler-without-tls",
        action="store_true",
        help="accept a scheduler on a public address without TLS (docs/security.md)",
    )
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="repeat runs that are failed, disturbed or unsupported",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check the file, count the runs and estimate their time",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; return 1 when it tells of runs that failed or are missing."""
    actions = {"run": _run, "status": _status, "report": _report, **papers.ACTIONS}
    return actions[arguments.action](arguments)


def _run(arguments: argparse.Namespace) -> int:
    check_retries(arguments.retry_disturbed, "--retry-disturbed")
    file = find_campaign(arguments.campaign)
    if arguments.dry_run:
        return _dry_run(arguments, file)
    plan = read_plan(file, _overrides(arguments))
    workers = _workers(arguments, plan.clock)
    store = Store(arguments.output or _directory(file, plan.version, plan.clock))
    with store.open(plan):
        missing = missing_runs(plan, store, retry_failed=arguments.retry_failed)
        if arguments.scheduler is None:
            clean_killed(plan.clock)
        left = {run.id for run in missing}
        known = timed_before([run for run in plan.runs if run.id not in left], store)
        with CampaignProgress(missing, planned=len(plan.runs), known=known) as progress:
            run_missing(
                plan,
                store,
                missing,
                workers=workers,
                execute=run_checked,
                ended=progress.end,
                retry_disturbed=arguments.retry_disturbed,
            )
    # Damaged runs have been run again, and the new runs are not read once more.
    return tell_campaign(store, {}, as_json=False)


def _dry_run(arguments: argparse.Namespace, file: Path) -> int:
    """Print how much there is to do, and how long it will take here; return 0."""
    count = count_plan(file, _overrides(arguments))
    _workers(arguments, count.clock)
    print(f"{count.cells} cells, {count.runs} runs on the {count.clock} clock")  # noqa: T201
    store = Store(arguments.output or _directory(file, arguments.version, count.clock))
    left = _left(arguments, file, store)
    weighted = count.weighted if left is None else [(run.scenario, 1) for run in left]
    if not weighted:
        print(f"nothing is left to run: all runs are in {store.root}")  # noqa: T201
        return 0
    if left is not None:
        ended = f"the others are in {store.root}"
        print(f"left to run: {len(left)} of {count.runs}; {ended}")  # noqa: T201
    unsupported = _unsupported(weighted) if arguments.scheduler is None else {}
    for reason, runs in unsupported.items():
        print(f"unsupported here: {runs} of the runs: {reason}")  # noqa: T201
    if count.clock == "real":
        cost = real_cost(weighted)
    else:
        done = timed_runs(store)
        timed = done or calibrate(weighted, run_checked)
        basis = "finished runs" if done else "small runs on idle processors"
        cost = virtual_cost(weighted, timed, f"{len(timed)} {basis}")
    jobs = 1 if arguments.scheduler else chosen_jobs(arguments.jobs, count.clock)
    mean, low, high = (duration(each / jobs) for each in (cost.seconds, cost.low, cost.high))
    print(f"about {mean} ({low} to {high}) with {jobs} at once, from {cost.basis}")  # noqa: T201
    return 0


def _left(arguments: argparse.Namespace, file: Path, store: Store) -> list[Run] | None:
    """Return the runs that `campaign run` would do; None where the directory has none of them."""
    if not store.root.is_dir():
        return None
    plan = read_plan(file, _overrides(arguments))
    left = left_runs(plan, store, retry_failed=arguments.retry_failed)
    return left if len(left) < len(plan.runs) else None


def _unsupported(weighted: Iterable[Weighted]) -> Counter[str]:
    """Return how many runs this machine cannot do, by reason."""
    known: dict[tuple[object, ...], str | None] = {}
    found: Counter[str] = Counter()
    for scenario, runs in weighted:
        flows = (
            (each.transport, each.congestion_control, *map(repr, _of_limits(each)))
            for each in scenario.resolved_flows
        )
        machine = (repr(scenario.real), repr(scenario.virtual))
        decides = (scenario.ip_version, len(scenario.legs), *machine, *flows)
        if decides not in known:
            known[decides] = unavailable_reason(scenario)
        if (reason := known[decides]) is not None:
            found[reason] += runs
    return found


def _of_limits(flow: ResolvedFlow) -> tuple[object, ...]:
    """Return what transports have limits of."""
    return flow.workload, flow.options, flow.paths


def _status(arguments: argparse.Namespace) -> int:
    drop_privileges([arguments.directory])
    store = Store(arguments.directory)
    save_table(store.plan(), store)
    return tell_campaign(store, store.damaged(), as_json=arguments.json)


def _report(arguments: argparse.Namespace) -> int:
    # Imported here, as Matplotlib and Jinja2 take a second.
    from minitopo_dc.campaign.report.evaluation import load_sources  # noqa: PLC0415
    from minitopo_dc.campaign.report.report import write_report  # noqa: PLC0415

    load_plugins(arguments.plugins)
    drop_privileges([*arguments.directories, *filter(None, [arguments.output])])
    for store in map(Store, arguments.directories):
        store.plan()  # refuses what is none before anything is read
        for run, why in store.damaged().items():
            print(f"minitopo-dc: {store.runs / run}: {why}", file=sys.stderr)  # noqa: T201
    sources = load_sources(arguments.directories)
    directory = arguments.output or arguments.directories[0] / "report"
    try:
        with reporting_full_disk(directory):
            written = write_report(sources, directory, arguments.figures)
    except OSError as error:
        where = quoted(error.filename or directory)
        raise SettingsError(f"--output: {where}: {error.strerror}; give a directory") from None
    for failure in written.failures:
        print(f"minitopo-dc: {failure}", file=sys.stderr)  # noqa: T201
    console = Console()
    answer = written.page.with_name("answer.txt")
    if answer.exists():
        console.print(answer.read_text(encoding="utf-8"), markup=False)
    for sheet in written.means:
        console.print(sheet, "")
    more = f" (figures/ has {', '.join(arguments.figures)})" if arguments.figures else ""
    for line in (
        f"Means at each point: {directory / 'means.csv'}",
        f"Report: {written.page}{more}",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def _overrides(arguments: argparse.Namespace) -> Overrides:
    for name in ("repetitions", "size"):
        value = getattr(arguments, name)
        if value is not None and not 0 < value <= MAX_REPETITIONS:
            raise SettingsError(f"--{name}: {value}; allowed: above 0, to {MAX_REPETITIONS}")
    return Overrides(
        version=arguments.version,
        clock=arguments.clock,
        core=arguments.core,
        repetitions=arguments.repetitions,
        size_mb=arguments.size,
        seed=arguments.seed,
        experiments=tuple(arguments.experiments),
        configurations=tuple(arguments.configurations),
        parameters=tuple(_parameter(text) for text in arguments.parameter),
    )


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"--parameter {text}: allowed: NAME=VALUE")
    return name, value


def _workers(arguments: argparse.Namespace, clock: Clock) -> Workers:
    if arguments.scheduler is not None:
        if arguments.jobs is not None:
            raise SettingsError(
                "--jobs: not with --scheduler: the workers' number of threads counts"
            )
        return Cluster(arguments.scheduler, without_tls=arguments.scheduler_without_tls)
    require_clock(clock, arguments.core or "auto")
    jobs = chosen_jobs(arguments.jobs, clock)
    return Serial() if jobs == 1 else Processes(jobs)


def _directory(file: Path, version: Version, clock: Clock) -> Path:
    """Return the results directory, the same for the same options, so that a command resumes."""
    return Path("results") / f"{file.stem}-{clock}{'' if version == 'full' else f'-{version}'}"
