"""What this machine has, what that enables, and how to get what is missing."""

from __future__ import annotations

import importlib
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from minitopo_dc.installation import checkout
from minitopo_dc.real.machine.machine import (
    NEEDS_ROOT,
    TOOLS,
    facts,
    probe_kernel,
    tool_version,
)
from minitopo_dc.runners.base import all_runners

__all__ = [
    "ELEMENT",
    "KERNEL_BACKEND",
    "SEE_DETAIL",
    "Finding",
    "Status",
    "as_finding",
    "check",
    "exit_status",
    "facts",
    "root_command",
    "transport",
]

Status = Literal["ok", "missing", "optional-missing"]
ELEMENT = "element"
"""What every run on the real clock needs."""
KERNEL_BACKEND = "kernel backend"
SET_UP_AGAIN = "make setup-again"
SET_UP = "make setup, as root in a checkout (docs/setup.md)"
"""For what runs without a checkout."""
SEE_DETAIL = "see detail"
"""The remedy of what a runner has given its own."""
DISTRIBUTION_KERNEL = "boot the distribution's own kernel (Debian 12, Ubuntu 24.04 or newer)"
MODULE = "sudo modprobe {} (on Ubuntu first: sudo apt-get install linux-modules-extra-$(uname -r))"
QUEUE_MODULES = "nfnetlink_queue xt_NFQUEUE xt_mark xt_pkttype xt_addrtype iptable_mangle"
MODULES = ("mininet.net", "netfilterqueue")
"""Python modules that the element needs."""
KERNEL_NEEDS = (
    ("namespaces", ELEMENT, "allow namespaces (in a container: docker run --privileged)"),
    ("links", ELEMENT, "sudo modprobe veth"),
    ("routing by mark", ELEMENT, DISTRIBUTION_KERNEL),
    ("NFQUEUE", ELEMENT, f"sudo modprobe -a {QUEUE_MODULES}"),
    ("IPv6", "ip_version 6", "sudo modprobe ip6table_mangle, and boot without ipv6.disable=1"),
    ("SCHED_FIFO", "exact timers", "allow real-time scheduling (in a container: CAP_SYS_NICE)"),
    ("reno", "tcp", DISTRIBUTION_KERNEL),
    ("cubic", "congestion control cubic", "sudo modprobe tcp_cubic"),
    ("bbr", "congestion control bbr", MODULE.format("tcp_bbr")),
    ("MPTCP", "mptcp", f"sudo sysctl net.mptcp.enabled=1, or {DISTRIBUTION_KERNEL}"),
    ("sch_tbf", KERNEL_BACKEND, MODULE.format("sch_tbf")),
    ("sch_netem", KERNEL_BACKEND, MODULE.format("sch_netem")),
)
"""Probes of `kernel_probes.PROBES`: what each enables, and what to do when it fails."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of looking for one thing."""

    name: str
    status: Status
    detail: str
    """Version or path when it is there, else what happened."""
    enables: str
    """The capability that needs it."""
    remedy: str
    """The command, or the action, that gets it; empty when it is there."""


def check() -> list[Finding]:
    """Look for everything that the testbed uses; the kernel's features are tried, not guessed."""
    return [
        *_check_tools(),
        *_check_modules(),
        *_check_kernel(),
        *_check_transports(),
    ]


def exit_status(findings: Iterable[Finding]) -> int:
    """Return 0 when the main job can run (elements, TCP, QUIC), else 1."""
    return int(any(finding.status == "missing" for finding in findings))


def transport(name: str) -> str:
    """Return the name of the finding that says whether a transport can run."""
    return f"transport {name}"


def root_command() -> str:
    """Return the command line of `check` as root, with its path, as sudo has a PATH of its own."""
    command, here = Path(sys.executable).with_name("minitopo-dc"), Path.cwd()
    shown = command.relative_to(here) if command.is_relative_to(here) else command
    return shlex.join(["sudo", str(shown), "check"])


def _check_tools() -> Iterator[Finding]:
    for tool in TOOLS:
        enables = KERNEL_BACKEND if tool.name == "tc" else ELEMENT
        reason = "" if tool.find() else "not found"
        remedy = f"sudo apt-get install --no-install-recommends {tool.package}"
        yield as_finding(tool.name, enables, reason, remedy, found=tool_version(tool))


def _check_modules() -> Iterator[Finding]:
    remedy = SET_UP_AGAIN if checkout() else SET_UP
    for name in MODULES:
        yield as_finding(name, ELEMENT, _import_failure(name), remedy, found="importable")


def _import_failure(module: str) -> str:
    """Return why a module cannot be imported, empty text when it can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Mininet's own, of which its user can do nothing
        try:
            importlib.import_module(module)
        except ImportError as error:
            return str(error)
    return ""


def _check_kernel() -> Iterator[Finding]:
    outcomes = probe_kernel()
    for name, enables, remedy in KERNEL_NEEDS:
        reason = outcomes[name]
        action = root_command() if reason == NEEDS_ROOT else remedy
        yield as_finding(f"kernel: {name}", enables, reason, action, found="works")


def _check_transports() -> Iterator[Finding]:
    """Yield a finding for each runner; it is there when one congestion control works."""
    for runner in all_runners():
        controls = runner.congestion_controls or ("",)  # icmp has none
        reasons = {control: runner.unsupported(control) for control in controls}
        works = [control for control, reason in reasons.items() if reason is None]
        reason = "" if works else runner.missing() or str(next(iter(reasons.values())))
        remedy = SET_UP_AGAIN if runner.set_up and checkout() else SEE_DETAIL
        found = ", ".join(works) or "works"
        yield as_finding(transport(runner.name), runner.name, reason, remedy, found=found)


def as_finding(
    name: str, enables: str, reason: str, remedy: str, *, found: str | None = None
) -> Finding:
    """Return a finding; `reason` says what is wrong, or, if empty, `found` says what is there."""
    if not reason:
        return Finding(name, "ok", found or "", enables, "")
    status: Status = "missing" if _is_essential(enables) else "optional-missing"
    return Finding(name, status, reason, enables, remedy)


def _is_essential(enables: str) -> bool:
    """Return whether `minitopo-dc compare` on the real clock needs it."""
    return enables in (ELEMENT, *(runner.name for runner in all_runners() if runner.essential))
