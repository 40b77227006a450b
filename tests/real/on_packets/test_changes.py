"""Legs that change while real packets are on them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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


def probe(
    directory: Path, seconds: float, *downlinks: dict[str, Any]
) -> tuple[list[Arrivals], int]:
    """What met legs at the same time, and when they were started."""
    legs = [{"downlink": downlink, "uplink": INSTANT} for downlink in downlinks]
    with running_testbed(scenario("sc", legs=legs), directory) as bed, ThreadPoolExecutor() as pool:

        def met(leg: int) -> Arrivals:
            return send_through(
                bed.hosts.server,
                bed.hosts.client,
                client_address(leg),
                rate=RATE,
                seconds=seconds,
                size=1200,
                scratch=directory / f"arrivals-{leg}",
            )

        bed.gnb.order("start")
        arrivals = list(pool.map(met, range(1, len(legs) + 1)))
        return arrivals, int(bed.gnb.stop()["start_ns"])


def test_delay_loss_and_rate_change_at_their_moments_and_keep_the_rest(tmp_path: Path) -> None:
    """Leg 1 changes its delay, then its loss; of 9.6 Mbit/s leg 2 lets 4.8 pass from 1 s on."""
    changes = [{"at_s": 1, "delay_ms": 40}, {"at_s": 1.6, "loss_percent": 50}]
    slower = [{"at_s": 1, "rate_mbps": 4.8}]
    (first, second), start = probe(
        tmp_path, 2, *(INSTANT | {"delay_ms": 10, "changes": made} for made in (changes, slower))
    )
    sent_s, delays = (first.sent - start) / 1e9, first.delays_ms
    first_late = sent_s[delays > 30][0]
    assert abs(first_late - 1) < 0.02
    assert abs(np.median(delays[sent_s < 0.98]) - 10) < 2
    assert abs(np.median(delays[sent_s > 1.02]) - 40) < 2
    missing = np.setdiff1d(np.arange(first.number[-1]), first.number)
    first_lost_s = np.interp(missing[0], first.number, sent_s)
    assert abs(first_lost_s - 1.6) < 0.05
    assert 0.35 < len(missing) / (first.number[-1] - missing[0]) < 0.65

    received_s = (second.received - start) / 1e9
    assert len(second.number) == 2 * RATE
    before = second.delays_ms[received_s < 1]
    assert before.size, "nothing arrived in the first second"
    assert abs(np.median(before) - 10) < 2
    after = received_s[(received_s > 1.1) & (received_s < 2)]
    rate_mbps = 1200 * 8 * (len(after) - 1) / (after[-1] - after[0]) / 1e6
    assert abs(rate_mbps - 4.8) < 0.1


@pytest.mark.long
def test_a_delay_trace_is_followed_and_begins_again(tmp_path: Path) -> None:
    """Half a second at 10 ms, half at 60 ms, and so on, whenever the process has started."""
    trace = tmp_path / "delays.csv"
    trace.write_text("time_s,delay_ms\n0,10\n0.5,60\n")
    downlink = {"rate_mbps": 1000, "delay_trace": str(trace), "jitter_ms": 0}
    (arrivals,), start = probe(tmp_path, 1.5, downlink)
    phase_s, delays = (arrivals.sent - start) / 1e9 % 1, arrivals.delays_ms
    assert abs(np.median(delays[(phase_s > 0.05) & (phase_s < 0.45)]) - 10) < 2
    assert abs(np.median(delays[(phase_s > 0.55) & (phase_s < 0.95)]) - 60) < 2
