"""Reports of both directions over legs that are up, and what receivers count, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitopo_dc.pdcp import T_REORDERING_MS
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario
from tests.virtual.test_views import summary

RADIO: dict[str, Any] = {"rate_mbps": 20}


def both_ways(**radio: Any) -> dict[str, Any]:
    return {"downlink": RADIO | radio, "uplink": RADIO | radio}


def run(directory: Path, **fields: Any) -> None:
    result = run_virtual(scenario(**fields), directory)
    assert result.status == "ok", result.reason


def test_while_leg_1_is_down_both_ways_reports_take_leg_2(tmp_path: Path) -> None:
    legs = [both_ways(outages=[[0.0, 1000]]), both_ways()]
    run(tmp_path, legs=legs, split_uplink=True, pdcp={"split": "least-delay", "report_ms": 20})
    for transmitter, receiver, bearer in (("gnb", "ue", "1"), ("ue", "gnb", "2")):
        sent = summary(tmp_path, transmitter)["transmit"][bearer]
        received = summary(tmp_path, receiver)["receive"][bearer]
        assert received["reports_sent"] - 2 <= sent["reports_received"] <= received["reports_sent"]
        assert sent["reports_received"] > 10
        assert (sent["reports_stale"], sent["reports_malformed"]) == (0, 0)
        on_leg_1 = summary(tmp_path, receiver)["legs"]["1"]["pushed_packets"]
        assert on_leg_1 <= 1  # the first packet is sent at the very moment of the outage's begin


def test_an_uplink_s_reports_tell_what_came_up(tmp_path: Path) -> None:
    run(tmp_path, split_uplink=True, pdcp={"report_ms": 10})
    sent = summary(tmp_path, "ue")["transmit"]["2"]
    received = summary(tmp_path, "gnb")["receive"]["2"]
    assert received["reports_sent"] >= sent["reports_received"] > 20
    assert received["pdus_1"] + received["pdus_2"] == sent["pdus_1"] + sent["pdus_2"] > 0


def test_with_data_recovery_reports_are_5_bytes_longer_and_as_much_as_is_out_of_order(
    tmp_path: Path,
) -> None:
    sizes = []
    for name, recovery in (("without", False), ("with", True)):
        pdcp = {"report_ms": 10, "data_recovery": recovery}
        run(tmp_path / name, workload={"size_mb": 0.05}, split_uplink=True, pdcp=pdcp)
        sent = summary(tmp_path / name, "gnb")["transmit"]["1"]
        assert sent["reports_received"] > 10
        assert sent["reports_malformed"] == 0
        ue = summary(tmp_path / name, "ue")
        pdus = ue["transmit"]["2"]["bytes_1"] + 3 * ue["transmit"]["2"]["pdus_1"]
        reports = ue["legs"]["1"]["pushed_bytes"] - pdus
        sizes.append(reports / ue["receive"]["1"]["reports_sent"])
    assert sizes[0] == 114
    assert 119 <= sizes[1] < 130


def test_losses_told_by_the_legs_order_are_not_waited_for(tmp_path: Path) -> None:
    longest = []
    for name, pdcp in (("by-timer", {}), ("by-order", {"legs_keep_order": True})):
        run(tmp_path / name, legs=[leg(loss_percent=0.3)] * 2, pdcp={"batch": 2} | pdcp)
        received = summary(tmp_path / name, "ue")["receive"]["1"]
        assert received["missing"] > 0
        assert received["old"] == 0
        longest.append(received["waiting_total_ns"])
    assert received["missing_by_order"] > received["missing"] / 2
    assert longest[1] < longest[0] / 2


def test_adaptive_t_reordering_comes_down_and_gives_up_no_more(tmp_path: Path) -> None:
    for name, value in (("fixed", 200), ("adaptive", "adaptive")):
        run(
            tmp_path / name,
            workload={"size_mb": 12},
            legs=[leg(), leg(delay_ms=20)],
            pdcp={"t_reordering_ms": value},
        )
    fixed, adaptive = (
        summary(tmp_path / name, "ue")["receive"]["1"] for name in ("fixed", "adaptive")
    )
    assert (adaptive["missing"], adaptive["old"]) == (fixed["missing"], fixed["old"]) == (0, 0)
    assert adaptive["t_reordering_ns"] < 200_000_000
    assert adaptive["t_reordering_ns"] // 1_000_000 in T_REORDERING_MS
