"""Whole runs with a handover or the failure of a leg."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.measures.recovery import (
    handover_table,
    handovers_per_minute,
    run_handovers,
)
from minitopo_dc.results.measures.utilisation import open_capacity
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.studies.digests import module
from tests.virtual.scenarios import scenario
from tests.virtual.test_drivers import summary

MP: dict[str, Any] = {
    "transport": "mpquic-picoquic",
    "mode": "multipath",
    "congestion_control": "cubic",
    "options": {},
    "timeout_s": 30,
}


def link(rate_mbps: float, **more: Any) -> dict[str, Any]:
    """Both directions alike, without jitter."""
    direction = {"rate_mbps": rate_mbps, "delay_ms": 10, "jitter_ms": 0, "queue_packets": 50}
    return {"downlink": direction, "uplink": direction} | more


def follow(path: Path, *rates: float) -> dict[str, Any]:
    """A leg that follows these Mbit/s, second by second, with the paper's delays."""
    rows = [f"{second},{rate}" for second, rate in enumerate(rates)]
    path.write_text("\n".join([*rows, f"{len(rates)},"]) + "\n")
    direction = {"trace": str(path), "delay_curve": "power", "jitter_ms": 0}
    return {"downlink": direction, "uplink": direction}


def run(directory: Path, **fields: Any) -> RunResult:
    result = run_scenario(scenario(**{**MP, **fields}), directory / "run")
    assert result.status == "ok", result.reason
    return result


@needs_picoquic
def test_a_hard_handover_moves_the_data_to_the_better_leg(tmp_path: Path) -> None:
    legs = [follow(tmp_path / "1", 8, 8, 1, 1, 1, 1), follow(tmp_path / "2", 2, 2, 8, 8, 8, 8)]
    result = run(tmp_path, legs=legs, workload={"size_mb": 3}, handover={"case": 1})
    assert result.goodput_mbps is not None
    assert [path["leg"] for path in result.details["paths"]] == [1, 2]
    assert run_handovers(tmp_path / "run") == [(3.0, 1, 2)]
    (recovery,) = handover_table(tmp_path / "run").to_dict("records")
    assert recovery["recovered"]
    assert recovery["took_s"] < 1
    assert handovers_per_minute(tmp_path / "run") == pytest.approx(60 / (result.completion_s or 0))


@needs_picoquic
def test_a_run_explains_itself_by_what_was_run(tmp_path: Path) -> None:
    legs = [follow(tmp_path / "1", 8, 8, 1, 1, 1, 1), follow(tmp_path / "2", 2, 2, 8, 8, 8, 8)]
    given = run(tmp_path, legs=legs, workload={"size_mb": 3}, handover={"case": 1})
    directory = tmp_path / "run"
    assert Scenario.load(directory / "scenario.yaml").handover is not None
    derived = Scenario.load(directory / "as-run.yaml")
    again = run_scenario(derived, tmp_path / "again")
    assert again.goodput_mbps == given.goodput_mbps
    with (directory / "handovers.csv").open(encoding="utf-8") as file:
        header, first, *_ = csv.reader(file)
    assert (header, first) == (["time_s", "old_leg", "new_leg"], ["3.0", "1", "2"])


def test_a_run_of_what_is_given_keeps_nothing_else(tmp_path: Path) -> None:
    run(tmp_path, transport="quic", mode="sc", legs=[link(8)], workload={"size_mb": 0.1})
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"as-run.yaml", "handovers.csv"}.isdisjoint(names)
    text = (tmp_path / "run/scenario.yaml").read_text(encoding="utf-8")
    new = ("handover", "trace_offset_s", "offset_s", "delay_curve", "each_carries")
    assert not [word for word in new if word in text]


@needs_picoquic
def test_case_sp_is_the_idealised_path(tmp_path: Path) -> None:
    legs = [follow(tmp_path / "1", 8, 8, 1, 1, 1, 1), follow(tmp_path / "2", 2, 2, 8, 8, 8, 8)]
    result = run(tmp_path, legs=legs, workload={"size_mb": 2}, handover={"case": "sp"})
    assert result.leg_bytes is not None
    assert len(result.leg_bytes) == 1
    several, single = open_capacity(tmp_path / "run")
    assert several == single == pytest.approx(8, abs=0.01)
    shares = module("cellular", "judged").open_shares(tmp_path / "run")
    assert shares["mp_share"] == pytest.approx((result.goodput_mbps or 0) / 8, abs=0.01)
    assert math.isnan(handovers_per_minute(tmp_path / "run"))


@needs_picoquic
def test_two_open_links_have_the_sum_as_capacity_and_the_larger_as_the_single_one(
    tmp_path: Path,
) -> None:
    legs = [link(4), link(2), link(1)]
    run(tmp_path, legs=legs, workload={"size_mb": 1}, handover={"case": 2})
    assert open_capacity(tmp_path / "run") == pytest.approx((6, 4))
    shares = module("cellular", "judged").open_shares(tmp_path / "run")
    assert shares["sp_share"] == pytest.approx(1.5 * shares["mp_share"])


@needs_picoquic
def test_an_offset_makes_the_same_run_as_a_trace_that_begins_there(tmp_path: Path) -> None:
    workload = {"size_mb": 1}
    legs = [follow(tmp_path / "1", 9, 9, 4, 8), follow(tmp_path / "2", 9, 9, 5, 3)]
    later = run(tmp_path / "a", legs=legs, workload=workload, trace_offset_s=2)
    legs = [follow(tmp_path / "3", 4, 8, 9, 9), follow(tmp_path / "4", 5, 3, 9, 9)]
    begun = run(tmp_path / "b", legs=legs, workload=workload)
    assert later.goodput_mbps == begun.goodput_mbps
    assert later.capacity_share == begun.capacity_share


@needs_picoquic
def test_a_bearer_s_legs_go_down_and_up_by_the_rule(tmp_path: Path) -> None:
    legs = [link(8), follow(tmp_path / "2", 4, 4, 4, 4, 0, 0), follow(tmp_path / "3", 1, 6, 6, 6)]
    result = run(
        tmp_path,
        transport="quic-picoquic",
        mode="dc",
        legs=legs,
        pdcp={"split": "least-delay"},
        workload={"duration_s": 4},
        handover={"case": 2},
    )
    assert result.leg_bytes is not None
    series = pd.read_csv(tmp_path / "run/gnb-legs.csv")
    time_s = (series["time_ns"] - series["time_ns"].min()) / 1e9
    third = series[series["leg"] == 3].assign(time_s=time_s)
    assert third[third["time_s"] < 2]["delivered_bytes"].max() == 0
    assert result.leg_bytes[2] > 500_000


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
