"""The location of the package, of the data that come with it, and of modules run as programs.

In the repository traces, templates and studies are top-level folders, to
which `data` holds links; a wheel has the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Kind = Literal["traces", "templates", "studies", "videos"]
PACKAGE = Path(__file__).resolve().parent
SET_UP = Path("scripts", "setup.sh")
"""The script that makes a checkout's environment and tools; no package has it."""
SAFE_PATH = "PYTHONSAFEPATH"


def shipped(kind: Kind) -> Path:
    """Return the folder of one kind of shipped data."""
    return (PACKAGE / "data" / kind).resolve()


def checkout() -> Path | None:
    """Return the root of the checkout that this package runs from; None for an installed copy."""
    root = PACKAGE.parent
    return root if (root / SET_UP).is_file() else None


def module_command(name: str) -> list[str]:
    """Return the command line that runs a module of the package, to which arguments are added.

    With `-P` Python does not look for modules in the user's current directory first.
    """
    return [sys.executable, "-P", "-m", name]


@contextmanager
def safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH for the processes that `multiprocessing` spawns inside the block.

    They, too, do not look for modules in the user's current directory first.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before
