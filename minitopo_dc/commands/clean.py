"""`minitopo-dc clean`: remove what killed runs left, and nothing else."""

from __future__ import annotations

import argparse

from minitopo_dc.emulation.machine.run_registry import clean

HELP = "remove what a killed run left: processes, and with them hosts, interfaces, firewall rules"


def add(parser: argparse.ArgumentParser) -> None:
    """Add no options, as the command has none."""


def execute(_arguments: argparse.Namespace) -> int:
    """Remove what killed runs left, and say what was removed; runs under way are left alone."""
    removed = clean()
    for run, processes in removed:
        print(f"run {run}: ended {len(processes)} processes and removed its hosts")  # noqa: T201
    if not removed:
        print("nothing to clean")  # noqa: T201
    return 0
