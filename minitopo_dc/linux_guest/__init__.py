"""The files of a guest once it is built: where they are, what they are, how to get them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from minitopo_dc.extension import NotBuiltError, absence, digest_of, find_file

COMMAND = "minitopo-dc build linux"
"""The command that makes a guest."""
PROXY_COMMAND = "minitopo-dc build proxy"
"""The command that makes the agent, which is also the proxy of the real clock."""
CACHE = "linux"
"""The folder of caches that it is in (`extension`)."""
KERNEL = "linux"
RECORD = "made-of.json"
"""Beside the kernel: what it was made of (`build`)."""
AGENT, CONTROLLER = "agent", "controller.so"
HERE = Path(__file__).parent
PATCH = HERE / "kernel" / "linux-6.12.patch"
CONFIGURATION = HERE / "kernel" / "config"
HEADER = HERE / "controller" / "controller.h"
ORDERS = HERE / "agent" / "orders.h"


class Parts(NamedTuple):
    """The files of a guest: kernel, agent and controller."""

    kernel: Path
    agent: Path
    controller: Path


def kernel_name() -> str:
    """Return the name of the kernel's folder, which changes with patch and configuration."""
    return f"kernel-{_digest([PATCH, CONFIGURATION])}"


def programs_name() -> str:
    """Return the name of the folder of agent and controller, which changes with their sources."""
    return f"agent-and-controller-{_digest([*sources('agent'), *sources('controller')])}"


def sources(part: str) -> list[Path]:
    """Return the sources of the guest's first process (agent), or of its clock and cards."""
    return sorted((HERE / part).glob("*.[ch]"))


def find_agent() -> Path | None:
    """Return the agent, None when it is not here."""
    programs = find_file(CACHE, programs_name())
    return None if programs is None else programs / AGENT


def proxy_obstacle() -> str | None:
    """Return why there is no MPTCP proxy here and what to do, None when there is one."""
    if find_agent():
        return None
    return f"the MPTCP proxy is {absence(CACHE, programs_name())} (get it: {PROXY_COMMAND})"


def is_as_recorded(kernel: Path) -> bool:
    """Return whether a kernel is intact by the record of its build."""
    try:
        record = json.loads((kernel.parent / RECORD).read_text(encoding="utf-8"))
        return bool(digest_of(kernel) == record["kernel_sha256"])
    except (OSError, ValueError, KeyError):
        return False


def find_kernel() -> Path | None:
    """Return the kernel, None when it is not here."""
    return find_file(CACHE, _kernel_file(), is_as_recorded)


def find() -> Parts | None:
    """Return the guest's files, None when one of them is not here."""
    kernel, agent = find_kernel(), find_agent()
    return Parts(kernel, agent, agent.with_name(CONTROLLER)) if kernel and agent else None


def obstacle() -> str | None:
    """Return why there is no guest here and what to do, None when there is one."""
    if find_kernel() is None:
        return f"the guest kernel is {absence(CACHE, _kernel_file())} (get it: {COMMAND})"
    programs = "the guest's programs beside its kernel are not those of this version"
    return None if find() else f"{programs} (get them: {COMMAND}, under a minute)"


def parts() -> Parts:
    """Return the guest's files.

    Raises:
        NotBuiltError: it is not here.
    """
    guest = find()
    if guest is None:
        raise NotBuiltError(obstacle())
    return guest


def facts() -> dict[str, Any]:
    """Return what a guest's results may depend on, for `environment.json`."""
    made = json.loads((parts().kernel.parent / RECORD).read_text(encoding="utf-8"))
    return {
        "kernel": made["version"],
        "kernel_sha256": digest_of(parts().kernel),
        "agent_sha256": digest_of(parts().agent),
    }


def _kernel_file() -> str:
    return f"{kernel_name()}/{KERNEL}"


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
