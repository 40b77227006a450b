"""The account of a run's packets, from summaries written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.account import packet_account
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
    with pytest.raises(ResultError, match=r"gnb-summary\.json: malformed"):
        packet_account(run)
