"""What this machine has, what that enables, and how to get what is missing."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from rich.table import Table
from rich.text import Text

from minitopo_dc.emulation.machine import NEEDS_ROOT, facts, find_tool, probe_kernel, tool_version
from runners.base import CongestionControl, get_runner, runner_names

__all__ = ["Finding", "Status", "check", "exit_status", "facts", "render"]

Status = Literal["ok", "missing", "optional-missing"]
MAIN_JOB = frozenset({"element", "tcp", "quic"})
"""What ``minitopo-dc compare`` cannot do without; other transports become ``unsupported``."""
SET_UP = frozenset({"tcp", "quic", "quic-ngtcp2", "mptcp", "mpquic"})
"""The transports whose tools ``make setup`` gets."""
AS_ROOT = "sudo .venv/bin/minitopo-dc check"
DISTRIBUTION_KERNEL = "boot the distribution's own kernel (Debian 12, Ubuntu 24.04 or newer)"
MODULE = "sudo modprobe {} (on Ubuntu first: sudo apt-get install linux-modules-extra-$(uname -r))"
TOOL_NEEDS = (
    ("mnexec", "element", "mininet"),
    ("ip", "element", "iproute2"),
    ("iptables", "element", "iptables"),
    ("ethtool", "element", "ethtool"),
    ("sysctl", "element", "procps"),
    ("setpriv", "element", "util-linux"),
    ("tc", "kernel backend", "iproute2"),
)
"""Programs that no runner asks for: what each enables, and its package."""
KERNEL_NEEDS = (
    ("namespaces", "element", "allow namespaces (in a container: docker run --privileged)"),
    ("links", "element", "sudo modprobe veth"),
    ("routing by mark", "element", DISTRIBUTION_KERNEL),
    ("NFQUEUE", "element", "sudo modprobe -a nfnetlink_queue xt_NFQUEUE xt_mark iptable_mangle"),
    ("IPv6", "ip_version 6", "sudo modprobe ip6table_mangle, and boot without ipv6.disable=1"),
    ("SCHED_FIFO", "exact timers", "allow real-time scheduling (in a container: CAP_SYS_NICE)"),
    ("reno", "tcp", DISTRIBUTION_KERNEL),
    ("cubic", "congestion control cubic", "sudo modprobe tcp_cubic"),
    ("bbr", "congestion control bbr", MODULE.format("tcp_bbr")),
    ("MPTCP", "mptcp", f"sudo sysctl net.mptcp.enabled=1, or {DISTRIBUTION_KERNEL}"),
    ("sch_tbf", "kernel backend", MODULE.format("sch_tbf")),
    ("sch_netem", "kernel backend", MODULE.format("sch_netem")),
)
"""Probes of ``kernel_probes.PROBES``: what each enables, and what to do when it fails."""
STYLES: dict[Status, str] = {"ok": "green", "missing": "red", "optional-missing": "yellow"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for."""

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
    return [*_check_tools(), *_check_modules(), *_check_kernel(), *_check_transports()]


def exit_status(findings: Iterable[Finding]) -> int:
    """0 when the main job can run (elements, TCP, QUIC), else 1."""
    return int(any(finding.status == "missing" for finding in findings))


def render(findings: Iterable[Finding]) -> Table:
    """Return the findings as a table."""
    table = Table(title="What this machine has")
    for column in ("", "status", "enables", "detail", "remedy"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        status = Text(finding.status, STYLES[finding.status])
        # As Text: a command's words may hold what rich takes for markup.
        others = (Text(words) for words in (finding.enables, finding.detail, finding.remedy))
        table.add_row(Text(finding.name), status, *others)
    return table


def _check_tools() -> Iterator[Finding]:
    for name, enables, package in TOOL_NEEDS:
        reason = "" if find_tool(name) else "not found"
        remedy = f"sudo apt-get install --no-install-recommends {package}"
        yield _finding(name, enables, reason, remedy, found=tool_version(name))


def _check_modules() -> Iterator[Finding]:
    for name, enables in (("mininet.net", "element"), ("netfilterqueue", "element")):
        yield _finding(name, enables, _import_failure(name), "make setup-again", found="importable")


def _import_failure(module: str) -> str:
    """Why a module cannot be imported; empty when it can."""
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
        action = AS_ROOT if reason == NEEDS_ROOT else remedy
        yield _finding(f"kernel: {name}", enables, reason, action, found="works")


def _check_transports() -> Iterator[Finding]:
    """What each runner says of this machine; it is there when one congestion control works."""
    try:
        names = runner_names()
    except ImportError as error:
        yield _finding("transports", "tcp", str(error), "make setup-again")
        return
    for name in names:
        reasons = {each: get_runner(name).unsupported(each) for each in get_args(CongestionControl)}
        works = [each for each, reason in reasons.items() if reason is None]
        reason = "" if works else str(next(iter(reasons.values())))
        remedy = "make setup-again" if name in SET_UP else "see detail"
        yield _finding(f"transport {name}", name, reason, remedy, found=", ".join(works))


def _finding(
    name: str, enables: str, reason: str, remedy: str, *, found: str | None = None
) -> Finding:
    """``reason`` says what is wrong; when it is empty, ``found`` says what is there."""
    if not reason:
        return Finding(name, "ok", found or "", enables, "")
    status: Status = "missing" if enables in MAIN_JOB else "optional-missing"
    return Finding(name, status, reason, enables, remedy)
