"""Legs over WiFi on the virtual clock: alone, and under Dual Connectivity beside one of LTE."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.measures.utilisation import link_utilisation
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic

UPLINK = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000}
LTE = leg(delay_ms=20, rlc={"mode": "am"}) | {"uplink": UPLINK}


def wifi(**medium: Any) -> dict[str, Any]:
    """A leg over WiFi with 2 ms behind it."""
    behind = {"delay_ms": 2, "jitter_ms": 0, "queue_packets": 1000}
    return {"wifi": medium, "downlink": behind, "uplink": behind}


def run(directory: Path, **fields: Any) -> RunResult:
    """Run a scenario that must succeed; over one WiFi leg but for what is given."""
    alone = {"mode": "sc", "legs": [wifi()], "congestion_control": "reno"}
    alone["transport"] = "quic-picoquic"
    result = run_virtual(scenario(**(alone | fields)), directory)
    assert result.status == "ok", result.reason
    return result


def goodput(result: RunResult) -> float:
    assert result.goodput_mbps is not None
    return result.goodput_mbps


def last(path: Path, number: int = 1) -> dict[str, int]:
    """The last counters of a leg."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["leg"] == str(number)]
    return {name: int(value) for name, value in rows[-1].items()}


def test_a_transfer_over_one_wifi_leg_is_whole_and_repeatable(tmp_path: Path) -> None:
    one, two = (run(tmp_path / name, legs=[wifi(mpdu_error_percent=10)]) for name in "12")
    assert one.details["bytes_received"] == 1_000_000
    assert one.completion_s == two.completion_s


def test_aggregation_makes_a_download_faster(tmp_path: Path) -> None:
    off, on = (
        goodput(
            run(
                tmp_path / aggregation,
                legs=[wifi(aggregation=aggregation)],
                workload={"size_mb": 4},
            )
        )
        for aggregation in ("none", "a-mpdu")
    )
    assert off < 26.1 < 1.3 * off  # table 6 of the mesh paper: 23.7 and 26.1 Mbit/s
    assert on > 1.4 * off


def test_lte_and_wifi_under_dual_connectivity_are_faster_than_either(tmp_path: Path) -> None:
    fields = {"workload": {"size_mb": 4}}
    lwa = {"mode": "dc", "legs": [LTE, wifi()], "pdcp": {"split": "least-delay"}, **fields}
    both = run(tmp_path / "lwa", **lwa)
    alone = [run(tmp_path / str(leg), leg=leg, legs=[LTE, wifi()], **fields) for leg in (1, 2)]
    assert goodput(both) > 1.1 * max(map(goodput, alone))
    assert all(share > 0 for share in link_utilisation(tmp_path / "lwa"))


@pytest.mark.parametrize(
    "pdcp",
    [
        {"ratio": [1, 2]},
        {"split": "proportional", "report_ms": 10},
        {"split": "credit", "numbering": "late", "flow_control": {}},
        {"split": "least-delay", "report_ms": 10, "data_recovery": True, "legs_keep_order": True},
    ],
)
def test_a_bearer_lives_through_an_outage_of_its_wifi_leg(
    pdcp: dict[str, Any], tmp_path: Path
) -> None:
    faulty = wifi(mpdu_error_percent=10, load_percent=10) | {"outages": [[0.1, 0.2]]}
    result = run(tmp_path, mode="dc", legs=[LTE, faulty], pdcp=pdcp, split_uplink=True)
    assert result.details["bytes_received"] == 1_000_000
    for end in ("gnb", "ue"):
        assert last(tmp_path / f"{end}-legs.csv", 2)["delivered_packets"] > 0
