"""Congestion window and use of the legs, from files written by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError
from minitopo_dc.results.logs.quic import read_recovery, qlog_events, server_recovery
from minitopo_dc.results.measures.pdcp import leg_failures, reordering_wait_ms
from minitopo_dc.results.measures.utilisation import (
    arrived_copies,
    flow_rates,
    link_utilisation,
)
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save, save_element


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


def test_of_several_flows_the_first_one_s_qlog_is_read(tmp_path: Path) -> None:
    write(tmp_path / "flow-1/qlog/server/a81acbee.qlog", EVENTS)
    write(tmp_path / "flow-2/qlog/server/18acbee8.qlog", EVENTS[:3])
    assert server_recovery(tmp_path).drop_occasions == 2


def test_a_first_flow_without_qlog_is_not_taken_for_another(tmp_path: Path) -> None:
    write(tmp_path / "flow-2/qlog/server/18acbee8.qlog", EVENTS)
    with pytest.raises(ResultError, match="or the first of its flows, lacks options: qlog: true"):
        server_recovery(tmp_path)


def test_a_run_without_qlog_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="options: qlog: true"):
        server_recovery(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", '{"traces": []}', '{"traces": [{"events": [1]}]}'])
def test_a_spoilt_qlog_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "1.qlog"
    path.write_text(text)
    with pytest.raises(ResultError, match=r"1\.qlog: malformed qlog"):
        read_recovery(path)


NGTCP2 = Path(__file__).parent / "data" / "ngtcp2-server.sqlog"
"""The first 240 records of a real one: NewReno, 20 Mbit/s, a queue of 15,000 bytes."""


def test_ngtcp2s_qlog_gives_the_same_figures(tmp_path: Path) -> None:
    (tmp_path / "qlog" / "server").mkdir(parents=True)
    copy = tmp_path / "qlog" / "server" / "a81acbee.sqlog"
    copy.write_bytes(NGTCP2.read_bytes())
    recovery = server_recovery(tmp_path)
    assert (recovery.lost_packets, recovery.drop_occasions) == (17, 2)
    falls = recovery.window[recovery.window["cwnd_bytes"].diff() < 0]
    assert list(falls["time_s"]) == pytest.approx([0.034, 0.047])
    assert list(falls["cwnd_bytes"]) == [16_717, 9_022]


def sequence(*events: dict[str, Any]) -> str:
    head = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": {}}
    return "".join(f"\x1e{json.dumps(record)}\n" for record in (head, *events))


def ngtcp2_metrics(time: float, latest_rtt: int) -> dict[str, Any]:
    data = {"congestion_window": 12_000, "bytes_in_flight": 0, "latest_rtt": latest_rtt}
    return {"time": time, "name": "recovery:metrics_updated", "data": data}


def ngtcp2_received(time: float, *ranges: list[int], kind: str = "1RTT") -> dict[str, Any]:
    frames = [{"frame_type": "ack", "ack_delay": 0, "acked_ranges": list(ranges)}]
    data = {"frames": frames, "header": {"packet_type": kind, "packet_number": 1}}
    return {"time": time, "name": "transport:packet_received", "data": data}


def test_ngtcp2s_round_trip_time_counts_when_a_newer_packet_was_acknowledged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "1.sqlog"
    path.write_text(
        sequence(
            ngtcp2_received(5, [0], kind="initial"),
            ngtcp2_metrics(5, 5),
            ngtcp2_received(20, [2, 3], [0]),
            ngtcp2_metrics(20, 20),
            ngtcp2_metrics(21, 20),  # behind a packet sent
            ngtcp2_received(22, [1, 3]),  # of older packets
            ngtcp2_metrics(22, 20),
            ngtcp2_received(40, [4]),
            ngtcp2_metrics(40, 40),
        )
    )
    assert read_recovery(path).rtt_ms == 30.0


def test_ngtcp2s_events_are_told_as_aioquic_tells_them(tmp_path: Path) -> None:
    (tmp_path / "qlog" / "server").mkdir(parents=True)
    header = {"packet_type": "1RTT", "packet_number": 7}
    lost = {"time": 3, "name": "recovery:packet_lost", "data": {"header": header}}
    events = sequence(lost, ngtcp2_received(4, [9], [5, 6]))
    (tmp_path / "qlog" / "server" / "1.sqlog").write_text(events)
    first, second = qlog_events(tmp_path, "server")
    assert first["data"] == {"type": "1RTT", "packet_number": 7}
    assert second["data"]["frames"][0]["acked_ranges"] == [[9, 9], [5, 6]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (sequence(ngtcp2_metrics(1, 1))[:-1], "record 2 is cut"),
        (sequence(ngtcp2_metrics(1, 1))[:-9], "record 2 is cut"),
        (
            sequence({"time": 1, "name": "recovery:metrics_updated", "data": {}}),
            "congestion_window",
        ),
        ("\x1e{}\n", "qlog_format"),
        ('\x1e{"qlog_format": "JSON"}\n', "qlog_format 'JSON' is not JSON-SEQ"),
        ("\x1e", "record 1 is cut"),
    ],
)
def test_a_spoilt_qlog_of_ngtcp2_is_an_error_that_says_where(
    text: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "1.sqlog"
    path.write_text(text)
    with pytest.raises(ResultError, match=rf"1\.sqlog: malformed qlog: .*{words}"):
        read_recovery(path)


def scenario(*rates_mbps: float) -> Scenario:
    legs = [{"downlink": {"rate_mbps": rate}} for rate in rates_mbps]
    return Scenario.check({"transport": "quic", "mode": "dc", "legs": legs}, "test")


def test_the_utilisation_is_what_a_leg_carried_of_what_it_could(tmp_path: Path) -> None:
    run = save(tmp_path, result(completion_s=4.0, leg_bytes=[5_000_000, 1_000_000]))
    scenario(20, 10).save(run / "scenario.yaml")
    assert link_utilisation(run) == pytest.approx([0.5, 0.2])


def test_the_utilisation_is_of_the_time_in_which_clients_ran(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,100\n1,8\n3,100\n4,100\n")
    late = {"started_s": 1.0}
    run = save(tmp_path, result(completion_s=2.0, leg_bytes=[1_000_000], details=late))
    legs = [{"downlink": {"trace": str(trace)}}]
    Scenario.check({"transport": "quic", "mode": "sc", "legs": legs}, "test").save(
        run / "scenario.yaml"
    )
    assert link_utilisation(run) == pytest.approx([0.5])


def test_what_a_leg_delivers_behind_a_duration_is_not_used(tmp_path: Path) -> None:
    flows = [
        {"started_s": 0.5, "completion_s": 2.0},
        {"started_s": 0.6, "completion_s": 1.9},
    ]
    # 20 Mbit/s from 0.5 s to the end, and 0.2 s longer from the queue.
    run = save(tmp_path, result(completion_s=2.0, leg_bytes=[5_500_000], details={"flows": flows}))
    rows = [
        {
            "time_ns": tenth * 100_000_000,
            "leg": 1,
            "delivered_bytes": min(22, max(0, tenth - 5)) * 250_000,
        }
        for tenth in range(40)
    ]
    save_element(run, "gnb", "legs", rows)
    fields = {
        "legs": [{"downlink": {"rate_mbps": 20}}],
        "workload": {"duration_s": 2.0},
        "mode": "flows",
    }
    fields |= {"transport": "quic", "flows": [{"mode": "sc"}, {"mode": "sc"}]}
    Scenario.check(fields, "test").save(run / "scenario.yaml")
    assert link_utilisation(run) == pytest.approx([1.0])


def test_a_failed_run_has_no_utilisation(tmp_path: Path) -> None:
    run = save(tmp_path, no_result("quic", "dc", "failed", "it broke"))
    with pytest.raises(ValueError, match="status failed; only a run that is ok"):
        link_utilisation(run)


def test_a_flows_rate_is_what_its_bearer_delivered_in_each_whole_bin(tmp_path: Path) -> None:
    rows = [
        {
            "time_ns": half * 500_000_000,
            "bearer": 2 * flow - 1,
            "delivered_bytes": max(0, half) * flow * 62_500,
        }
        for half in range(-1, 6)
        for flow in (1, 2)
    ]
    flows = [{"completion_s": 1.999}, {"completion_s": 1.5}]
    run = save(tmp_path, result(completion_s=1.999, details={"flows": flows}))
    save_element(run, "ue", "receive", rows)
    rates = flow_rates(run)
    assert list(rates[rates["flow"] == 1]["rate_mbps"]) == pytest.approx([1.0, 1.0])
    assert list(rates[rates["flow"] == 2]["rate_mbps"]) == pytest.approx([2.0, 2.0])
    assert list(rates["time_s"]) == [0.0, 1.0, 0.0, 1.0]


def test_a_flows_bins_begin_when_its_client_does(tmp_path: Path) -> None:
    starts = {1: 3, 2: 7}
    rows = [
        {
            "time_ns": tenth * 100_000_000,
            "bearer": 2 * flow - 1,
            "delivered_bytes": max(0, tenth - start) * 12_500,
        }
        for tenth in range(40)
        for flow, start in starts.items()
    ]
    flows = [{"started_s": start / 10, "completion_s": 2.0} for start in starts.values()]
    run = save(tmp_path, result(completion_s=2.0, details={"flows": flows}))
    save_element(run, "ue", "receive", rows)
    rates = flow_rates(run)
    assert list(rates["rate_mbps"]) == pytest.approx([1.0] * 4)
    assert list(rates["time_s"]) == [0.0, 1.0, 0.0, 1.0]


def test_copies_are_what_arrived_for_each_pdu_delivered(tmp_path: Path) -> None:
    duplicated = {"pdus_1": 90, "pdus_2": 100, "delivered": 100, "duplicates": 90}
    alone = {"pdus_1": 50, "delivered": 50}
    receive = {"11": alone, "1": duplicated}
    (tmp_path / "ue-summary.json").write_text(json.dumps({"receive": receive}))
    assert arrived_copies(tmp_path) == {1: 1.9, 6: 1.0}


def test_the_waiting_time_is_the_mean_over_all_that_the_bearers_delivered(tmp_path: Path) -> None:
    waited = {"delivered": 300, "waiting_count": 100, "waiting_total_ns": 600_000_000}
    receive = {"1": waited, "3": {"delivered": 100, "waiting_count": 0, "waiting_total_ns": 0}}
    (tmp_path / "ue-summary.json").write_text(json.dumps({"receive": receive}))
    assert reordering_wait_ms(tmp_path) == 1.5


def test_a_run_without_bearers_has_no_waiting_time(tmp_path: Path) -> None:
    (tmp_path / "ue-summary.json").write_text('{"receive": {}}')
    assert math.isnan(reordering_wait_ms(tmp_path))


@pytest.mark.parametrize("text", ["{", "[]", '{"receive": {"1": {"delivered": 5}}}'])
def test_the_waiting_time_of_a_spoilt_summary_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "ue-summary.json").write_text(text)
    with pytest.raises(ResultError, match=r"ue-summary\.json: (malformed summary|malformed)"):
        reordering_wait_ms(tmp_path)


def test_failures_of_legs_are_those_of_both_directions(tmp_path: Path) -> None:
    for host, counts in (("gnb", {"failures_1": 2, "failures_2": 1}), ("ue", {"failures_1": 4})):
        summary = {"transmit": {"1": counts | {"pdus_1": 9}}}
        (tmp_path / f"{host}-summary.json").write_text(json.dumps(summary))
    assert leg_failures(tmp_path) == 7


def test_a_run_in_which_nobody_looks_has_no_failures_of_legs(tmp_path: Path) -> None:
    for host in ("gnb", "ue"):
        (tmp_path / f"{host}-summary.json").write_text('{"transmit": {"1": {"pdus_1": 1}}}')
    assert math.isnan(leg_failures(tmp_path))


@pytest.mark.parametrize("text", ["{", "{}", '{"transmit": {"1": {"failures_1": "x"}}}'])
def test_failures_of_a_spoilt_summary_are_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "gnb-summary.json").write_text(text)
    with pytest.raises(ResultError, match=r"gnb-summary\.json: (malformed summary|malformed)"):
        leg_failures(tmp_path)


@pytest.mark.parametrize("text", ["{", "{}", '{"receive": {"1": {"pdus_1": 1, "delivered": 0}}}'])
def test_copies_of_a_spoilt_summary_are_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "ue-summary.json").write_text(text)
    with pytest.raises(ResultError, match=r"ue-summary\.json: (malformed summary|malformed)"):
        arrived_copies(tmp_path)


def test_a_run_without_bearers_has_no_rates_of_flows(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"ue-receive\.csv"):
        flow_rates(tmp_path)
