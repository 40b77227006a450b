"""Dual Connectivity and multipath have the same bytes to wait in, whatever unit says so."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import packet_delays
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import needs_picoquic

pytestmark = needs_picoquic
RATE_MBPS, QUEUE_MS, XN_MS = 20, 20, 5
SIZE = RATE_MBPS * QUEUE_MS * 125
PACKET_MS = 1500 * 8 / 2 / RATE_MBPS / 1000
UNITS: dict[str, dict[str, Any]] = {
    "ms": {"queue_ms": QUEUE_MS},
    "bytes": {"queue_bytes": SIZE},
    "packets": {"queue_packets": SIZE // 1280},  # of picoquic's full packets, with headers
}
WAYS: dict[str, dict[str, Any]] = {
    **{"papers": {}, "deployable": {}, "ideal": {}},
    "multipath": {"transport": "mpquic-picoquic", "mode": "multipath"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "sc": {"mode": "sc"},
    "duplicate": {"mode": "dc-duplicate"},
    "atsss": {"mode": "atsss"},
    "tunnel": {"transport": "mpquic-picoquic", "mode": "atsss"},
    "tcp": {"transport": "tcp"},
    "mptcp": {"transport": "mptcp", "mode": "multipath"},
    "proxy": {"transport": "mptcp", "mode": "atsss"},
}


def over(way: str, queue: dict[str, Any], size_mb: float = 4) -> Scenario:
    """A download over two equal legs."""
    leg = {"rate_mbps": RATE_MBPS, "delay_ms": 20, "jitter_ms": 0} | queue
    fields = (WAYS | OTHERS)[way]
    made = Scenario(
        **{"transport": "quic-picoquic", "mode": "dc"} | fields,
        legs=[leg, leg],
        workload={"size_mb": size_mb},
        congestion_control="reno",
        clock="virtual",
        virtual={"packet_delays": True},
    )
    return made if fields else made.with_dc(way, xn_ms=XN_MS)  # type: ignore[arg-type]


def run(directory: Path, scenario: Scenario) -> RunResult:
    result = run_virtual(scenario, directory)
    assert result.status == "ok", result.reason
    return result


@needs_guest
@pytest.mark.parametrize(("way", "unit"), [*product(WAYS, UNITS), *((way, "ms") for way in OTHERS)])
def test_nobody_waits_before_the_air_for_longer_than_the_queues_allow(
    way: str, unit: str, tmp_path: Path
) -> None:
    run(tmp_path, over(way, UNITS[unit]))
    table = packet_delays(tmp_path).query("direction == 'downlink'")
    waits = table["split_ms"] + table["queue_ms"]
    xn_ms = XN_MS if way == "deployable" else 0
    most = float((waits - xn_ms * (table["leg"] == 2)).max())
    # What was on Xn when a packet came is before it later: that of one leg, for which both serve.
    used = 4 if way == "tunnel" else 2  # two congestion controls in each other fill less
    assert QUEUE_MS / used < most < QUEUE_MS + xn_ms / 2 + PACKET_MS


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_waits_for_no_longer_than_the_queues_allow(way: str, tmp_path: Path) -> None:
    """The threshold of `deployable` may keep both legs' buffer waiting for the primary one."""
    queue = {"rate_mbps": RATE_MBPS, "queue_ms": QUEUE_MS}
    legs = [{**queue, "delay_ms": 20, "jitter_ms": 0, "uplink": queue}] * 2
    base = over(way, {}).evolve(legs=legs, workload={"kind": "upload", "size_mb": 4})
    run(tmp_path, base if WAYS[way] else base.with_dc(way, xn_ms=XN_MS))  # type: ignore[arg-type]
    table = packet_delays(tmp_path).query("direction == 'uplink'")
    legs_waited_for = 2 if way == "deployable" else 1
    most = float((table["split_ms"] + table["queue_ms"]).max())
    assert QUEUE_MS / 2 < most < legs_waited_for * QUEUE_MS + PACKET_MS


@pytest.mark.parametrize("way", WAYS)
def test_the_same_bytes_are_the_same_run_in_each_unit(way: str, tmp_path: Path) -> None:
    times = {unit: run(tmp_path / unit, over(way, UNITS[unit])).completion_s for unit in UNITS}
    assert times["bytes"] == times["ms"]
    # Smaller packets take as much of a queue that counts them: acknowledgements, the first ones.
    assert times["packets"] == pytest.approx(times["ms"], rel=0.15)


@pytest.mark.parametrize("rate_mbps", [4, 20])
def test_a_short_queue_of_the_second_node_drops_nothing_that_has_a_number(
    rate_mbps: int, tmp_path: Path
) -> None:
    legs = {1: {"rate_mbps": rate_mbps, "queue_ms": 10}}  # 17 ms of the rate are asked for
    base = over("papers", {"queue_ms": 30}).evolve(legs=legs)
    run(tmp_path, base.with_dc("deployable", xn_ms=XN_MS))
    sent = json.loads((tmp_path / "gnb-summary.json").read_text())["legs"]["2"]
    assert (sent["dropped_queue"], sent["delivered_packets"] > 100) == (0, True)
