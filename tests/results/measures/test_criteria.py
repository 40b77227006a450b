"""Scores of measures, of which more is better."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results.measures.named import CRITERIA, criteria_of
from tests.results.synthetic_runs import result, table_of


@given(first=st.floats(0.001, 1e6), second=st.floats(0.001, 1e6))
def test_less_of_a_delay_is_a_higher_score_and_more_of_a_goodput(
    first: float, second: float
) -> None:
    (goodput,), (delay,) = CRITERIA["download"], CRITERIA["request-response"]
    scores = [goodput.score(value) for value in (first, second)]
    assert (scores[0] > scores[1]) == (first > second)
    assert goodput.value(scores[0]) == pytest.approx(first)
    assert delay.value(-scores[0]) == pytest.approx(first)


def test_a_run_that_failed_has_no_score() -> None:
    (goodput,) = CRITERIA["download"]
    assert goodput.number({"status": "ok", "goodput_mbps": 3.0}) == 3.0
    assert math.isnan(goodput.number({"status": "failed", "goodput_mbps": 3.0}))
    assert math.isnan(goodput.score(math.inf))


def test_a_share_of_frames_counts_in_percent() -> None:
    late = CRITERIA["realtime"][0]
    assert late.number({"status": "ok", "late_share": 0.25}) == 25
    assert late.score(25) == -25


@pytest.mark.parametrize(
    ("fields", "measure", "better"),
    [
        ({}, "goodput_mbps", "faster"),
        ({"workload": "mine", "goodput_mbps": 1.0}, "goodput_mbps", "faster"),
        ({"workload": "video", "goodput_mbps": None}, "linear_qoe_mbps", "faster"),
        (
            {"workload": "ping", "goodput_mbps": None, "details": {"rtt_median_ms": 3.0}},
            *("rtt_median_ms", "lower"),
        ),
        (
            {"workload": "command", "goodput_mbps": None, "details": {"pages": 3.0}},
            *("pages", "higher"),
        ),
    ],
)
def test_what_is_judged_is_that_of_the_workload(
    fields: dict[str, Any], measure: str, better: str
) -> None:
    main = criteria_of(table_of({"DC": [result(**fields)]}))[0]
    assert (main.measure, main.better) == (measure, better)
