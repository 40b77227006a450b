"""Programs of one's own on real packets: `exec` and `shell` from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.run_registry import REGISTRY, clean, processes_of
from tests.real.registry import alive, identity, wait_until

pytestmark = pytest.mark.root
COMMAND = [sys.executable, "-m", "minitopo_dc.cli"]
LEGS = ["--legs", "20", "20"]
STUBBORN = (
    "trap '' TERM; env -i setsid sleep 1000 & echo $! > left; echo $$ > pid.new; mv pid.new pid; "
    "while :; do sleep 0.1; done"
)
"""Ignores SIGTERM, and leaves a process that shows by its namespace alone whose it is."""


def run(
    directory: Path, command: str, *arguments: str, **more: Any
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, command, *LEGS, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


def test_a_program_has_the_addresses_and_takes_the_leg_of_mode_sc(tmp_path: Path) -> None:
    options = ("--mode", "sc", "--leg", "2", "--set", "ip_version=6", "--output", "out")
    script = "env | grep ^MINITOPO_DC_[SCL]; ping -qc 1 $MINITOPO_DC_SERVER >&2 && kill -KILL $$"
    done = run(tmp_path, "exec", *options, "--", "sh", "-c", script)
    assert done.returncode == 128 + signal.SIGKILL
    assert sorted(done.stdout.splitlines()) == [
        "MINITOPO_DC_CLIENT=fd00:10:2:2::2",
        "MINITOPO_DC_LEG_1=fd00:10:2:1::2",
        "MINITOPO_DC_LEG_2=fd00:10:2:2::2",
        "MINITOPO_DC_SERVER=fd00:10::2",
    ]
    found = json.loads((tmp_path / "out" / "exec.json").read_text())
    counts = [leg[way]["bytes"] for leg in found["legs"] for way in ("downlink", "uplink")]
    assert counts == [0, 0, 104, 104]  # 56 bytes, 8 of ICMPv6 and 40 of IPv6


def test_program_and_server_run_as_the_user_without_capabilities(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    who = "id -un; id -Gn; echo $HOME; grep CapEff /proc/self/status"
    server = ("--server", "sh -c 'id -un > server; sleep 100'")
    done = run(
        tmp_path, "exec", "--user", "nobody", *server, "--", "sh", "-c", f"{who}; cat server"
    )
    groups = "nogroup\n/nonexistent\nCapEff:\t0000000000000000\n"
    assert (done.stdout, done.returncode) == (f"nobody\n{groups}nobody\n", 0), done.stderr
    assert "runs as root" not in done.stderr


def test_who_called_sudo_is_the_user_and_a_signal_ends_his_program(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    script = "id -un > who; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.1; done"
    environment = {**os.environ, "SUDO_USER": "nobody"}
    command = [*COMMAND, "exec", *LEGS, "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        wait_until((tmp_path / "pid").exists, process)
        pid = int((tmp_path / "pid").read_text())
        process.kill()  # whoever started the program: it ends too
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    clean()
    assert (tmp_path / "who").read_text() == "nobody\n"
    assert not alive(pid)


@pytest.mark.long
def test_a_shell_has_the_terminal(tmp_path: Path) -> None:
    """Job control needs one; dash and bash complain where they have none."""
    shell = " ".join([*COMMAND, "shell", *LEGS, "--host", "server"])
    done = subprocess.run(
        ["script", "-qec", shell, "/dev/null"],
        cwd=tmp_path,
        env={**os.environ, "SHELL": "/bin/bash"},
        input="set -m; sleep 0.1 & wait; ip -brief address show > addresses; exit 3\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stdout
    assert "10.0.0.2/24" in (tmp_path / "addresses").read_text()
    assert "job control" not in done.stdout


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a stubborn program; whatever happens, nothing is left in the end."""
    processes = []

    def started() -> subprocess.Popen[str]:
        command = [*COMMAND, "exec", *LEGS, "--output", "out", "--", "sh", "-c", STUBBORN]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        wait_until((tmp_path / "pid").exists, process)
        return process

    yield started
    for process in processes:
        process.kill()
        process.wait()
    clean()
    left = tmp_path / "left"
    if left.exists() and alive(int(left.read_text())):  # nothing but its namespace shows its run
        os.kill(int(left.read_text()), signal.SIGKILL)
    for process in processes:
        process.communicate()


@pytest.mark.long
def test_sigterm_ends_even_a_stubborn_program_and_what_it_left(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start()
    run_id = identity(process)
    pids = [int((tmp_path / name).read_text()) for name in ("pid", "left")]
    assert all(map(alive, pids))
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGKILL
    assert not any(map(alive, pids))
    assert not processes_of(run_id)
    assert not (REGISTRY / f"{run_id}.json").exists()
    assert json.loads((tmp_path / "out" / "exec.json").read_text())["exit_status"] == 137


def test_a_dead_element_ends_the_program_with_a_status_of_its_own(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start()
    for pid in processes_of(identity(process)):
        if b"gnb-element.yaml" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    assert process.wait(30) == 125
    assert process.stderr is not None
    assert "element on gnb ended with -9" in process.stderr.read()
    assert not alive(int((tmp_path / "pid").read_text()))
