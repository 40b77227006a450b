"""`minitopo-dc check`: what this machine has, and what that enables."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from rich.console import Console

from minitopo_dc.commands.check_report import report
from minitopo_dc.emulation.preflight import check, exit_status, facts

HELP = "tell what this machine has and what that enables"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--json", action="store_true", help="print facts and findings as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the main job can run here, else 1."""
    findings = check()
    if arguments.json:
        found = {"facts": facts(), "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(found, indent=1))  # noqa: T201
    else:
        console = Console()
        console.print(report(findings, console.width), soft_wrap=True)
    return exit_status(findings)
