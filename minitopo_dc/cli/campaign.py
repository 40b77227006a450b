"""Run many scenarios from one Python file, resume them and report (`minitopo-dc campaign`)."""

from __future__ import annotations

import argparse
import ast
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from minitopo_dc.campaign.campaign import AGAIN, Campaign, Version
from minitopo_dc.campaign.executors import Cluster
from minitopo_dc.campaign.plan import FILE, Case, Program, load_program, studies
from minitopo_dc.campaign.store import Store, load, load_facts
from minitopo_dc.cli.screen import drop_privileges
from minitopo_dc.errors import did_you_mean
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.numbers import duration
from minitopo_dc.results.run_result import FINE, available_bits, exit_status
from minitopo_dc.runs.perform import Retries, check_retries
from minitopo_dc.scenario import Scenario

REAL_OVERHEAD_S = 5.0
"""The time in which hosts, elements and programs start and end: 112 runs of 40 MB on two legs of 20
Mbit/s took 26 minutes, of which their bytes took 17 (docs/measurements.md)."""
RATE_OVER_S = 60.0
"""The time over which a capacity's mean is taken: as long as the embedded traces."""
MISSING = "missing"


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; return 1 when it tells of runs that failed or are missing."""
    match arguments.action:
        case "run":
            return _run(arguments)
        case "status":
            drop_privileges([arguments.directory])
            return tell_directory(arguments.directory, as_json=arguments.json)
        case "report":
            return _report(arguments)
    for name, path in studies().items():  # their titles are read, and nothing is run
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        print(f"{name}: {words.partition(chr(10))[0].rstrip('.')}")  # noqa: T201
    return 0


def _run(arguments: argparse.Namespace) -> int:
    check_retries(arguments.retry_disturbed, "--retry-disturbed")
    path = _program_file(arguments.campaign, "campaign run")
    program = load_program(path)
    campaign = _campaign(arguments, program)
    program.try_report(campaign.empty_table(), campaign.label_values)
    missing = campaign.missing()
    for clock, number in Counter(scenario.clock for scenario in missing).items():
        real = [scenario for scenario in missing if scenario.clock == clock == "real"]
        time = f", about {duration(sum(map(_expected_s, real)))}" if real else ""
        print(f"{number} runs on the {clock} clock{time}", file=sys.stderr)  # noqa: T201
    if arguments.dry_run:
        return 0
    again = AGAIN if arguments.again == [] else arguments.again or ()
    retries = Retries(disturbed=arguments.retry_disturbed)
    workers = None
    if arguments.dask is not None:
        without_tls = arguments.dask_without_tls
        workers = Cluster(arguments.dask, without_tls=without_tls, option="--dask")
    runs = campaign.run(arguments.jobs, executor=workers, retries=retries, again=again)
    page = _write(campaign.directory, runs, program)
    status = _tell(runs, campaign.directory, {})
    print(f"Report: {page}")  # noqa: T201
    return status


def _expected_s(scenario: Scenario) -> float:
    """Return the time in s of a run's longest flow over full legs, and what it needs beside."""
    times, available = [], available_bits(scenario.legs, scenario.loads, 0, RATE_OVER_S)
    for flow in scenario.resolved_flows:
        rate_bps = sum(available[leg - 1] for leg in flow.legs) / RATE_OVER_S
        bits, most_s = flow.workload.size_bytes * 8, scenario.timeout_s
        full_s = min(bits / rate_bps, most_s) if rate_bps else most_s
        times.append(full_s if flow.workload.lasts_s is None else flow.workload.lasts_s)
    return max(times) + REAL_OVERHEAD_S


def _program_file(name: str, option: str) -> Path:
    """Return the path of a campaign's file."""
    path = Path(name) if name.endswith(".py") else studies().get(name)
    if path is not None:
        return path
    if name.endswith((".yaml", ".yml")):
        words = "campaigns are Python files; docs/campaigns.md shows how to write this one"
    else:
        words = f"allowed: FILE.py, {', '.join(studies())}; {did_you_mean(name, studies())}"
    raise SettingsError(f"{option} {quoted(name)}: {words.rstrip('; ')}")


def _campaign(arguments: argparse.Namespace, program: Program) -> Campaign:
    version: Version = "quick" if arguments.quick else "sample" if arguments.sample else "full"
    cases: list[Case] = program.cases(version)
    if arguments.clock is not None:
        cases = [(scenario.on_clock(arguments.clock), labels) for scenario, labels in cases]
    ends = [word for word in (version, arguments.clock) if word not in ("full", None)]
    name = arguments.campaign.replace("/", "-")  # a study's; else a file's
    if name.endswith(".py"):
        name = program.path.parent.name if program.path.name == FILE else program.path.stem
    return Campaign(
        arguments.output or Path("results", "-".join((name, *ends))),
        _chosen(cases, arguments.only),
        arguments.seeds or program.seeds(version),
        title=program.title,
        notes=program.notes,
        version=version,
    )


def _chosen(cases: Sequence[Case], only: Iterable[str]) -> Sequence[Case]:
    """Return the cases with the values that `--only` names, of each label one of them.

    With it each has the labels of all cases, as the file's report asks for them.
    """
    chosen: dict[str, list[str]] = {}
    names = dict.fromkeys(name for _, labels in cases for name in labels)
    for text in only:
        label, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"--only {text}: allowed: LABEL=VALUE")
        chosen.setdefault(label, []).append(value)
    for label, values in chosen.items():
        known = dict.fromkeys(str(labels[label]) for _, labels in cases if label in labels)
        if not known:
            hint = did_you_mean(label, names)
            raise SettingsError(f"--only {label}: no such label; has {', '.join(names)}; {hint}")
        for value in values:
            if value not in known:
                raise SettingsError(f"--only {label}={value}: has {', '.join(known)}")
        cases = [case for case in cases if str(case[1].get(label)) in values]
    return [(scenario, {**names, **labels}) for scenario, labels in cases] if chosen else cases


def tell_directory(directory: Path, *, as_json: bool) -> int:
    """Print the state of a campaign; return 1 when a run failed, is missing or is damaged."""
    runs = load(directory)
    store = Store(directory)
    names = [Path(run).name for run in runs["run"].unique()]
    read = {name: store.read(name, whole=True) for name in names}
    damaged = {name: why for name, why in read.items() if isinstance(why, str)}
    if as_json:
        print(json.dumps({**_counts(runs), "damaged": damaged}, indent=1))  # noqa: T201
        return _exit(runs, damaged)
    status = _tell(runs, directory, damaged)
    words = shlex.join(["minitopo-dc", "campaign", "report", str(directory)])
    print(f"Figures and tables: {words}")  # noqa: T201
    return status


def _report(arguments: argparse.Namespace) -> int:
    directory, name = arguments.directory, arguments.file
    path = None if name is None else _program_file(name, "--file")
    drop_privileges([directory, *filter(None, [arguments.output])])
    program = None if path is None else load_program(path)
    runs = load(directory)
    files = {"formats": arguments.figures or (), "tables": arguments.tables or ()}
    page = _write(directory, runs, program, arguments.output, **files)
    print(f"Report: {page}")  # noqa: T201
    return 0


def _write(
    directory: Path,
    runs: pd.DataFrame,
    program: Program | None,
    output: Path | None = None,
    **files: Sequence[str],
) -> Path:
    # Imported here, as Matplotlib and Jinja2 take a second.
    from minitopo_dc.report import write_report  # noqa: PLC0415

    facts = load_facts(directory)
    return write_report(
        output or directory / "report",
        runs,
        title=facts.title,
        notes=facts.notes,
        sections=[] if program is None else program.sections(runs),
        **files,
    )


def _counts(runs: pd.DataFrame) -> dict[str, int]:
    """Return the number of runs, of each status, and of missing ones; shared ones count once."""
    statuses = runs.drop_duplicates("run")["status"]
    counts = {name: int((statuses == name).sum()) for name in _STATUSES}
    return {"runs": len(statuses), **counts}


_STATUSES = ("ok", *AGAIN, MISSING)


def _tell(runs: pd.DataFrame, directory: Path, damaged: dict[str, str]) -> int:
    counts = _counts(runs)
    words = [f"{count} {name}" for name, count in counts.items() if count or name == "ok"]
    print(f"{directory}: {', '.join(words)}")  # noqa: T201
    bad = runs[~runs["status"].isin(("ok", MISSING))].drop_duplicates("run")
    for (status, reason), alike in bad.groupby(["status", "reason"], sort=False):
        more = f" ({len(alike)} runs; the first: {alike['run'].iloc[0]})"
        print(f"{status}: {reason}{more}")  # noqa: T201
    for name, why in damaged.items():
        print(f"damaged: runs/{name}: {why}; campaign run repeats it")  # noqa: T201
    return _exit(runs, damaged)


def _exit(runs: pd.DataFrame, damaged: dict[str, str]) -> int:
    if damaged or not runs["status"].isin((*FINE, "failed", "disturbed")).all():
        return 1
    return exit_status(list(runs["status"]))
