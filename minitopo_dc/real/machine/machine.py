"""Facts about this machine: all on which a run's numbers may depend."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from minitopo_dc.installation import module_command
from minitopo_dc.runners.base import all_runners
from minitopo_dc.runners.tools import Tool

TOOLS = (
    Tool("mnexec", None, "mininet"),
    Tool("ip", "-V", "iproute2"),
    Tool("iptables", "--version", "iptables"),
    Tool("ethtool", "--version", "ethtool"),
    Tool("sysctl", "--version", "procps"),
    Tool("setpriv", "--version", "util-linux"),
    Tool("tc", "-V", "iproute2"),
)
"""Programs that every run needs, whatever its transports; those of a transport its runner knows."""
PACKAGES = ("minitopo-dc", "mininet", "NetfilterQueue", "numpy", "pandas", "pydantic")
"""Python distributions that every run needs."""
NEEDS_ROOT = "needs root"
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
    text = json.dumps(facts(), indent=1)
    (directory / "environment.json").write_text(text, encoding="utf-8")


@functools.cache
def tool_version(tool: Tool) -> str | None:
    """Return the version of a program or its Debian package, else its path, None if missing."""
    path = tool.find()
    if path is None or tool.version_option is None:
        return path and (_debian_version(tool.package) or path)
    return _output(path, tool.version_option).partition("\n")[0] or path


@functools.cache
def probe_kernel() -> Mapping[str, str]:
    """Try what the testbed needs of the kernel, once in this process' life.

    Returns:
        For each of `kernel_probes.PROBES` why it failed; empty text when it works.
    """
    if os.geteuid() != 0:
        return defaultdict(lambda: NEEDS_ROOT)
    program = module_command("minitopo_dc.real.machine.kernel_probes")
    try:
        done = subprocess.run(
            ["unshare", "--net", *program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=True,
        )
        outcomes: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"no probe could run: {getattr(error, 'stderr', None) or error}".strip()
        return defaultdict(lambda: reason.splitlines()[-1])
    return outcomes


def _output(*command: str) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False
    )
    return done.stdout.strip()


def _debian_version(package: str | None) -> str | None:
    if package is None or (query := Tool("dpkg-query").find()) is None:
        return None
    version = _output(query, "--show", "--showformat=${Version}", package)
    return f"{package} {version}" if version else None


def _distribution() -> str:
    """Return the name of the distribution (os-release(5))."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown"


def _package_version(name: str) -> str | None:
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
