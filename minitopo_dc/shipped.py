"""Where the package is, and what comes with it: data, and modules that run as programs.

In the repository traces, templates, campaigns and the papers' tables are top-level folders, to
which `data` holds links; a wheel has the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Kind = Literal["traces", "templates", "campaigns", "reference", "videos"]
PACKAGE = Path(__file__).resolve().parent
SET_UP = Path("scripts", "setup.sh")
"""What makes a checkout's environment and tools; no package has it."""
SAFE_PATH = "PYTHONSAFEPATH"


def shipped(kind: Kind) -> Path:
    """The folder of one kind of data."""
    return (PACKAGE / "data" / kind).resolve()


def checkout() -> Path | None:
    """The root of the checkout that this package runs from; None when it is an installed copy."""
    root = PACKAGE.parent
    return root if (root / SET_UP).is_file() else None


def module_command(name: str) -> list[str]:
    """The command line that runs a module of the package, to which arguments are added.

    With `-P` Python does not look for modules in the user's current directory first.
    """
    return [sys.executable, "-P", "-m", name]


@contextmanager
def safe_path() -> Iterator[None]:
    """The same for the processes that `multiprocessing` spawns meanwhile."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before
