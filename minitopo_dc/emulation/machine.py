"""What this machine is: everything about it that a run's numbers may depend on."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

BUILT_TOOLS = Path(__file__).resolve().parents[2] / ".cache" / "tquic" / "bin"
"""Where ``make setup`` puts what it builds."""
TOOLS = {
    "curl": "--version",
    "iptables": "--version",
    "ip": "-V",
    "tc": "-V",
    "ethtool": "--version",
    "mptcpize": "--version",
    "tquic_client": "--version",
    "picoquicdemo": None,
    "gtlsserver": None,
    "gtlsclient": None,
}
"""Programs that take part in a run, and how each is asked for its version (None: it cannot be)."""
DEBIAN_PACKAGES = {"gtlsserver": "ngtcp2-server", "gtlsclient": "ngtcp2-client"}
"""Of programs that do not tell their version."""
PACKAGES = (
    "minitopo-dc",
    "aioquic",
    "h2",
    "hypercorn",
    "mininet",
    "NetfilterQueue",
    "numpy",
    "pandas",
    "pydantic",
)
NEEDS_ROOT = "needs root"
PROBE_TIMEOUT_S = 30.0
"""Generous: all probes together take 0.2 s on an idle core."""


def facts() -> dict[str, Any]:
    """Return kernel, versions, processor and limits of this machine; JSON can hold them all."""
    return {
        "kernel": platform.release(),
        "distribution": _distribution(),
        "python": platform.python_version(),
        "cpu_model": _cpu_model(),
        "cpu_count": len(os.sched_getaffinity(0)),
        "packages": {name: _package_version(name) for name in PACKAGES},
        "tools": {name: tool_version(name) for name in TOOLS},
        "congestion_controls": _setting("net/ipv4/tcp_available_congestion_control"),
        "rmem_max": _setting("net/core/rmem_max"),
        "mptcp_enabled": _setting("net/mptcp/enabled"),
        "kernel_can": {name: reason or "ok" for name, reason in probe_kernel().items()},
    }


def save_facts(directory: Path) -> None:
    """Write ``environment.json``."""
    text = json.dumps(facts(), indent=1)
    (directory / "environment.json").write_text(text, encoding="utf-8")


def find_tool(name: str) -> str | None:
    """The path of a program; an ordinary user's PATH may lack the folders of root's programs."""
    places = [os.environ.get("PATH", ""), str(BUILT_TOOLS), "/usr/sbin", "/sbin"]
    return shutil.which(name, path=os.pathsep.join(places))


@functools.cache
def tool_version(name: str) -> str | None:
    """What a program or its Debian package says of its version, else its path; None: not here."""
    path, option = find_tool(name), TOOLS.get(name)
    if path is None or option is None:
        return path and (_debian_version(name) or path)
    return _output(path, option).partition("\n")[0] or path


@functools.cache
def probe_kernel() -> Mapping[str, str]:
    """Try what the testbed needs of the kernel, once in this process's life.

    Returns:
        For each of ``kernel_probes.PROBES`` why it failed; empty text when it works.
    """
    if os.geteuid() != 0:
        return defaultdict(lambda: NEEDS_ROOT)
    program = [sys.executable, "-m", "minitopo_dc.emulation.kernel_probes"]
    try:
        done = subprocess.run(
            ["unshare", "--net", *program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=True,
        )
        found: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"no probe could run: {getattr(error, 'stderr', None) or error}".strip()
        return defaultdict(lambda: reason.splitlines()[-1])
    return found


def _output(*command: str) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False
    )
    return done.stdout.strip()


def _debian_version(tool: str) -> str | None:
    package = DEBIAN_PACKAGES.get(tool)
    if package is None or (query := find_tool("dpkg-query")) is None:
        return None
    version = _output(query, "--show", "--showformat=${Version}", package)
    return f"{package} {version}" if version else None


def _distribution() -> str:
    """As os-release(5) names it."""
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
    """A kernel setting: a number, or a list of words; None: this kernel has no such setting."""
    try:
        words = Path("/proc/sys", name).read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(words[0]) if len(words) == 1 and words[0].isdigit() else words


def _cpu_model() -> str:
    """As /proc/cpuinfo names it; machines without that line are named by their architecture."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
