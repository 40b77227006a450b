"""Small campaigns of Python cases: downloads of 100 kB on the virtual clock."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc import Scenario
from minitopo_dc.campaign.plan import Case
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from tests import REPOSITORY

LEGS = [{"rate_mbps": 20, "delay_ms": 10}, {"rate_mbps": 20, "delay_ms": 20}]
BASE: dict[str, Any] = {
    "transport": "quic-picoquic",
    "mode": "dc",
    "clock": "virtual",
    "workload": {"size_mb": 0.1},
    "legs": LEGS,
}


def scenario(**changes: Any) -> Scenario:
    """A download over Dual Connectivity, with some fields changed."""
    return Scenario.check({**BASE, **changes}, "test")


def batches(*sizes: int) -> list[Case]:
    return [(scenario(pdcp={"batch": size}), {"batch": size}) for size in sizes]


HEAD = f"""
import minitopo_dc as dc
base = {BASE!r}
def batches(*sizes):
    return [(dc.Scenario(**base, pdcp={{"batch": size}}), {{"batch": size}}) for size in sizes]
"""
"""The first lines of a program."""


def program(*lines: str) -> str:
    """A script that has `base` and `batches` of above, without a guard."""
    return HEAD + "".join(textwrap.dedent(line) for line in lines)


def start(text: str, directory: Path, *, stdin: bool = False) -> subprocess.Popen[str]:
    """Start a program that stands in a file, or comes from standard input."""
    path = directory / "script.py"
    path.write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-" if stdin else str(path)],
        cwd=directory,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if stdin:
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
    return process


def run(text: str, directory: Path, *, stdin: bool = False) -> str:
    """Run a program to its end; return what it printed."""
    process = start(text, directory, stdin=stdin)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def fail(scenario: Scenario, directory: Path) -> RunResult:
    """A run that failed at once."""
    scenario.save(directory / "scenario.yaml")
    return replace(blank_result(scenario, directory), reason="it broke")
