"""Report what this machine has and which parts can run on it, or what a scenario needs to run."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from minitopo_dc.clocks import run_scenario
from minitopo_dc.native.library import obstacle
from minitopo_dc.real.machine import (
    ELEMENT,
    KERNEL_BACKEND,
    NEEDS_ROOT,
    SEE_DETAIL,
    MachineFinding,
    Status,
    as_finding,
    check,
    exit_status,
    facts,
    root_command,
    transport,
)
from minitopo_dc.results.kept_scenario import load_to_run
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import Runner, all_runners, runner_names
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.needs import needs
from minitopo_dc.scenario import Clock, Core, Leg, Scenario
from minitopo_dc.scratch import scratch
from minitopo_dc.workloads import Command, Download, Ping, Workload


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the main job can run here, or the scenario falls short of nothing, else 1."""
    if arguments.scenario is not None:
        return _plan(arguments.scenario, as_json=arguments.json)
    findings = check()
    findings += transfers(findings)
    if arguments.json:
        machine = {"facts": facts(), "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(machine, indent=1))  # noqa: T201
    else:
        console = Console()
        console.print(report(findings, console.width), soft_wrap=True)
    return exit_status(findings)


def _plan(path: Path, *, as_json: bool) -> int:
    scenario = load_to_run(path)
    check_scenario(scenario)
    lines = needs(scenario)
    if as_json:
        print(json.dumps([need._asdict() for need in lines], indent=1))  # noqa: T201
    else:
        for need in lines:
            mark, _ = MARKS["ok" if need.is_met else "missing"]
            print(f"{mark} {need.words}")  # noqa: T201
    return 0 if all(need.is_met for need in lines) else 1


def transfers(findings: Sequence[MachineFinding]) -> Iterator[MachineFinding]:
    """Use each transport on each clock that the other findings allow; yield what came of it."""
    allowed = {finding.name for finding in findings if finding.status == "ok"}
    if all(finding.status == "ok" for finding in findings if finding.enables == ELEMENT):
        runners = [runner for runner in all_runners() if transport(runner.name) in allowed]
        with Console(stderr=True).status("a small transfer of each transport on the real clock"):
            yield from (_transfer(runner, "real", runner.name) for runner in runners)
    yield from virtual_transfers()


def virtual_transfers() -> Iterator[MachineFinding]:
    """Use each transport on the virtual clock; yield what came of it, and which core did it."""
    for runner in all_runners():
        if runner.has_virtual:
            yield _transfer(runner, "virtual", VIRTUAL)
    yield as_finding("core in C", VIRTUAL, obstacle() or _core_difference(), SEE_DETAIL, found=SAME)


def _transfer(runner: Runner, clock: Clock, enables: str) -> MachineFinding:
    """Run the least work of a transport; it may be disturbed, as nobody looks at its numbers."""
    scenario = Scenario(
        transport=runner.name,
        mode="multipath" if runner.multipath else "sc",
        legs=(LEG, LEG),
        workload=next(least for least in SMALLEST if least.kind in runner.workloads),
        congestion_control=runner.congestion_controls[0] if runner.congestion_controls else "cubic",
        clock=clock,
    )
    result = _run(scenario)
    reason = "" if result.status in ("ok", "disturbed") else result.reason
    kind = result.workload
    outcome = "carried 0.1 MB" if kind == TRANSFER.kind else f"did a {kind}"
    return as_finding(
        f"{runner.name} on the {clock} clock", enables, reason, SEE_DETAIL, found=outcome
    )


def _run(scenario: Scenario) -> RunResult:
    with scratch() as directory:
        return run_scenario(scenario, directory / "run")


def _core_difference() -> str:
    """Return how a run of the core in C differs from the one in Python; empty: it does not."""
    scenario = Scenario(
        transport="quic", mode="dc", legs=(LEG, LEG), workload=TRANSFER, clock="virtual"
    )
    cores: tuple[Core, ...] = ("native", "python")
    runs = [_run(scenario.evolve(virtual={"core": core})) for core in cores]
    times = [result.reason or f"{result.completion_s} s" for result in runs]
    return "" if times[0] == times[1] else f"a transfer took {times[0]}, in Python {times[1]}"


MARKS: dict[Status, tuple[str, str]] = {
    "missing": ("✗", "red"),
    "optional-missing": ("-", "yellow"),
    "ok": ("✓", "green"),
}
"""The marks by status, the worst first: a section has that of its worst finding."""
VIRTUAL = "virtual clock"
LEG = Leg(rate_mbps=20, delay_ms=10)
TRANSFER = Download(size_mb=0.1)
"""What a transport carries to show that it works: less than a second over such legs."""
SMALLEST: Sequence[Workload] = (TRANSFER, Ping(count=1), Command(client=("true",)))
"""The least work of any transport."""
SAME = "a transfer takes the same time as in Python"
TITLES = {
    ELEMENT: "every run on the real clock",
    KERNEL_BACKEND: "legs of the kernel (backend: kernel)",
    VIRTUAL: "the virtual clock (--clock virtual)",
    "ip_version 6": "IPv6 (--set ip_version=6)",
    "exact timers": "exact timers on a busy machine",
    "congestion control cubic": "congestion controls of the kernel",
    "congestion control bbr": "congestion controls of the kernel",
}
"""The titles of what is enabled; a transport's is the name of its finding."""
CAN_RUN = "Comparisons can run here on the real clock: minitopo-dc compare"
CANNOT_RUN = (
    "The real clock cannot run here (✗). The virtual clock needs none of this: "
    "minitopo-dc compare --clock virtual"
)


Row = tuple[str, Status | None, str, str]
"""A line of the report: its indentation, a mark's status, a label, and what is said of it."""


def report(findings: Sequence[MachineFinding], width: int) -> Text:
    """Return lines of `width` characters; no word is broken, so that a longer one sticks out.

    What every run needs comes first, then the transports, then their additions.
    """
    column = max(len(_labelled(finding.name)) for finding in findings) + 8
    sections: dict[str, list[MachineFinding]] = {}
    for finding in findings:
        enables = finding.enables
        is_transport = enables in runner_names()
        title = transport(enables) if is_transport else TITLES.get(enables, enables)
        sections.setdefault(title, []).append(finding)
    places = {name: place for place, name in enumerate((ELEMENT, *runner_names()))}
    titles = sorted(sections, key=lambda title: places.get(sections[title][0].enables, len(places)))
    rows = [row for title in titles for row in _section(title, sections[title])]
    rows += [("", None, "", ""), ("", None, "", CANNOT_RUN if exit_status(findings) else CAN_RUN)]
    if any(finding.detail == NEEDS_ROOT for finding in findings):
        rows.append(("", None, "", f"What needs root was not tried: {root_command()}"))
    return Text("\n").join(line for row in rows for line in _wrapped(row, column, width))


def _labelled(name: str) -> str:
    """Return the name of a finding for display: that of a transport with its stack."""
    labels = {transport(runner.name): transport(runner.label) for runner in all_runners()}
    return labels.get(name, name)


def _section(title: str, findings: Sequence[MachineFinding]) -> Iterator[Row]:
    """Yield what is enabled, then what it needs.

    An explanation that several findings in a row have comes once.
    """
    worst = min((finding.status for finding in findings), key=list(MARKS).index)
    own = [finding for finding in findings if finding.name == title]
    label = _labelled(title)
    yield "", worst, label[0].upper() + label[1:], "".join(map(_status, own))
    yield from ((" " * 6, None, "", words) for finding in own for words in _explanation(finding))
    others = [finding for finding in findings if finding not in own]
    for explanation, alike in groupby(others, key=_explanation):
        yield from ((" " * 4, each.status, each.name, _status(each)) for each in alike)
        yield from ((" " * 10, None, "", words) for words in explanation)


def _wrapped(row: Row, column: int, width: int) -> Iterator[Text]:
    """Yield the lines of a row; what is said of a label begins in a column."""
    indent, status, label, said = row
    mark, style = ("", "") if status is None else MARKS[status]
    begin = indent if status is None else f"{indent}{mark} {label}".ljust(column)
    lines = textwrap.wrap(
        said,
        width,
        initial_indent=begin,
        subsequent_indent=f"{indent}  " if status is None else " " * column,
        break_long_words=False,
        break_on_hyphens=False,
    )
    first, *more = map(Text, lines or [begin.rstrip()])
    first.stylize(style, len(indent), len(indent) + len(mark))
    yield from (first, *more)


def _status(finding: MachineFinding) -> str:
    if finding.status == "ok" or finding.detail == NEEDS_ROOT:
        return finding.detail
    return "missing" if finding.status == "missing" else "missing, optional"


def _explanation(finding: MachineFinding) -> tuple[str, ...]:
    """Return what is wrong, and what to do about it.

    The need for root is left out here, and said once at the end.
    """
    if finding.status == "ok" or finding.detail == NEEDS_ROOT:
        return ()
    if finding.remedy == SEE_DETAIL:
        return (finding.detail,)
    return (finding.detail, f"-> {finding.remedy}")
