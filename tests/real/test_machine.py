"""What this machine has, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from minitopo_dc.real import machine
from minitopo_dc.real.kernel_probes import PROBES
from minitopo_dc.real.machine import MachineFinding, check, exit_status, facts
from minitopo_dc.runners.base import get_runner, runner_names
from minitopo_dc.runners.programs import Tool

ORDINARY_USER = 1000


@pytest.fixture(autouse=True)
def fresh_look() -> Iterator[None]:
    """What one test makes of the machine must not be remembered for the next."""
    for cached in (machine.probe_kernel, machine.tool_version):
        cached.cache_clear()
    yield
    for cached in (machine.probe_kernel, machine.tool_version):
        cached.cache_clear()


def finding(name: str) -> MachineFinding:
    return next(each for each in check() if each.name == name)


def with_kernel(monkeypatch: pytest.MonkeyPatch, **reasons: str) -> None:
    """A kernel that can do everything but what has a reason."""
    monkeypatch.setattr(machine, "probe_kernel", lambda: defaultdict(str, reasons))


def test_every_probe_of_the_kernel_says_what_it_enables() -> None:
    assert [name for name, _, _ in machine.KERNEL_NEEDS] == list(PROBES)


@pytest.mark.parametrize(
    ("feature", "status"), [("NFQUEUE", "missing"), ("sch_netem", "optional-missing")]
)
def test_what_the_kernel_refuses_is_missing_with_its_words_and_a_remedy(
    feature: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_kernel(monkeypatch, **{feature: "No such file or directory"})
    found = finding(f"kernel: {feature}")
    assert (found.status, found.detail) == (status, "No such file or directory")
    assert "modprobe" in found.remedy


@pytest.mark.parametrize(
    ("here", "command"),
    [
        ("/home/u/checkout", ".venv/bin/minitopo-dc"),
        ("/tmp", "/home/u/checkout/.venv/bin/minitopo-dc"),
    ],
)
def test_an_ordinary_user_is_told_the_command_for_root_by_its_path_as_sudo_has_its_own(
    here: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: ORDINARY_USER)
    monkeypatch.setattr(sys, "executable", "/home/u/checkout/.venv/bin/python")
    monkeypatch.setattr(Path, "cwd", lambda: Path(here))
    found = finding("kernel: namespaces")
    assert (found.status, found.detail) == ("missing", "needs root")
    assert found.remedy == f"sudo {command} check"


def test_root_s_programs_are_found_by_a_user_whose_path_lacks_their_folders_and_no_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_kernel(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Tool("sysctl").find() in {"/usr/sbin/sysctl", "/sbin/sysctl"}
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    found = finding("mnexec")
    assert found.status == "missing"
    assert found.remedy.startswith("sudo apt-get install") and found.remedy.endswith("mininet")


@pytest.mark.parametrize(
    ("tool", "version"),
    [
        (Tool("curl", "--version"), "curl 9.9"),
        (Tool("gtlsclient", package="ngtcp2-client"), "ngtcp2-client 1.2-3"),
        (Tool("gtlsclient"), "{path}/gtlsclient"),
    ],
)
def test_the_version_of_a_program_is_its_first_line_or_its_package_s_or_unknown(
    tool: Tool, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = {"curl": "echo curl 9.9\necho more", "dpkg-query": "echo 1.2-3", "gtlsclient": ""}
    for name, script in lines.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.tool_version(tool) == version.format(path=tmp_path)


def test_a_probe_that_cannot_start_is_the_reason_for_every_feature(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "_privilege_obstacle", str)
    monkeypatch.setenv("PATH", str(tmp_path))
    outcomes = machine.probe_kernel()
    assert all("unshare" in outcomes[name] for name in PROBES)


@pytest.mark.parametrize(
    ("root", "remedy"),
    [(Path("/checkout"), "make setup-again"), (None, "make setup, as root in a checkout")],
)
def test_a_module_that_cannot_be_imported_is_missing_with_the_set_up_as_its_remedy(
    root: Path | None, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def import_module(name: str) -> ModuleType:
        if name == "mininet.net":
            raise ImportError(f"No module named {name!r}")
        return real(name)

    real = importlib.import_module
    with_kernel(monkeypatch)
    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.setattr(machine, "checkout", lambda: root)
    found = finding("mininet.net")
    assert (found.status, found.detail) == ("missing", "No module named 'mininet.net'")
    assert found.remedy.startswith(remedy)


def test_a_transport_that_cannot_run_says_what_it_lacks_not_what_it_never_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_kernel(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("minitopo_dc.runners.programs.SYSTEM_PLACES", ())
    found = finding("transport quic-ngtcp2")
    assert found.status == "optional-missing"
    assert found.detail.startswith("gtlsserver and gtlsclient are not installed")


@pytest.mark.parametrize(("name", "status"), [("quic", "missing"), ("mptcp", "optional-missing")])
def test_a_transport_is_missed_when_no_comparison_makes_sense_without_it(
    name: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_kernel(monkeypatch)
    monkeypatch.setattr(type(get_runner(name)), "obstacle", lambda _: "gone")
    monkeypatch.setattr(type(get_runner(name)), "run_obstacle", lambda *_: "gone")
    assert finding(f"transport {name}").status == status


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [(["ok", "ok"], 0), (["ok", "optional-missing"], 0), (["optional-missing", "missing"], 1)],
)
def test_the_exit_status_is_0_only_when_the_main_job_can_run(
    statuses: list[machine.Status], expected: int
) -> None:
    assert (
        exit_status(MachineFinding("x", status, "", "tcp", "") for status in statuses) == expected
    )


def test_the_facts_hold_what_every_runner_uses_and_can_be_written_with_findings_as_json() -> None:
    written = json.loads(json.dumps({"facts": facts(), "check": [asdict(f) for f in check()]}))
    told = written["facts"]
    assert told["kernel"] == os.uname().release
    tools = {tool.name for name in runner_names() for tool in get_runner(name).tools}
    assert {"ip", "tc", "iptables", "curl", "mptcpize", "gtlsclient", *tools} <= set(told["tools"])
    assert {"mininet", "aioquic", "h2", "hypercorn"} <= set(told["packages"])


@pytest.mark.parametrize("program", ["iptables", "grep"])
def test_a_program_that_root_lacks_on_path_is_the_real_clock_s_obstacle(
    program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Runs call it by its name, wherever else it may be."""
    for tool in machine.TOOLS:
        if tool.name != program:
            (tmp_path / tool.name).symlink_to("/bin/true")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "_privilege_obstacle", str)
    monkeypatch.setenv("PATH", str(tmp_path))
    remedy = f"sudo apt-get install --no-install-recommends {program}"
    assert machine.real_obstacle() == f"{program}: not on PATH; {remedy}"


@pytest.mark.root
@pytest.mark.parametrize(
    ("dropped", "words"),
    [
        ("-net_admin,-sys_admin", "root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN; give root all"),
        ("-net_raw", "root lacks CAP_NET_RAW; give root all"),
    ],
)
def test_root_without_a_capability_has_no_real_clock(dropped: str, words: str) -> None:
    program = "from minitopo_dc.clocks import default_clock; print(default_clock())"
    command = ["setpriv", "--bounding-set", dropped, sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "virtual\n"
    assert words in done.stderr


@pytest.mark.root
def test_a_program_that_may_not_be_run_has_no_version() -> None:
    """As ping, whose file has a capability."""
    program = (
        "from minitopo_dc.real.machine import tool_version, Tool;"
        "print(tool_version(Tool('ping', '-V')))"
    )
    command = ["setpriv", "--bounding-set", "-net_raw", sys.executable, "-c", program]
    assert Path(subprocess.check_output(command, text=True).strip()).name == "ping"


@pytest.mark.root
def test_the_main_job_can_run_here() -> None:
    assert [each for each in check() if each.status == "missing"] == []


@pytest.mark.alone
@pytest.mark.root
def test_the_probes_leave_nothing_behind_in_this_namespace() -> None:
    def state() -> list[str]:
        commands = ("ip -o link", "ip rule", "tc qdisc", "ip netns", "iptables -t mangle -S")
        return [subprocess.check_output(command.split(), text=True) for command in commands]

    before = state()
    assert not machine.probe_kernel()["NFQUEUE"]
    assert state() == before
