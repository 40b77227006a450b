"""Legs that change while real packets are on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.topologies.two_path import client_address
from tests.real.testbed import INSTANT, running_testbed, scenario

pytestmark = [pytest.mark.root, pytest.mark.alone]
RATE = 1000
"""Packets a second. Sending begins when its process has started: the changes leave it 1 s."""


def probe(downlink: dict[str, Any], directory: Path, seconds: float) -> tuple[Arrivals, int]:
    """What met a leg, and when it was started."""
    with running_testbed(scenario("sc", downlink), directory) as bed:
        bed.gnb.order("start")
        arrivals = send_through(
            bed.hosts.server,
            bed.hosts.client,
            client_address(1),
            rate=RATE,
            seconds=seconds,
            size=1200,
            scratch=directory / "arrivals",
        )
        return arrivals, int(bed.gnb.stop()["start_ns"])


def test_delay_and_loss_change_at_their_moments_and_keep_the_rest(tmp_path: Path) -> None:
    changes = [{"at_s": 1, "delay_ms": 40}, {"at_s": 1.6, "loss_percent": 50}]
    arrivals, start = probe(INSTANT | {"delay_ms": 10, "changes": changes}, tmp_path, 2)
    sent_s = (arrivals.sent - start) / 1e9
    delays = arrivals.delays_ms
    first_late = sent_s[delays > 30][0]
    assert abs(first_late - 1) < 0.02
    assert abs(np.median(delays[sent_s < 0.98]) - 10) < 2
    assert abs(np.median(delays[sent_s > 1.02]) - 40) < 2
    missing = np.setdiff1d(np.arange(arrivals.number[-1]), arrivals.number)
    first_lost_s = np.interp(missing[0], arrivals.number, sent_s)
    assert abs(first_lost_s - 1.6) < 0.05
    assert 0.35 < len(missing) / (arrivals.number[-1] - missing[0]) < 0.65


@pytest.mark.long
def test_a_delay_trace_is_followed_and_begins_again(tmp_path: Path) -> None:
    """Half a second at 10 ms, half at 60 ms, and so on, whenever the process has started."""
    trace = tmp_path / "delays.csv"
    trace.write_text("time_s,delay_ms\n0,10\n0.5,60\n")
    downlink = {"rate_mbps": 1000, "delay_trace": str(trace), "jitter_ms": 0}
    arrivals, start = probe(downlink, tmp_path, 1.5)
    phase_s, delays = (arrivals.sent - start) / 1e9 % 1, arrivals.delays_ms
    assert abs(np.median(delays[(phase_s > 0.05) & (phase_s < 0.45)]) - 10) < 2
    assert abs(np.median(delays[(phase_s > 0.55) & (phase_s < 0.95)]) - 60) < 2


def test_a_rate_changes_at_its_moment_and_keeps_the_delay(tmp_path: Path) -> None:
    """9.6 Mbit/s are sent; from 1 s on 4.8 Mbit/s pass."""
    downlink = INSTANT | {"delay_ms": 10, "changes": [{"at_s": 1, "rate_mbps": 4.8}]}
    arrivals, start = probe(downlink, tmp_path, 2)
    received_s = (arrivals.received - start) / 1e9
    assert len(arrivals.number) == 2 * RATE
    before = arrivals.delays_ms[received_s < 1]
    assert before.size, "nothing arrived in the first second"
    assert abs(np.median(before) - 10) < 2
    after = received_s[(received_s > 1.1) & (received_s < 2)]
    rate_mbps = 1200 * 8 * (len(after) - 1) / (after[-1] - after[0]) / 1e6
    assert abs(rate_mbps - 4.8) < 0.1
