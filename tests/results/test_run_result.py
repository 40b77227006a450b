"""The numbers of a run by the names that a table's columns have."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results.run_result import COLUMNS, NUMBERS, RunResult


def result(**changes: Any) -> RunResult:
    values = {"status": "ok", "reason": "", "seed": 1, "size_bytes": 8, "congestion_control": "x"}
    return RunResult(**{"transport": "tcp", "mode": "sc", **values, **changes})


def test_an_http_status_of_a_client_is_not_that_of_its_run() -> None:
    run = result(goodput_mbps=8.0, completion_s=1.0, leg_bytes=[7, 9], details={"status": 200})
    assert run.measures == {
        "client_status": 200,
        "leg_bytes_1": 7,
        "leg_bytes_2": 9,
        "goodput_mbps": 8.0,
        "completion_s": 1.0,
    }


def test_flows_have_their_goodputs_and_what_is_no_number_is_left_out() -> None:
    flows = [{"goodput_mbps": 3.0}, {"goodput_mbps": None}]
    run = result(details={"flows": flows, "jain_index": 0.9, "alpn": "h3", "tls": True})
    assert run.measures == {"jain_index": 0.9, "flow_1_goodput_mbps": 3.0}


def test_a_repeated_number_is_no_measure_and_a_failed_run_has_none() -> None:
    assert result(details={"completion_s": 4.0}).measures == result().measures
    assert result(status="failed", reason="it broke", details={"status": 200}).measures == {}


@given(st.dictionaries(st.sampled_from([field.name for field in fields(RunResult)]), st.integers()))
def test_no_detail_takes_the_name_of_a_column(details: dict[str, int]) -> None:
    assert not result(details=details).measures.keys() & (COLUMNS - {*NUMBERS})
