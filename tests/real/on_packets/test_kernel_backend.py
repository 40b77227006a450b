"""Legs of the kernel's netem and tbf: on this kernel if it has them, else in user-mode Linux."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.real.machine import probe_kernel
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario.element import ElementSettings
from tests import REPOSITORY
from tests.linux_guest.guests import needs_guest
from tests.real.testbed import INSTANT, in_order, running_testbed, scenario

INSIDE = "MINITOPO_DC_IN_UML"
PACKET = 1200


@pytest.fixture
def netem() -> None:
    """Skip where the kernel has none."""
    reason = probe_kernel()["sch_netem"]
    if reason:
        pytest.skip(f"this kernel has no netem ({reason}): tested in user-mode Linux")


def probe(
    mode: str,
    downlink: dict[str, Any],
    directory: Path,
    rate: float,
    seconds: float,
    *,
    version: IpVersion = 4,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What met legs of the kernel's, and gnb's summary."""
    wanted = scenario(mode, INSTANT | downlink, real={"backend": "kernel"}, ip_version=version)
    with running_testbed(wanted, directory) as bed:
        arrivals = bed.probe(rate, seconds, version=version, starts=True)
        return arrivals, bed.stop()[0]


def test_a_capture_of_legs_needs_them_in_user_space() -> None:
    with pytest.raises(SettingsError, match=r"pcap: .*backend: user"):
        ElementSettings.check(
            {"host": "gnb", "legs": [], "directory": ".", "pcap": "downlink", "backend": "kernel"},
            "test",
        )


@pytest.mark.root
def test_a_kernel_without_netem_is_one_clear_error(tmp_path: Path) -> None:
    if not probe_kernel()["sch_netem"]:
        pytest.skip("this kernel has netem")
    with pytest.raises(RunFailedError, match="gnb-leg1: "):
        probe("sc", {}, tmp_path, 10, 1)


@pytest.mark.root
@pytest.mark.usefixtures("netem")
def test_rate_and_delay_change_under_traffic_and_the_queue_stays(tmp_path: Path) -> None:
    changes = [{"at_s": 2, "rate_mbps": 8}, {"at_s": 4, "delay_ms": 60}]
    downlink = {"rate_mbps": 0.5, "delay_ms": 20, "queue_packets": 1000, "changes": changes}
    arrivals, gnb = probe("sc", downlink, tmp_path, 60, 7)
    assert len(arrivals.number) == 420  # nothing of the queue was lost at a change
    assert in_order(arrivals)
    since = (arrivals.received - gnb["start_ns"]) / 1e9
    # The median: one pause of a busy machine is no other rate.
    gap = np.median(np.diff(since[since < 1.9]))
    assert PACKET * 8e-6 / gap == pytest.approx(0.5, rel=0.05)
    sent = (arrivals.sent - gnb["start_ns"]) / 1e9
    delays = arrivals.delays_ms
    # Far enough apart also where user-mode Linux has other work beside it.
    assert np.median(delays[(sent > 3) & (sent < 3.9)]) == pytest.approx(20, abs=10)
    assert np.median(delays[sent > 4.2]) == pytest.approx(60, abs=10)
    assert gnb["kernel_changes"]["1"]["changes"] == 2
    assert gnb["kernel_changes"]["1"]["max_ms"] > 0


@pytest.mark.root
@pytest.mark.usefixtures("netem")
@pytest.mark.parametrize("version", [4, 6])
def test_a_bearer_is_split_over_legs_of_the_kernel_and_put_in_order(
    tmp_path: Path, version: IpVersion
) -> None:
    downlink = {"rate_mbps": 20, "delay_ms": 10, "loss_percent": 2}
    arrivals, gnb = probe("dc", downlink, tmp_path, 300, 3, version=version)
    assert in_order(arrivals)
    lost = sum(each["dropped_loss"] for each in gnb["legs"].values())
    # netem counts every packet, also what IPv6 hosts say of multicast, and loses some of those.
    others = sum(each["pushed_packets"] for each in gnb["legs"].values()) - 900
    assert 0 <= len(arrivals.number) - (900 - lost) <= others <= 20, gnb
    assert lost == pytest.approx(18, abs=15)
    assert [each["delivered_packets"] > 400 for each in gnb["legs"].values()] == [True, True]


@needs_guest
@pytest.mark.long
@pytest.mark.slow
def test_the_tests_above_in_user_mode_linux() -> None:
    if os.environ.get(INSIDE):
        pytest.skip("this is user-mode Linux")
    if os.geteuid() == 0 and not probe_kernel()["sch_netem"]:
        pytest.skip("this kernel has netem: tested here")
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "root", str(Path(__file__))]
    command = ["scripts/uml.sh", "env", f"{INSIDE}=1", *tests, "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "3 passed" in done.stdout, done.stdout[-2000:]
