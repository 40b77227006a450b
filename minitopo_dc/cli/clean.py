"""Remove what killed runs left, and nothing else (`minitopo-dc clean`)."""

from __future__ import annotations

import argparse

from minitopo_dc.real.run_registry import clean
from minitopo_dc.scratch import remove_abandoned


def execute(_arguments: argparse.Namespace) -> int:
    """Remove what killed runs left, and say what was removed; runs under way are left alone."""
    removed = clean()
    for run, processes in removed.items():
        print(f"run {run}: ended {len(processes)} processes and removed its hosts")  # noqa: T201
    for place in (places := remove_abandoned()):
        print(f"removed {place}")  # noqa: T201
    if not removed and not places:
        print("nothing to clean")  # noqa: T201
    return 0
