"""Minitopo's files on real packets, from the command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.minitopo.files import DUAL, THREE_SERVER_PATHS, TWO_PATHS

pytestmark = pytest.mark.root
TOLERANCE_MS = 0.6
"""Of the least of 20 round trips, for each link: about 0.35 ms with both processors busy."""
PING_BITS = 44 * 8
"""Of an echo: IPv4 20, ICMP 8, data 16 bytes."""


def run(directory: Path, topology: str, experiment: str) -> subprocess.CompletedProcess[str]:
    for name, text in (("topo", topology), ("xp", experiment)):
        (directory / name).write_text(text, encoding="utf-8")
    files = ["-t", str(directory / "topo"), "-x", str(directory / "xp")]
    command = [sys.executable, "-m", "minitopo_dc.cli", "run", *files]
    command += ["--output", str(directory / "out"), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pings(directory: Path, topology: str) -> list[dict[str, Any]]:
    experiment = "xpType:ping\npingCount:20\npingInterval:0.05\n"
    done = run(directory, topology, experiment)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["details"]["round_trips"]
    return found


def check_rtt(found: dict[str, Any], delay_ms: float, mbps: list[float]) -> None:
    """The least round-trip time is that of the delays, but for the echo's own serialisation."""
    serialisation_ms = sum(2 * PING_BITS / rate / 1e3 for rate in mbps)
    assert found["received"] == 20
    assert found["serialisation_ms"] == pytest.approx(serialisation_ms)
    excess_ms = found["minimum_ms"] - serialisation_ms - 2 * delay_ms
    assert 0 <= excess_ms < TOLERANCE_MS * len(mbps)


def replies(path: Path, leg: int) -> list[tuple[float, float]]:
    """When the echoes of a leg were sent (s), and their round-trip times (ms)."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["leg"]) == leg]
    return [(float(row["time_s"]), float(row["rtt_ms"])) for row in rows]


@pytest.mark.long
@pytest.mark.alone
def test_paths_between_router_and_server_add_theirs_for_every_pair(tmp_path: Path) -> None:
    found = pings(tmp_path, THREE_SERVER_PATHS)
    pairs = {(each["leg"], each["backhaul"]) for each in found}
    assert pairs == {(leg, link) for leg in (1, 2) for link in (1, 2, 3)}
    for each in found:
        check_rtt(each, 110, [4, 10])


@pytest.mark.long
@pytest.mark.alone
def test_netem_changes_happen_when_they_should_and_keep_the_delay(tmp_path: Path) -> None:
    changes = (
        "changeNetem:yes\nnetemAt_c2r_0:0.5,delay 30ms\nnetemAt_c2r_0:1,loss 100%\n"
        "netemAt_c2r_0:1.5,loss 0%\nnetemAt_c2r_1:1,rate 0.4mbit\n"
    )
    done = run(tmp_path, TWO_PATHS + changes, "xpType:ping\npingCount:40\npingInterval:0.05\n")
    assert done.returncode == 0, done.stderr
    first, second = (replies(tmp_path / "out" / "ping.csv", leg) for leg in (1, 2))
    assert 20 <= median(rtt for at, rtt in first if at < 0.47) < 22
    assert 60 <= median(rtt for at, rtt in first if at > 0.51) < 62
    # A ping's times count from its first, which is 0.1 s after the changes' on a slow machine.
    assert not [at for at, _ in first if 1.01 < at < 1.35]
    assert [at for at, _ in first if at > 1.51]
    # 352 bits take 0.09 ms at 4 Mbit/s, and 0.88 ms at 0.4 Mbit/s, each way.
    before = median(rtt for at, rtt in second if at < 0.9)
    after = median(rtt for at, rtt in second if at > 1.01)
    assert 80 <= before < 81.5
    assert 1.2 < after - before < 2


def test_a_capture_holds_every_byte_that_the_client_received(tmp_path: Path) -> None:
    done = run(tmp_path, DUAL, "xpType:tcp\nfile_size:500\nclientPcap:yes\n")
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "out" / "client.pcap").read_bytes()
    received, offset = 0, 24
    while offset < len(content):
        size = int.from_bytes(content[offset + 8 : offset + 12], sys.byteorder)
        datagram = content[offset + 16 : offset + 16 + size]
        assert int.from_bytes(datagram[2:4], "big") == size
        received += size if datagram[12:16] == bytes((10, 0, 0, 2)) else 0
        offset += 16 + size
    assert received > 512_000
    assert not (tmp_path / "out" / "server.pcap").exists()


@pytest.mark.long
def test_a_setting_that_the_kernel_refuses_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "transport: tcp\nmode: sc\nlegs: [{downlink: {rate_mbps: 10}}]\n"
        "real: {sysctl: {net.ipv4.no_such_setting: '1'}}\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "minitopo_dc.cli", "run", str(tmp_path / "s.yaml")]
    command += ["--output", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sysctl net.ipv4.no_such_setting on server" in json.loads(done.stdout)["reason"]
