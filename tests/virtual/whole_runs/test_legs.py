"""Whole runs: legs of any kind, marked; policies; estimates."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.estimates import AT_ONCE, SPLITS, shares_of_ideal
from minitopo_dc.results.measures.utilisation import link_utilisation
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.native.extension import needs_native
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic
FOUR: list[dict[str, Any]] = [leg() for _ in range(4)]


def run(directory: Path, **fields: Any) -> RunResult:
    """Run a scenario of four legs that must succeed."""
    values = {"legs": FOUR, "transport": "quic-picoquic"} | fields
    result = run_virtual(scenario(**values), directory)
    assert result.status == "ok", result.reason
    return result


def carried(directory: Path) -> tuple[list[int], list[int]]:
    """IP bytes that each leg delivered, down and up."""
    summaries = (
        json.loads((directory / f"{end}-summary.json").read_text()) for end in ("gnb", "ue")
    )
    down, up = ([leg["delivered_bytes"] for leg in each["legs"].values()] for each in summaries)
    return down, up


def used(counts: list[int]) -> list[int]:
    return [leg for leg, count in enumerate(counts, start=1) if count]


def test_four_legs_carry_alike_and_are_faster_than_two(tmp_path: Path) -> None:
    four = run(tmp_path / "4", workload={"size_mb": 4})
    two = run(tmp_path / "2", workload={"size_mb": 4}, pdcp={"legs": [1, 2]})
    down, up = carried(tmp_path / "4")
    assert max(down) == pytest.approx(min(down), rel=0.2)
    assert used(up) == [1]
    assert four.goodput_mbps is not None
    assert two.goodput_mbps is not None
    assert four.goodput_mbps > 1.3 * two.goodput_mbps


@pytest.mark.parametrize("mode", ["dc", "dc-duplicate"])
def test_a_bearer_over_some_of_the_legs_leaves_the_others_empty(mode: str, tmp_path: Path) -> None:
    result = run(tmp_path, mode=mode, pdcp={"legs": [4, 2], "report_ms": 20})
    down, up = carried(tmp_path)
    assert (used(down), used(up)) == ([2, 4], [4])
    assert result.leg_bytes == down
    assert [share > 0 for share in link_utilisation(tmp_path)] == [False, True, False, True]


def test_a_split_uplink_takes_the_downlink_s_legs_or_its_own(tmp_path: Path) -> None:
    subset = {"pdcp": {"legs": [4, 2]}, "split_uplink": True}
    run(tmp_path / "same", **subset, uplink_pdcp={"batch": 2})
    assert [used(each) for each in carried(tmp_path / "same")] == [[2, 4], [2, 4]]
    run(tmp_path / "own", **subset, uplink_pdcp={"split": "duplicate", "legs": [1, 3]})
    assert [used(each) for each in carried(tmp_path / "own")] == [[2, 4], [1, 3]]
    _, up = carried(tmp_path / "own")
    assert up[0] == up[2]


def test_the_uplink_s_packets_are_put_in_order_with_its_own_parameters(tmp_path: Path) -> None:
    slow = leg() | {"uplink": {"rate_mbps": 20, "delay_ms": 60}}
    fields = {"legs": [leg(), slow], "split_uplink": True, "workload": {"size_mb": 0.3}}
    run(tmp_path, **fields, uplink_pdcp={"batch": 2, "t_reordering_ms": 0})
    received = {
        end: json.loads((tmp_path / f"{end}-summary.json").read_text()) for end in ("gnb", "ue")
    }
    assert received["gnb"]["receive"]["2"]["waiting_maximum_ns"] == 0
    assert received["gnb"]["receive"]["2"]["old"] > 0
    assert received["ue"]["receive"]["1"]["missing"] == 0


def test_flows_with_bearers_of_their_own_keep_to_their_legs(tmp_path: Path) -> None:
    flows = [
        {"mode": "dc", "pdcp": {"legs": [1, 3]}},
        {"mode": "dc", "pdcp": {"legs": [2, 4], "split": "least-delay"}},
    ]
    result = run(tmp_path, mode="flows", flows=flows, workload={"size_mb": 0.5})
    with (tmp_path / "ue-receive.csv").open(encoding="utf-8") as file:
        last = {row["bearer"]: row for row in csv.DictReader(file)}
    assert [last["1"][f"pdus_{leg}"] == "0" for leg in (1, 2, 3, 4)] == [False, True, False, True]
    assert [last["3"][f"pdus_{leg}"] == "0" for leg in (1, 2, 3, 4)] == [True, False, True, False]
    assert [flow["legs"] for flow in result.details["flows"]] == [[1, 3], [2, 4]]
    assert used(carried(tmp_path)[1]) == [1, 2]


def test_a_transfer_goes_on_while_a_leg_is_down_in_both_directions(tmp_path: Path) -> None:
    legs = [leg(), leg(), leg() | {"outages": [[0.3, 60]]}]
    seeing = {"split": "least-delay", "legs": [1, 3]}
    both_ways = {"split_uplink": True, "uplink_pdcp": {"split": "duplicate"}}
    result = run(tmp_path, legs=legs, pdcp=seeing, workload={"size_mb": 4}, **both_ways)
    down, up = carried(tmp_path)
    assert (used(down), used(up)) == ([1, 3], [1, 3])
    assert down[2] * 8 < 0.35 * 20e6
    assert down[0] > 3_000_000
    assert result.completion_s is not None
    assert result.completion_s > 1


@needs_native
@pytest.mark.parametrize("split", SPLITS)
def test_statuses_at_once_are_nearly_as_good_as_seeing_the_legs(split: str) -> None:
    ratios = shares_of_ideal(split, 4, 0.25, AT_ONCE)
    assert sum(ratio >= 0.97 for ratio in ratios) >= 3
