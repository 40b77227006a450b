#!/usr/bin/env python3
"""Make the findings and figures of recorded runs anew, and list what is older than its code.

`python scripts/fresh.py` takes two minutes of CPU time and ends with 1 if it lists anything. What
follows from files of the repository is written in its place by the command that makes it, so that
git tells whether today's code makes another one. What shows a measurement or a browser is listed
if what draws it has changed since, by the dates of last commits in a clone with its history: such
a picture is not wrong, but somebody must look.

Tests compare the identities of recorded runs with those that campaigns plan (tests/studies).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible

ROOT = Path(__file__).resolve().parents[1]
IMAGES = "docs/images"
COMMANDS = (
    "scripts/findings.py",
    "studies/which_is_better/recorded.py",
    "studies/carriers/picture.py",
    f"-m minitopo_dc.cli trace cells traces/drive_road.csv --figure {IMAGES}/drive.png",
)
"""Arguments of Python that make what follows from files of the repository."""
MADE = ("docs", "studies")
"""Where they write."""
SHOWN = {
    "campaign-report.png": ("minitopo_dc/report", "a page in a browser"),
    "explore.png": ("minitopo_dc/cli/explore", "a page in a browser: docs/notebooks.md"),
    "first-result.png": ("minitopo_dc/plots/over_time.py", "real clock: make compare"),
    "path-outages.png": ("minitopo_dc/plots/over_time.py", "path_script.py --quick"),
    "path-script.png": ("minitopo_dc/plots/over_time.py", "path_script.py --quick"),
}
"""What draws each other picture of `docs/images/`, and why no command here does."""


def git(*arguments: str) -> str:
    """Return what git prints about the repository."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def changed(path: str) -> str:
    """Return when a file or folder was last changed, in ISO 8601; empty: in no commit."""
    return git("log", "-1", "--format=%cI", "--", path)[:19]


def main() -> int:
    """Print what today's code makes otherwise, and what is older than its code; return 1 if any."""
    for command in progress(COMMANDS):
        subprocess.run([sys.executable, *command.split()], cwd=ROOT, check=True)
    lines = [
        f"today's code makes another {name}" for name in git("diff", "--name-only", *MADE).split()
    ]
    for name, (maker, why) in SHOWN.items():
        made, since = changed(f"{IMAGES}/{name}"), changed(maker)
        if made < since:
            lines.append(f"{IMAGES}/{name} of {made} is older than {maker} of {since} ({why})")
    print(*lines, sep="\n")  # noqa: T201
    return 1 if lines else 0


if __name__ == "__main__":
    with interruptible("git tells which files are already made anew"):
        sys.exit(main())
