"""Report what this machine has and which parts can run on it (`minitopo-dc check`)."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from minitopo_dc.clocks import run_scenario
from minitopo_dc.emulation.machine.machine import NEEDS_ROOT
from minitopo_dc.emulation.machine.preflight import (
    ELEMENT,
    KERNEL_BACKEND,
    SEE_DETAIL,
    Finding,
    Status,
    as_finding,
    check,
    exit_status,
    facts,
    root_command,
    transport,
)
from minitopo_dc.runners.base import Runner, all_runners, runner_names
from minitopo_dc.scenario import Leg, Scenario
from minitopo_dc.workloads import Download

HELP = "report what this machine has and which parts can run on it"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    parser.add_argument("--json", action="store_true", help="print facts and findings as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the main job can run here, else 1."""
    findings = [*check(), *virtual_transfers()]
    if arguments.json:
        found = {"facts": facts(), "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(found, indent=1))  # noqa: T201
    else:
        console = Console()
        console.print(report(findings, console.width), soft_wrap=True)
    return exit_status(findings)


def virtual_transfers() -> Iterator[Finding]:
    """Make a transfer by each transport on the virtual clock; yield what it says."""
    for runner in all_runners():
        if runner.has_virtual and TRANSFER.kind in runner.workloads:
            name = f"{runner.name} in virtual time"
            reason = _virtual_failure(runner)
            yield as_finding(name, VIRTUAL, reason, SEE_DETAIL, found="carried 0.1 MB")


def _virtual_failure(runner: Runner) -> str:
    """Return why a transfer does not succeed, empty text when it does."""
    scenario = Scenario(
        transport=runner.name,
        mode="multipath" if runner.multipath else "sc",
        legs=(LEG, LEG),
        workload=TRANSFER,
        congestion_control=runner.congestion_controls[0],
        clock="virtual",
    )
    with TemporaryDirectory() as directory:
        result = run_scenario(scenario, Path(directory, "run"))
    return result.reason


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
TITLES = {
    ELEMENT: "every run on the real clock",
    KERNEL_BACKEND: "legs of the kernel (backend: kernel)",
    VIRTUAL: "the virtual clock (--clock virtual)",
    "ip_version 6": "IPv6 (--ip 6)",
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


def report(findings: Sequence[Finding], width: int) -> Text:
    """Return lines of `width` characters; no word is broken, so that a longer one sticks out."""
    longest = max(len(_labelled(finding.name)) for finding in findings)
    page = _Page(column=longest + 8, width=width)
    sections: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=_place):
        sections.setdefault(_title(finding), []).append(finding)
    lines = [line for title, found in sections.items() for line in page.section(title, found)]
    return Text("\n").join([*lines, Text(), *page.conclusion(findings)])


def _place(finding: Finding) -> int:
    """Return a finding's place: what every run needs, then the transports, then their additions."""
    order = (ELEMENT, *runner_names())
    return order.index(finding.enables) if finding.enables in order else len(order)


def _title(finding: Finding) -> str:
    if finding.enables in runner_names():
        return transport(finding.enables)
    return TITLES.get(finding.enables, finding.enables)


def _labelled(name: str) -> str:
    """Return the name of a finding for display: that of a transport with its stack."""
    labels = {transport(each.name): transport(each.label) for each in all_runners()}
    return labels.get(name, name)


@dataclass(frozen=True, slots=True)
class _Page:
    """A layout of findings in lines of a given width."""

    column: int
    """The column in which what is said of a finding begins."""
    width: int

    def section(self, title: str, findings: Sequence[Finding]) -> Iterator[Text]:
        """Yield the lines of what is enabled, then of what it needs.

        An explanation that several findings in a row have comes once.
        """
        worst = min((each.status for each in findings), key=list(MARKS).index)
        own = [each for each in findings if each.name == title]
        label = _labelled(title)
        yield from self._line("", worst, label[0].upper() + label[1:], "".join(map(_status, own)))
        for words in (words for each in own for words in _explanation(each)):
            yield from self._wrapped(words, " " * 6, " " * 8)
        others = [each for each in findings if each not in own]
        for explanation, alike in groupby(others, key=_explanation):
            for each in alike:
                yield from self._line(" " * 4, each.status, each.name, _status(each))
            for words in explanation:
                yield from self._wrapped(words, " " * 10, " " * 12)

    def conclusion(self, findings: Sequence[Finding]) -> Iterator[Text]:
        """Yield whether a comparison can run, and what is not known."""
        yield from self._wrapped(CANNOT_RUN if exit_status(findings) else CAN_RUN, "", "  ")
        if any(finding.detail == NEEDS_ROOT for finding in findings):
            yield from self._wrapped(f"What needs root was not tried: {root_command()}", "", "  ")

    def _line(self, indent: str, status: Status, label: str, said: str) -> Iterator[Text]:
        mark, style = MARKS[status]
        begin = f"{indent}{mark} {label}".ljust(self.column)
        first, *more = self._wrapped(said, begin, " " * self.column) or [Text(begin.rstrip())]
        first.stylize(style, len(indent), len(indent) + len(mark))
        yield from (first, *more)

    def _wrapped(self, words: str, first: str, rest: str) -> list[Text]:
        """Return the lines of a text that is broken at blanks only."""
        lines = textwrap.wrap(
            words,
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return list(map(Text, lines))


def _status(finding: Finding) -> str:
    if finding.status == "ok" or finding.detail == NEEDS_ROOT:
        return finding.detail
    return "missing" if finding.status == "missing" else "missing, optional"


def _explanation(finding: Finding) -> tuple[str, ...]:
    """Return what is wrong, and what to do about it.

    The need for root is left out here, and said once at the end.
    """
    if finding.status == "ok" or finding.detail == NEEDS_ROOT:
        return ()
    if finding.remedy == SEE_DETAIL:
        return (finding.detail,)
    return (finding.detail, f"-> {finding.remedy}")
