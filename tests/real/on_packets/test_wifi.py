"""Legs over WiFi on real packets: both directions in one process, on mediums that they share."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitopo_dc.real.run import run_real
from minitopo_dc.virtual.run import run_virtual
from tests.real.testbed import running_testbed
from tests.studies.digests import module
from tests.virtual.scenarios import scenario

pytestmark = pytest.mark.root
BEHIND = {"delay_ms": 2, "jitter_ms": 0, "queue_packets": 1000}
SHARED = ("idle", "contention", "collision", "foreign")
MS = 1_000_000


def wifi(**medium: Any) -> dict[str, Any]:
    return {"wifi": medium, "downlink": BEHIND, "uplink": BEHIND}


def last(path: Path) -> dict[int, dict[str, int]]:
    """The last counters of each leg."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {int(row["leg"]): {name: int(row[name]) for name in row} for row in rows}


def test_a_bearer_over_two_wifi_legs_has_the_same_counters_on_both_clocks(tmp_path: Path) -> None:
    legs = [wifi(hops=2, wired={"rate_mbps": 100, "delay_ms": 1}), wifi(mpdu_error_percent=10)]
    fields = {"legs": legs, "split_uplink": True, "pdcp": {"split": "least-delay", "report_ms": 20}}
    for name in ("real", "virtual"):
        (tmp_path / name).mkdir()
    real = run_real(scenario(clock="real", **fields), tmp_path / "real")
    virtual = run_virtual(scenario(**fields), tmp_path / "virtual")
    assert (real.status, virtual.status) == ("ok", "ok"), real.reason
    for end in ("gnb", "ue"):
        ours, ideal = (last(tmp_path / name / f"{end}-legs.csv") for name in ("real", "virtual"))
        assert ours[1].keys() == ideal[1].keys()
        assert all(ours[leg]["delivered_packets"] > 0 for leg in (1, 2))
    assert last(tmp_path / "real" / "gnb-legs.csv")[2]["mpdu_retransmissions"] > 0  # up are few
    # Behind the end of the transfer nothing moves: both directions saw one medium.
    down, up = (last(tmp_path / "real" / f"{end}-legs.csv")[2] for end in ("gnb", "ue"))
    for kind in SHARED:
        assert down[f"medium_{kind}_ns"] == up[f"medium_{kind}_ns"]


def test_orders_are_for_one_direction_and_packets_wait_for_their_txop(tmp_path: Path) -> None:
    wanted = scenario(clock="real", mode="sc", legs=[wifi(rate_mbps=6.5, aggregation="none")])
    with running_testbed(wanted, tmp_path) as bed:
        assert bed.gnb.pid == bed.ue.pid
        bed.start()
        bed.ue.order("down 1")
        arrivals = bed.probe(100, 1, size=1500)
        gnb, ue = bed.stop()
    assert len(arrivals.number) == 100
    assert gnb["legs"]["1"]["txops"] >= 100
    assert ue["legs"]["1"]["txops"] == 0
    # 1,542 bytes at 6.5 Mbit/s, preamble, SIFS, BlockAck, DIFS, and the delay behind the hop.
    least = 2 + 1.898 + 0.088 + 0.034
    assert arrivals.delays_ms.min() > least
    assert np.median(arrivals.delays_ms) < least + 0.135 + 1  # the longest back-off; the machine


@pytest.mark.long
def test_what_a_tcp_connection_lost_is_what_its_leg_dropped(tmp_path: Path) -> None:
    leg = wifi(rate_mbps=26) | {"downlink": BEHIND | {"delay_ms": 15, "loss_percent": 2}}
    wanted = scenario(
        transport="tcp",
        clock="real",
        mode="sc",
        legs=[leg],
        congestion_control="cubic",
        workload={"size_mb": 0.7},
        options={"tcp_info": True},
        real={"capture": ["client", "server"]},
    )
    result = run_real(wanted, tmp_path)
    assert result.status == "ok", result.reason
    counted = last(tmp_path / "gnb-legs.csv")[1]
    dropped = counted["dropped_queue"] + counted["dropped_loss"] + counted["dropped_radio"]
    log = module("mesh", "connection").connection_log(tmp_path)
    missing = log.packets["received_s"].isna().sum()
    assert missing > 5
    assert 0 <= dropped - missing <= 2  # all but a few packets have content
    recovery = module("thesis", "recovery").server_recovery(tmp_path)
    assert recovery.lost_packets == len(log.lost) >= missing
    found = module("mesh", "features").connection_features(tmp_path)
    assert found["mean_delay_ms"] > 15
    assert found["cwnd_mean_kb"] > 5
