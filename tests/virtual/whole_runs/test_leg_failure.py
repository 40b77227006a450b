"""A leg that loses all both ways, which nobody is told: requests over Dual Connectivity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import scenario
from tests.virtual.test_views import summary

FAILING: dict[str, Any] = {"report_ms": 20, "data_recovery": True, "leg_failure_ms": 100}
REQUESTS = {
    "kind": "request-response",
    "request_bytes": 750,
    "response_bytes": 750,
    "interval_s": 0.1,
    "duration_s": 2,
}


def radio(**changed: Any) -> dict[str, Any]:
    way = {"rate_mbps": 10, "jitter_ms": 0} | changed
    return {"downlink": way, "uplink": way}


def requests(directory: Path, **fields: Any) -> dict[str, Any]:
    """What became of them, where leg 1 loses all from 1 s on."""
    legs = [radio(changes=[{"at_s": 1, "loss_percent": 100}]), radio()]
    values: dict[str, Any] = {"legs": legs, "workload": REQUESTS, "split_uplink": True}
    result = run_virtual(scenario(**values | fields), directory)
    assert result.status == "ok", result.reason
    return result.details


@pytest.mark.parametrize("split", ["least-delay", "batch"])
def test_requests_are_answered_when_both_ends_have_found_leg_1_failed(
    split: str, tmp_path: Path
) -> None:
    details = requests(tmp_path, pdcp=FAILING | {"split": split})
    assert details["unanswered"] == 0
    # Each way: silence, a report, and the way. Then the round trip over leg 2.
    assert details["delay_max_ms"] < 2 * (100 + 2 * 20 + 20) + 25
    for host, bearer in (("gnb", "1"), ("ue", "2")):
        sent = summary(tmp_path, host)["transmit"][bearer]
        assert (sent["failures_1"], sent["failures_2"]) == (1, 0)
        assert 0.5e9 < sent["failed_ns_1"] < 1e9
        assert sent["probes_1"] > 5


def test_without_it_requests_stay_unanswered(tmp_path: Path) -> None:
    pdcp = FAILING | {"split": "least-delay", "leg_failure_ms": None}
    assert requests(tmp_path, pdcp=pdcp)["unanswered"] > 5
    # Reports took leg 1 only, which lost them, and so the ends would not have learnt of it either.
    received = summary(tmp_path, "gnb")["transmit"]["1"]["reports_received"]
    sent = summary(tmp_path, "ue")["receive"]["1"]["reports_sent"]
    assert received < 0.8 * sent


def test_reports_reach_the_other_end_by_the_leg_that_is_left(tmp_path: Path) -> None:
    requests(tmp_path, pdcp=FAILING | {"split": "least-delay"})
    received = summary(tmp_path, "gnb")["transmit"]["1"]
    sent = summary(tmp_path, "ue")["receive"]["1"]["reports_sent"]
    assert sent - 2 <= received["reports_received"] <= sent
    assert 40 < received["reports_stale"] < 60  # the copies of the first second
