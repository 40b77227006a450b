"""Congestion window and use of the legs, from files written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.analysis import ResultError
from minitopo_dc.analysis.qlog import read_recovery, server_recovery
from minitopo_dc.analysis.utilisation import (
    arrived_copies,
    flow_rates,
    leg_rates,
    link_utilisation,
)
from minitopo_dc.scenario import Scenario
from tests.analysis.synthetic_runs import no_result, result, save, save_element


def metrics(time: float, **data: float) -> dict[str, Any]:
    return {"name": "recovery:metrics_updated", "time": time, "data": data}


LOST = {"name": "recovery:packet_lost", "time": 30, "data": {"type": "1RTT", "packet_number": 1}}
EVENTS = [
    {"name": "transport:packet_sent", "time": 1000, "data": {}},
    metrics(1010, cwnd=10_000, bytes_in_flight=1),
    metrics(1020, cwnd=12_000, latest_rtt=20.0),
    LOST,
    metrics(1030, cwnd=12_000),
    LOST,
    metrics(1030, cwnd=6_000),
    metrics(1040, cwnd=7_000, latest_rtt=40.0),
    metrics(1050, cwnd=3_500),
    metrics(1060, cwnd=3_500),
]


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"traces": [{"events": events}]}))
    return path


def test_packets_lost_together_are_one_drop_occasion(tmp_path: Path) -> None:
    recovery = read_recovery(write(tmp_path / "1.qlog", EVENTS))
    assert recovery.lost_packets == 2
    assert recovery.drop_occasions == 2


def test_the_window_has_a_row_for_each_change_and_the_last(tmp_path: Path) -> None:
    window = server_recovery(write(tmp_path / "qlog/server/1.qlog", EVENTS).parents[2]).window
    assert list(window["cwnd_bytes"]) == [10_000, 12_000, 6_000, 7_000, 3_500, 3_500]
    assert list(window["time_s"]) == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])


def test_the_round_trip_time_is_the_mean_of_its_samples(tmp_path: Path) -> None:
    assert read_recovery(write(tmp_path / "1.qlog", EVENTS)).rtt_ms == 30.0


def test_a_run_without_qlog_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="options: qlog: true"):
        server_recovery(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", '{"traces": []}', '{"traces": [{"events": [1]}]}'])
def test_a_spoilt_qlog_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "1.qlog"
    path.write_text(text)
    with pytest.raises(ResultError, match=r"1\.qlog: not a whole qlog"):
        read_recovery(path)


def scenario(*rates_mbps: float) -> Scenario:
    legs = [{"downlink": {"rate_mbps": rate}} for rate in rates_mbps]
    return Scenario.check({"transport": "quic", "mode": "dc", "legs": legs}, "test")


def test_the_utilisation_is_what_a_leg_carried_of_what_it_could(tmp_path: Path) -> None:
    run = save(tmp_path, result(completion_s=4.0, leg_bytes=[5_000_000, 1_000_000]))
    scenario(20, 10).save(run / "scenario.yaml")
    assert link_utilisation(run) == pytest.approx([0.5, 0.2])


def test_a_failed_run_has_no_utilisation(tmp_path: Path) -> None:
    run = save(tmp_path, no_result("quic", "dc", "failed", "it broke"))
    with pytest.raises(ValueError, match="status failed; only a run that is ok"):
        link_utilisation(run)


def test_a_legs_rate_is_what_it_delivered_in_each_interval(tmp_path: Path) -> None:
    rows = [
        {"time_ns": second * 1_000_000_000, "leg": leg, "delivered_bytes": second * leg * 125_000}
        for second in range(3)
        for leg in (1, 2)
    ]
    save_element(tmp_path, "gnb", "legs", rows)
    rates = leg_rates(tmp_path)
    assert rates.to_dict("list") == {
        "time_s": [1.0, 1.0, 2.0, 2.0],
        "leg": [1, 2, 1, 2],
        "rate_mbps": [1.0, 2.0, 1.0, 2.0],
    }


def test_a_flows_rate_is_what_its_client_received_in_each_bin(tmp_path: Path) -> None:
    lines = ["time_s,flow,received_bytes"]
    lines += [f"{time / 2},{flow},{time * flow * 62_500}" for time in range(5) for flow in (1, 2)]
    (tmp_path / "connections.csv").write_text("\n".join(lines))
    rates = flow_rates(tmp_path)
    assert list(rates[rates["flow"] == 1]["rate_mbps"]) == pytest.approx([1.0, 1.0])
    assert list(rates[rates["flow"] == 2]["rate_mbps"]) == pytest.approx([2.0, 2.0])


def test_copies_are_what_arrived_for_each_pdu_delivered(tmp_path: Path) -> None:
    duplicated = {"pdus_1": 90, "pdus_2": 100, "delivered": 100, "duplicates": 90}
    alone = {"pdus_1": 50, "delivered": 50}
    receive = {"11": alone, "1": duplicated}
    (tmp_path / "ue-summary.json").write_text(json.dumps({"receive": receive}))
    assert arrived_copies(tmp_path) == [1.9, 1.0]


@pytest.mark.parametrize("text", ["{", "{}", '{"receive": {"1": {"pdus_1": 1, "delivered": 0}}}'])
def test_copies_of_a_spoilt_summary_are_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "ue-summary.json").write_text(text)
    with pytest.raises(ResultError, match=r"ue-summary\.json: no whole summary"):
        arrived_copies(tmp_path)


def test_a_run_without_flows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"connections\.csv"):
        flow_rates(tmp_path)
