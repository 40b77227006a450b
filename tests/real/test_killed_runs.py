"""Whatever is killed in mid-run: no wrong result, and nothing left after `clean`."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from minitopo_dc.real.run_registry import clean, processes_of
from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.scenario.addresses import SERVER_PORT
from tests import long
from tests.real.registry import identity, wait_until

pytestmark = [pytest.mark.root, pytest.mark.alone]  # looks at all namespaces of the machine
COMMAND = [sys.executable, "-m", "minitopo_dc.cli"]
SLOW = {"downlink": {"rate_mbps": 1}}
"""10 MB take 80 s: long enough to be killed."""
SOME_BYTES = 10_000
"""More than a handshake's."""


class Run:
    """`minitopo-dc run` of a slow transfer, in the background."""

    def __init__(self, directory: Path) -> None:
        scenario = {"transport": "tcp", "mode": "dc", "legs": [SLOW, SLOW]}
        (directory / "scenario.yaml").write_text(yaml.safe_dump(scenario))
        self.output = directory / "result"
        self._identity = ""
        arguments = ["run", str(directory / "scenario.yaml"), "--output", str(self.output)]
        self.process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE)

    def has_bytes(self) -> bool:
        """Whether the transfer is under way."""
        path = self.output / "gnb-legs.csv"
        rows = csv.DictReader(path.read_text().splitlines() if path.exists() else [])
        return any(int(row["delivered_bytes"] or 0) > SOME_BYTES for row in rows)

    def processes(self) -> list[int]:
        """The processes that carry this run's mark, without the command itself."""
        return processes_of(self.identity()) if self.identity() else []

    def identity(self) -> str:
        """The run's id, which outlives its entry in the registry."""
        self._identity = identity(self.process) or self._identity
        return self._identity

    def process_with(self, word: str) -> int:
        """A process of this run whose command line has `word`."""
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in self.processes()}
        return next(pid for pid, line in lines.items() if word.encode() in line)


def namespaces(pids: Iterable[int]) -> set[str]:
    """The network namespaces of these processes."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found


def host_state() -> tuple[set[str], str]:
    """Interfaces and firewall rules outside of any namespace of a run."""
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    command = ["iptables-save", "-t", "mangle"]
    return interfaces, subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    interfaces, rules = host_state()
    run = Run(tmp_path)
    try:
        wait_until(run.has_bytes, run.process)
        assert not is_port_bound(os.getpid(), SERVER_PORT)  # the server listens on its host only
        hosts = namespaces(run.processes()) - namespaces([os.getpid()])
        yield run
    finally:
        run.process.kill()
        run.process.communicate()
        clean()
    everyone = (int(process.name) for process in Path("/proc").glob("[0-9]*"))
    assert len(hosts) == 4
    assert not hosts & namespaces(everyone)
    assert not run.processes()
    assert host_state()[0] <= interfaces
    assert "NFQUEUE" not in host_state()[1].replace(rules, "")


def test_clean_leaves_a_living_run_alone_and_removes_the_rest_of_a_killed_one(run: Run) -> None:
    before = run.processes()
    subprocess.run([*COMMAND, "clean"], check=True, capture_output=True)
    assert before == run.processes()
    run.process.kill()
    run.process.wait()
    assert not (run.output / "result.json").exists()


def test_an_interrupted_command_cleans_up_by_itself(run: Run) -> None:
    run.process.send_signal(signal.SIGTERM)
    identity = run.identity()
    assert run.process.wait(20) == 128 + signal.SIGTERM
    assert not processes_of(identity)
    assert not (run.output / "result.json").exists()


@pytest.mark.parametrize(
    ("victim", "reason"),
    [
        ("gnb-element.yaml", "element on gnb ended with -9"),
        long("curl", "client was ended by SIGKILL"),
        long("mininet:ue", "host ue: its shell ended with -9"),
    ],
)
def test_a_run_whose_process_was_killed_has_failed(run: Run, victim: str, reason: str) -> None:
    os.kill(run.process_with(victim), signal.SIGKILL)
    assert run.process.wait(30) == 1
    result = json.loads((run.output / "result.json").read_text())
    assert result["status"] == "failed"
    assert reason in result["reason"]
    assert result["goodput_mbps"] is None
