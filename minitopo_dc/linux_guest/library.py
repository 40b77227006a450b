"""What a guest is made of once it is built: where it is, what it is, how to get it."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from minitopo_dc.extension.place import NotBuiltError, find_file

COMMAND = "minitopo-dc build linux"
"""What makes it."""
CACHE = "linux"
"""The folder of caches that it is in (`extension.place`)."""
KERNEL = "linux"
RECORD = "made-of.json"
"""Beside the kernel: what it was made of (`build`)."""
AGENT, CONTROLLER = "agent", "controller.so"
HERE = Path(__file__).parent
PATCH = HERE / "kernel" / "linux-6.12.patch"
CONFIGURATION = HERE / "kernel" / "config"
HEADER = HERE / "controller" / "controller.h"


class Parts(NamedTuple):
    """The files of a guest."""

    kernel: Path
    agent: Path
    controller: Path


def kernel_name() -> str:
    """Of the kernel's folder: it changes with the patch and the configuration."""
    return f"kernel-{_digest([PATCH, CONFIGURATION])}"


def programs_name() -> str:
    """Of the folder with agent and controller: it changes with their sources."""
    return f"programs-{_digest([*agent_sources(), *controller_sources()])}"


def agent_sources() -> list[Path]:
    """The guest's first process: C files and their header."""
    return sorted((HERE / "agent").glob("*.[ch]"))


def controller_sources() -> list[Path]:
    """The guest's clock and cards: C files and their headers."""
    return sorted((HERE / "controller").glob("*.[ch]"))


def find() -> Parts | None:
    """The guest; None when a part is not here."""
    kernel = find_file(CACHE, f"{kernel_name()}/{KERNEL}")
    agent = find_file(CACHE, f"{programs_name()}/{AGENT}")
    controller = find_file(CACHE, f"{programs_name()}/{CONTROLLER}")
    return Parts(kernel, agent, controller) if kernel and agent and controller else None


def missing() -> str | None:
    """Why there is no guest here, and what to do; None when there is one."""
    return None if find() else f"the guest kernel is not built (get it: {COMMAND})"


def parts() -> Parts:
    """The guest.

    Raises:
        NotBuiltError: it is not here.
    """
    found = find()
    if found is None:
        raise NotBuiltError(missing())
    return found


def facts() -> dict[str, Any]:
    """What a guest's results may depend on, for `environment.json`."""
    made = json.loads((parts().kernel.parent / RECORD).read_text(encoding="utf-8"))
    return {
        "kernel": made["version"],
        "kernel_sha256": _sha256(parts().kernel),
        "agent_sha256": _sha256(parts().agent),
    }


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


@functools.cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
