#!/usr/bin/env python3
"""List recorded runs and pictures that are older than what makes them; end with 1 if there are any.

`python scripts/fresh.py` compares the dates of last commits, so it needs a clone with its history.
An older picture is not wrong: somebody must look whether the change concerns it, and make it anew.
Tables that are made from recorded runs are compared by tests, byte by byte.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {
    "answer.png": "studies/which_is_better/recorded.py",
    "campaign-report.png": "minitopo_dc/report",
    "dc-policies.png": "minitopo_dc/plots/tables.py",
    "dc-policies-tcp.png": "minitopo_dc/plots/tables.py",
    "drive.png": "minitopo_dc/trace",
    "explore.png": "minitopo_dc/exploration",
    "first-result.png": "minitopo_dc/plots/over_time.py",
    "page-load.png": "examples/page_load",
    "path-outages.png": "minitopo_dc/plots/over_time.py",
    "path-script.png": "minitopo_dc/plots/over_time.py",
    "study-effects.png": "studies/which_is_better/report.py",
}
"""What draws each picture of `docs/images/`."""


def products() -> Iterator[tuple[Path, Path]]:
    """Yield each recorded file and picture with the file or folder that makes it."""
    for runs in sorted(ROOT.glob("studies/*/reference/*.parquet")):
        study = runs.parents[1]
        makers = (study / f"{runs.stem}.py", study / "campaign.py", study / "*.py")
        yield runs, next(path for path in makers if path.exists() or path.stem == "*")
    for picture in sorted((ROOT / "docs" / "images").iterdir()):
        yield picture, ROOT / PICTURES[picture.name]


def changed(path: Path) -> str:
    """Return when a file or folder was last changed, in ISO 8601; empty: in no commit."""
    command = ["git", "log", "-1", "--format=%cI", "--", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout[:19]


def main() -> int:
    """Print what is older than what makes it; return 1 if something is."""
    dates = [(product, changed(product), maker, changed(maker)) for product, maker in products()]
    stale = [line for line in dates if line[1] < line[3]]
    for product, made, maker, since in stale:
        names = product.relative_to(ROOT), maker.relative_to(ROOT)
        print(f"{names[0]} of {made}: {names[1]} has changed on {since}")  # noqa: T201
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
