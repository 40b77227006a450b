"""The account of a run's packets, from summaries written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Scenario
from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.account import network_sentences, packet_account
from minitopo_dc.results.measures.named import measure

LEG = {"pushed_packets": 100, "delivered_packets": 90, "dropped_loss": 4, "dropped_queue": 3}
LEG |= {"dropped_early": 1, "queue_packets": 1, "air_packets": 1}
SENT = {"sdus": 60, "pdus_1": 50, "pdus_2": 12, "dropped_split": 0, "offered": 82, "waiting": 5}
SENT |= {"dropped_buffer": 10, "discarded": 7, "dropped_xn": 2, "xn_packets": 1}
RECEIVED = {"pdus_1": 48, "delivered": 40, "duplicates": 2, "old": 3, "buffered": 3}


def summarised(run: Path, legs: Any, transmit: Any, receive: Any) -> Path:
    (run / "gnb-summary.json").write_text(json.dumps({"legs": legs, "transmit": transmit}))
    (run / "ue-summary.json").write_text(json.dumps({"receive": receive}))
    return run


def test_each_packet_has_one_end(tmp_path: Path) -> None:
    """59 PDUs reach the leg beside 41 packets of no bearer, of which 42 come out."""
    account = packet_account(summarised(tmp_path, {"1": LEG}, {"1": SENT}, {"1": RECEIVED}))
    assert (account.offered, account.copies) == (82 + 41, 2)
    assert (account.delivered, account.duplicates, account.under_way) == (40 + 42, 2, 11)
    causes = {name: count for name, count in account.losses.items() if count}
    assert causes == {
        **{"buffer": 10, "discard": 7, "xn": 2, "queue": 3, "aqm": 1, "air": 4, "late": 3},
    }
    assert account.offered + account.copies == 82 + 2 + sum(causes.values()) + 11
    assert (account.lost, account.main_cause) == (30, "in the waiting buffer")


def test_a_copy_that_is_lost_is_no_lost_packet(tmp_path: Path) -> None:
    legs = {
        "1": {"pushed_packets": 10, "delivered_packets": 10, "dropped_loss": 0},
        "2": {"pushed_packets": 10, "delivered_packets": 6, "dropped_loss": 4},
    }
    sent = {"sdus": 10, "pdus_1": 10, "pdus_2": 10}
    received = {"pdus_1": 10, "pdus_2": 6, "delivered": 10, "duplicates": 6}
    run = summarised(tmp_path, legs, {"1": sent}, {"1": received})
    account = packet_account(run)
    assert (account.lost, account.losses["air"]) == (0, 4)
    assert account.sentence == (
        "10 offered and 10 copies = 10 delivered + 6 duplicates + 4 lost in the air"
    )
    assert measure({"directory": run}, "lost_percent") == 0


def test_a_run_without_packets_lost_none(tmp_path: Path) -> None:
    leg = {"pushed_packets": 0, "delivered_packets": 0}
    account = packet_account(summarised(tmp_path, {"1": leg}, {}, {}))
    assert (account.lost_share, account.main_cause) == (0, "")
    assert account.sentence == "0 offered = 0 delivered"


@pytest.mark.parametrize("spoilt", ["many", None])
def test_a_counter_that_is_no_number_is_an_error_that_names_the_file(
    spoilt: object, tmp_path: Path
) -> None:
    run = summarised(tmp_path, {"1": LEG | {"dropped_loss": spoilt}}, {}, {})
    with pytest.raises(ResultError, match=r"gnb-summary\.json"):
        packet_account(run)


def network(run: Path, summary: dict[str, Any], **fields: Any) -> list[str]:
    """The sentences on the network of a run with this summary of gnb."""
    legs = [{"rate_mbps": 20}, {"rate_mbps": 40}]
    scenario = Scenario.check({"legs": legs, "transport": "quic"} | fields, "here")
    scenario.save(run / "scenario.yaml")
    (run / "gnb-summary.json").write_text(json.dumps({"transmit": {}, "legs": {}} | summary))
    return [*network_sentences(run)]


def test_a_cell_has_the_shares_of_its_legs_and_background_users(tmp_path: Path) -> None:
    users = {"kind": "full", "rate_mbps": 20, "users": 2}
    served = {"served_bytes_1": 9, "served_ns_1": 500, "served_ns_2": 300, "served_ns_3": 200}
    assert network(
        tmp_path, {"cells": {"1": served}}, mode="dc", cells=[{"legs": [2], "background": [users]}]
    ) == ["Cell 1, time served: leg 2 50 %, background user 1 30 %, background user 2 20 %"]


def test_steering_has_its_mode_and_the_shares_of_packets(tmp_path: Path) -> None:
    legs = {"1": {"pushed_packets": 750}, "2": {"pushed_packets": 2250}}
    summary = {"legs": legs, "transmit": {"1": {"sdus": 3000}}}
    (sentence,) = network(tmp_path, summary, mode="atsss", pdcp={"split": "smallest-delay"})
    assert sentence == "Steering downlink by smallest-delay, 3,000 packets: leg 1 25 %, leg 2 75 %"


def test_marks_of_queues_are_beside_the_packets_that_could_have_one(tmp_path: Path) -> None:
    marked = {"marked_packets": 184, "ect0_packets": 300, "ect1_packets": 1000}
    assert network(tmp_path, {"legs": {"1": marked, "2": {}}}, mode="dc") == [
        "Marks downlink: leg 1 184 of 1,300 packets with ECT"
    ]


def test_marks_at_the_split_are_beside_its_packets(tmp_path: Path) -> None:
    bearer = {"sdus": 2578, "marked_sdus": 132}
    assert network(tmp_path, {"transmit": {"1": bearer}}, mode="dc") == [
        "Marks downlink: the split 132 of 2,578 packets"
    ]


def test_a_network_without_cells_steering_and_marks_has_no_sentence(tmp_path: Path) -> None:
    assert network(tmp_path, {"legs": {"1": {"pushed_packets": 5}}}, mode="dc") == []
