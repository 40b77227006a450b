"""This machine: all on which a run's numbers may depend, what that enables, what is missing."""

from __future__ import annotations

import functools
import importlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from minitopo_dc.files import write_json
from minitopo_dc.installation import checkout, module_command
from minitopo_dc.runners.base import all_runners
from minitopo_dc.runners.programs import Tool

TOOLS = (
    Tool("mnexec", None, "mininet"),
    Tool("bash", "--version", "bash"),
    Tool("grep", "--version", "grep"),
    Tool("ifconfig", None, "net-tools"),
    Tool("which", None, "debianutils"),
    Tool("ip", "-V", "iproute2"),
    Tool("iptables", "--version", "iptables"),
    Tool("ethtool", "--version", "ethtool"),
    Tool("sysctl", "--version", "procps"),
    Tool("setpriv", "--version", "util-linux"),
    Tool("unshare", "--version", "util-linux"),
    Tool("tc", "-V", "iproute2"),
)
"""Programs that every run needs, Mininet's own too, whatever its transports; those of a transport
its runner knows."""
PACKAGES = ("minitopo-dc", "mininet", "NetfilterQueue", "numpy", "pandas", "pydantic")
"""Python distributions that every run needs."""
NEEDS_ROOT = "needs root"
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""What root may lack in a container, and every run needs: the bits of capabilities(7)."""
LACKS = "root lacks "
PROBE_TIMEOUT_S = 30.0
"""Generous: all probes together take 0.2 s on an idle core."""


def facts() -> dict[str, Any]:
    """Return kernel, versions, processor and limits of this machine, in types of JSON."""
    runners = all_runners()
    packages = (*PACKAGES, *(name for runner in runners for name in runner.packages))
    tools = (*TOOLS, *(tool for runner in runners for tool in runner.tools))
    return {
        "kernel": platform.release(),
        "distribution": _distribution(),
        "python": platform.python_version(),
        "cpu_model": _cpu_model(),
        "cpu_count": len(os.sched_getaffinity(0)),
        "packages": {name: _package_version(name) for name in packages},
        "tools": {tool.name: tool_version(tool) for tool in tools},
        "congestion_controls": _setting("net/ipv4/tcp_available_congestion_control"),
        "rmem_max": _setting("net/core/rmem_max"),
        "mptcp_enabled": _setting("net/mptcp/enabled"),
        "kernel_can": {name: reason or "ok" for name, reason in probe_kernel().items()},
    }


def save_facts(directory: Path) -> None:
    """Write these facts to `environment.json` in a directory."""
    write_json(directory / "environment.json", facts(), synced=False)


@functools.cache
def tool_version(tool: Tool) -> str | None:
    """Return the version of a program or its Debian package, else its path, None if missing."""
    path, query, version = tool.find(), Tool("dpkg-query").find(), ""
    if path is not None and tool.version_option is not None:
        version = _output(path, tool.version_option).partition("\n")[0]
    elif path is not None and tool.package is not None and query is not None:
        known = _output(query, "--show", "--showformat=${Version}", tool.package)
        version = known and f"{tool.package} {known}"
    return version or path


@functools.cache
def probe_kernel() -> Mapping[str, str]:
    """Try what the testbed needs of the kernel, once in this process' life.

    Returns:
        For each of `kernel_probes.PROBES` why it failed; empty text when it works.
    """
    if privilege := _privilege_obstacle():
        return defaultdict(lambda: privilege)
    program = module_command("minitopo_dc.real.kernel_probes")
    try:
        done = _run("unshare", "--net", *program, timeout_s=PROBE_TIMEOUT_S)
        done.check_returncode()
        outcomes: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"no probe could run: {getattr(error, 'stderr', None) or error}".strip()
        return defaultdict(lambda: reason.splitlines()[-1])
    return outcomes


def _privilege_obstacle() -> str:
    """Return the privilege that this process lacks, or empty text (proc(5), CapEff)."""
    if os.geteuid() != 0:  # Mininet asks for the user's number, whatever else is allowed
        return NEEDS_ROOT
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    missing = [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]
    return LACKS + ", ".join(missing) if missing else ""


def _output(*command: str) -> str:
    """Return what a program prints; empty text if this process may not run it."""
    try:
        return _run(*command, timeout_s=10).stdout.strip()
    except OSError:  # as of ping, which has file capabilities, where they are not allowed
        return ""


def _run(*command: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    text: Any = {"stdin": subprocess.DEVNULL, "encoding": "utf-8", "errors": "replace"}
    return subprocess.run(command, capture_output=True, timeout=timeout_s, check=False, **text)


def _distribution() -> str:
    """Return the name of the distribution (os-release(5))."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown"


@functools.cache
def _package_version(name: str) -> str | None:
    """Return a package's version, read once a process; None: it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _setting(name: str) -> int | list[str] | None:
    """Return a kernel setting: a number, or a list of words; None if the kernel has no such one."""
    try:
        words = Path("/proc/sys", name).read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(words[0]) if len(words) == 1 and words[0].isdigit() else words


def _cpu_model() -> str:
    """Return the processor's name (/proc/cpuinfo), or the architecture where there is none."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


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
PRIVILEGED = "give root all capabilities (in a container: docker run --privileged)"
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
class MachineFinding:
    """The result of looking for one thing."""

    name: str
    status: Status
    detail: str
    """Version or path when it is there, else what happened."""
    enables: str
    """The capability that needs it."""
    remedy: str
    """The command, or the action, that gets it; empty when it is there."""


def check() -> list[MachineFinding]:
    """Look for everything that the testbed uses; the kernel's features are tried, not guessed."""
    return [*_check_tools(), *_check_modules(), *_check_kernel(), *_check_transports()]


def real_obstacle() -> str | None:
    """Return the first that every run on the real clock lacks here, with its remedy, or None."""
    if _privilege_obstacle() == NEEDS_ROOT:
        return "not root"
    findings = chain(_check_tools(), _check_modules(), _check_kernel())
    missing = (one for one in findings if (one.enables, one.status) == (ELEMENT, "missing"))
    first = next(missing, None)
    return None if first is None else f"{first.name}: {first.detail}; {first.remedy}"


def exit_status(findings: Iterable[MachineFinding]) -> int:
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


def _check_tools() -> Iterator[MachineFinding]:
    for tool in TOOLS:
        enables = KERNEL_BACKEND if tool.name == "tc" else ELEMENT
        # Runs call them by name; a user who is not root would have them from sudo's PATH.
        path = tool.find() if os.geteuid() else shutil.which(tool.name)
        reason = "" if path else "not on PATH"
        remedy = f"sudo apt-get install --no-install-recommends {tool.package}"
        yield as_finding(tool.name, enables, reason, remedy, found=tool_version(tool))


def _check_modules() -> Iterator[MachineFinding]:
    remedy = SET_UP_AGAIN if checkout() else SET_UP
    for name in MODULES:
        reason = ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Mininet's own, of which its user can do nothing
            try:
                importlib.import_module(name)
            except ImportError as error:
                reason = str(error)
        yield as_finding(name, ELEMENT, reason, remedy, found="importable")


def _check_kernel() -> Iterator[MachineFinding]:
    outcomes = probe_kernel()
    for name, enables, remedy in KERNEL_NEEDS:
        reason = outcomes[name]
        action = PRIVILEGED if reason.startswith(LACKS) else remedy
        action = root_command() if reason == NEEDS_ROOT else action
        yield as_finding(f"kernel: {name}", enables, reason, action, found="works")


def _check_transports() -> Iterator[MachineFinding]:
    """Yield a finding for each runner; it is there when one congestion control works."""
    for runner in all_runners():
        controls = runner.congestion_controls or ("",)  # icmp has none
        reasons = {control: runner.run_obstacle(control) for control in controls}
        works = [control for control, reason in reasons.items() if reason is None]
        reason = "" if works else runner.obstacle() or str(next(iter(reasons.values())))
        remedy = SET_UP_AGAIN if runner.set_up and checkout() else SEE_DETAIL
        found = ", ".join(works) or "works"
        yield as_finding(transport(runner.name), runner.name, reason, remedy, found=found)


def as_finding(
    name: str, enables: str, reason: str, remedy: str, *, found: str | None = None
) -> MachineFinding:
    """Return a finding; `reason` says what is wrong, or, if empty, `found` says what is there."""
    if not reason:
        return MachineFinding(name, "ok", found or "", enables, "")
    essential = (ELEMENT, *(runner.name for runner in all_runners() if runner.essential))
    status: Status = "missing" if enables in essential else "optional-missing"
    return MachineFinding(name, status, reason, enables, remedy)
