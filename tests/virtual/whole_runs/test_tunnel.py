"""ATSSS's MPQUIC functionality on the virtual clock: what the tunnel adds, carries and drops."""

from __future__ import annotations

import csv
import math
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.sans_io import tunnel
from minitopo_dc.runners.sans_io.runner import NUMBER_BYTES
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.exchange import content_sha256
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic

QUIET = leg(delay_ms=10, jitter_ms=0)
FAR = leg(delay_ms=40, jitter_ms=0)


def attempt(directory: Path, **fields: Any) -> RunResult:
    given = {"transport": "mpquic-picoquic", "mode": "atsss", "workload": {"size_mb": 0.2}}
    return run_virtual(scenario(**given | {"legs": [QUIET, FAR]} | fields), directory)


def run(directory: Path, **fields: Any) -> RunResult:
    result = attempt(directory, **fields)
    assert result.status == "ok", result.reason
    return result


def test_a_full_packet_has_the_headers_of_three_protocols_more(tmp_path: Path) -> None:
    result = run(tmp_path, virtual={"packet_trace": True})
    with (tmp_path / "packets.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["direction"] == "downlink"]
    sizes = Counter(int(row["bytes"]) for row in rows)
    (size, _), *_ = ((size, times) for size, times in sizes.most_common() if size > 1200)
    ip_and_udp, short_header, tag = 20 + 8, 1 + 8 + 2, 16  # 8: connection ID, 2: packet number
    datagram_frame, http_datagram = 1 + 2, 1 + 1  # type, length; Quarter Stream ID, Context ID
    added = ip_and_udp + short_header + tag + datagram_frame + http_datagram
    assert size == 1200 + added + NUMBER_BYTES == 1264
    assert result.leg_bytes is not None
    received = [int(row["bytes"]) for row in rows if row["event"] == "received"]
    assert sum(result.leg_bytes) == sum(received)


def test_a_payload_waits_for_those_before_it_and_no_longer_than_the_timer() -> None:
    waiting = tunnel.PayloadReordering(100)
    waiting.push(1, b"second", 10)
    assert (list(waiting.poll(10)), waiting.next_timeout()) == ([], 110)
    waiting.push(0, b"first", 20)
    assert (list(waiting.poll(20)), waiting.next_timeout()) == ([b"first", b"second"], math.inf)
    waiting.push(4, b"fifth", 30)
    waiting.push(3, b"fourth", 40)  # the third is lost
    assert list(waiting.poll(129)) == []
    assert list(waiting.poll(130)) == [b"fourth", b"fifth"]
    waiting.push(2, b"third", 200)
    assert list(waiting.poll(200)) == [b"third"]


def test_numbers_spare_the_inner_connection_the_disorder_of_two_legs(tmp_path: Path) -> None:
    legs = [leg(rate_mbps=60, delay_ms=8), leg(rate_mbps=25, delay_ms=35)]
    goodputs = {}
    for timer_ms in (0, 100):
        options = {"tunnel_reordering_ms": timer_ms}
        fields = {"legs": legs, "workload": {"size_mb": 5}, "options": options}
        goodputs[timer_ms] = run(tmp_path / str(timer_ms), **fields).goodput_mbps or 0.0
    assert goodputs[100] > 1.3 * goodputs[0]


def test_lossy_legs_lose_none_of_the_content(tmp_path: Path) -> None:
    legs = [leg(loss_percent=2), leg(delay_ms=20, loss_percent=2)]
    result = run(tmp_path, legs=legs)
    assert result.details["sha256"] == content_sha256(200_000)
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 0


def test_the_flow_begins_when_the_tunnel_is_open(tmp_path: Path) -> None:
    result = run(tmp_path)
    # The handshake takes a round trip, as without a tunnel; so do settings and request.
    assert result.details["started_s"] == pytest.approx(3 * 0.02, abs=0.002)
    assert result.details["handshake_s"] == pytest.approx(0.02, abs=0.002)


def test_the_wire_behind_the_upf_is_the_inner_connections_alone(tmp_path: Path) -> None:
    near, far = (run(tmp_path / str(ms), server_delay_ms=ms).details for ms in (0, 30))
    assert far["started_s"] == near["started_s"]
    assert far["handshake_s"] - near["handshake_s"] == pytest.approx(0.06, abs=0.002)


def test_a_full_queue_drops_and_a_long_one_does_not(tmp_path: Path) -> None:
    drops = {
        queue: run(tmp_path / str(queue), options={"tunnel_queue": queue}).details["tunnel_drops"]
        for queue in (1, 100_000)
    }
    assert drops[1] > 0
    assert drops[100_000] == 0


def test_the_tunnel_has_a_congestion_control_of_its_own(tmp_path: Path) -> None:
    details = run(tmp_path, options={"tunnel_congestion_control": "reno"}).details
    assert details["tunnel_congestion_control"] == "newreno"
    assert details["congestion_control"] == "cubic"


def test_a_leg_that_goes_dark_is_left_for_the_other(tmp_path: Path) -> None:
    dark = {"downlink": {"rate_mbps": 20, "delay_ms": 10}, "outages": [[0.1, 1000]]}
    result = run(tmp_path, legs=[dark, FAR], timeout_s=20)
    assert result.leg_bytes is not None
    assert result.leg_bytes[1] > 200_000


def test_a_host_with_cpu_time_ends_in_order(tmp_path: Path) -> None:
    run(tmp_path, virtual={"cpu_us_per_packet": 50})


def test_a_upf_that_refuses_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = count()
    monkeypatch.setattr(tunnel, "udp_path", lambda _: f"/{next(number)}/")
    result = attempt(tmp_path)
    assert result.status == "failed"
    assert "got status 400" in result.reason
