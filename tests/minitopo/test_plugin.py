"""Runs inside a Minitopo checkout: the stand-in of these tests, and the user's own ($MINITOPO)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from minitopo_dc.real.run_registry import REGISTRY, processes_of
from tests import long
from tests.minitopo.files import DUAL
from tests.minitopo.test_minitopo_checkout import CHECKOUT

pytestmark = pytest.mark.root
SINGLE = "topoType:MultiIf\npath_c2r_0:10,100,20\n"
DOWNLOAD = "file_size:500\nrmem:4096 87380 300000\nserverPcap:yes\n"


@pytest.fixture(params=["stand-in", "own"])
def checkout(request: pytest.FixtureRequest) -> Path:
    if request.param == "stand-in":
        return CHECKOUT
    if "MINITOPO" not in os.environ:
        pytest.skip("$MINITOPO names no checkout")
    return Path(os.environ["MINITOPO"])


def command(
    checkout: Path, directory: Path, topology: str, experiment: str | None, *more: str
) -> list[str]:
    (directory / "topo").write_text(topology, encoding="utf-8")
    files = ["-t", str(directory / "topo")]
    if experiment is not None:
        (directory / "xp").write_text(experiment, encoding="utf-8")
        files += ["-x", str(directory / "xp")]
    words = [sys.executable, "-m", "minitopo_dc.cli", "minitopo", "--minitopo", str(checkout)]
    return [*words, *files, "--output", str(directory / "out"), *more]


def run(
    checkout: Path,
    directory: Path,
    topology: str,
    experiment: str | None,
    *more: str,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    words = command(checkout, directory, topology, experiment, *more)
    return subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)


def check_files(run: Path) -> None:
    """That a run has the files of any run, and what it received."""
    environment = json.loads((run / "environment.json").read_text(encoding="utf-8"))
    assert environment["kernel"] == os.uname().release
    rows = (run / "client-rate.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "time_s,received_bytes"
    assert int(rows[-1].split(",")[1]) > 512_000
    assert (run / "server.pcap").stat().st_size > 512_000
    names = ("scenario.yaml", "result.json", "client.log", "server.log")
    assert all((run / name).exists() for name in names)


def test_our_experiment_runs_on_our_topology(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path, DUAL, f"xpType:tcp\n{DOWNLOAD}")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert (result["status"], result["mode"], result["size_bytes"]) == ("ok", "dc", 512_000)
    assert min(result["leg_bytes"]) > 100_000
    check_files(tmp_path / "out")


@pytest.mark.alone
def test_minitopo_s_own_experiment_runs_on_our_topology(checkout: Path, tmp_path: Path) -> None:
    topology = "topoType:DualConnectivity\npath_c2r_0:10,100,20\npath_c2r_1:40,100,20\n"
    topology += "changeNetem:yes\nnetemAt_c2r_1:0,delay 50ms\nnetemAt_c2r_1:100,delay 1ms\n"
    done = run(checkout, tmp_path, topology, "xpType:ping\npingCount:2\n")
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "out" / "ping.log").read_text(encoding="utf-8")
    found = [float(value) for value in re.findall(r"min/avg/max/mdev = ([\d.]+)", log)]
    assert found == pytest.approx([20, 100], abs=1.5)
    assert done.stdout.count("2 packets transmitted, 2 received") == 2
    assert done.stdout.count("rtt min/avg/max/mdev") == 2


def test_our_experiment_runs_on_a_topology_of_the_checkout(tmp_path: Path) -> None:
    """Its router does not forward by itself; what it lacks of the file is named, and no more."""
    text = "leftSubnet:10.0.\nseed:2\nchangeNetem:yes\nnetemAt_c2r_0:100,loss 1%\n"
    done = run(CHECKOUT, tmp_path, SINGLE + text, f"xpType:tcp\n{DOWNLOAD}")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "ok"
    assert 512_000 < result["leg_bytes"][0] < 600_000
    check_files(tmp_path / "out")
    assert [line.split(": ")[2] for line in done.stderr.splitlines()] == ["changeNetem", "seed"]
    assert "topo:5: changeNetem: Minitopo's changes take away the delay" in done.stderr


@pytest.mark.long
def test_both_experiments_run_over_ipv6_on_our_topology(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path, DUAL, "xpType:ping\npingCount:1\n", "--ip", "6")
    assert done.returncode == 0, done.stderr
    assert "fd00:10:2:2::2 : 56 data bytes\n1 packets transmitted, 1 received" in done.stdout
    (tmp_path / "tcp").mkdir()
    done = run(checkout, tmp_path / "tcp", DUAL, f"xpType:tcp\n{DOWNLOAD}", "--ip", "6")
    assert json.loads(done.stdout)["status"] == "ok"


def test_minitopo_s_own_topologies_are_ipv4_only(tmp_path: Path) -> None:
    done = run(CHECKOUT, tmp_path, SINGLE, "xpType:ping\n", "--ip", "6")
    assert done.returncode == 2
    assert "--ip 6: allowed with topoType:DualConnectivity" in done.stderr


def test_without_an_experiment_its_command_line_is_opened(checkout: Path, tmp_path: Path) -> None:
    """Mininet's own takes what follows a command for that command's input."""
    commands = "Client_0 ping -c 1 Server_0\n"
    done = run(checkout, tmp_path, DUAL, None, stdin=commands)
    assert done.returncode == 0, done.stderr
    assert "1 packets transmitted, 1 received" in done.stderr


def process_with(argument: Path | str, among: Iterable[int] | None = None) -> int:
    """The process with this word in its command line."""
    every = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    for process in every if among is None else among:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if str(argument).encode() in words:
                return process
    raise AssertionError(f"no process has {argument}")


def identity(command: subprocess.Popen[bytes]) -> str:
    """The id of the run of this command."""
    entries = ((path.stem, json.loads(path.read_text())) for path in REGISTRY.glob("*.json"))
    return next(name for name, entry in entries if entry["pid"] == command.pid)


@pytest.mark.long
def test_a_dead_element_is_the_reason_of_the_failure(tmp_path: Path) -> None:
    experiment = "xpType:tcp\nfile_size:50000\ntimeout:60\n"
    words = command(CHECKOUT, tmp_path, DUAL, experiment)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not (tmp_path / "out" / "client.log").exists():
            assert running.poll() is None
            time.sleep(0.05)
        os.kill(process_with(tmp_path / "out" / "gnb-element.yaml"), signal.SIGKILL)
        assert running.wait(30) == 1
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["status"] == "failed"
    assert result["reason"].startswith("element on gnb ended with -9 during the run")


def test_a_run_whose_host_was_killed_has_failed(tmp_path: Path) -> None:
    """Mininet waits for the host: for the end of its pings, and to take it down."""
    words = command(CHECKOUT, tmp_path, SINGLE, "xpType:ping\npingCount:100\n")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        while not (tmp_path / "out" / "ping.log").exists():
            assert running.poll() is None
            time.sleep(0.05)
        run = identity(running)
        os.kill(process_with("mininet:Client_0", processes_of(run)), signal.SIGKILL)
        _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "host Client_0: its shell ended with -9" in said.decode()
    assert not processes_of(run)


@pytest.mark.long
def test_an_experiment_that_pings_before_it_prepares_runs_on_our_topology(
    checkout: Path, tmp_path: Path
) -> None:
    """Time zero, when the changes begin to count, is not yet."""
    if checkout != CHECKOUT and not shutil.which("iperf"):
        pytest.skip("no iperf")
    name = "before" if checkout == CHECKOUT else "iperf"
    done = run(checkout, tmp_path, DUAL, f"xpType:{name}\niperfTime:1\npingCount:1\n")
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "out" / "ping.log").read_text(encoding="utf-8")
    assert log.count("1 packets transmitted, 1 received") == 2


@pytest.mark.parametrize(("topology", "own"), [long(SINGLE, True), (DUAL, False)])
def test_a_name_of_both_is_the_topology_s_owner_s(topology: str, own: bool, tmp_path: Path) -> None:
    done = run(CHECKOUT, tmp_path, topology, "xpType:quic\nfile_size:100\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "own_quic.log").exists() == own
    assert (tmp_path / "out" / "result.json").exists() != own


@pytest.mark.skipif(bool(shutil.which("ovs-vsctl")), reason="this machine has Open vSwitch")
def test_links_that_this_machine_cannot_make_are_refused(checkout: Path, tmp_path: Path) -> None:
    """Minitopo would measure a path without delay and say that all is well."""
    topology = SINGLE if checkout != CHECKOUT else SINGLE.replace("MultiIf", "Shaped")
    done = run(checkout, tmp_path, topology, "xpType:ping\n")
    assert done.returncode == 1
    assert "Open vSwitch (ovs-vsctl), which Minitopo's links are made of" in done.stderr
    assert not (tmp_path / "out" / "ping.log").exists()


@pytest.mark.long
def test_an_error_of_the_checkout_fails_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    before = set(Path("/sys/class/net").iterdir())
    done = run(CHECKOUT, tmp_path, DUAL, "xpType:exits\n")  # a program is missing
    assert done.returncode == 1
    assert done.stderr.endswith("minitopo-dc: Mininet ended the run: exit status 1\n")
    shutil.rmtree(tmp_path / "out")
    done = run(CHECKOUT, tmp_path, DUAL, "xpType:broken\n")
    assert done.returncode == 1
    assert "LookupError('a mistake of this experiment'): see " in done.stderr
    assert "a mistake of this experiment" in (tmp_path / "out" / "error.log").read_text()
    assert not (tmp_path / "out" / "changed-settings").exists()
    assert set(Path("/sys/class/net").iterdir()) <= before
