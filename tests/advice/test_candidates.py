"""Who is set against whom, and what is judged."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.advice import advise, base_of
from minitopo_dc.advice.candidates import candidates_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.judge import blank_result
from minitopo_dc.workloads import parse_workload
from tests.advice.made_up import LEGS


def test_the_deployable_dual_connectivity_is_set_against_multipath() -> None:
    stack = candidates_of(base_of(LEGS), ["quic-picoquic", "mpquic-picoquic"], 3)
    assert (stack.dual.name, stack.multipath.name) == ("DC (deployable, Xn 3 ms)", "MP-QUIC")
    assert [row.name for row in stack.others] == ["DC (papers')", "DC (ideal)"]
    named = [stack.dual, *stack.others]
    assert [row.scenario.dc_name for row in named] == [row.variant for row in named]


def test_three_legs_are_each_tried_alone() -> None:
    stack = candidates_of(base_of([*LEGS, LEGS[0]]), ["quic-picoquic", "mpquic-picoquic"], 5)
    assert [row.variant for row in stack.alone] == ["leg 1", "leg 2", "leg 3"]
    paths = stack.multipath.scenario.paths
    assert paths is not None
    assert paths.initial == (1, 2, 3)


@pytest.mark.parametrize(
    ("transports", "legs", "message"),
    [
        (["movie"], LEGS, "--transports: movie; allowed: "),
        (["tcp"], LEGS, "--transports: tcp: 0 can do mode multipath; allowed: "),
        (["tcp", "mpquic-picoquic"], LEGS, "--transports: tcp mpquic-picoquic: Linux, picoquic; "),
        (["tcp", "mptcp"], LEGS[:1], "--legs: 1; allowed: two or more"),
    ],
)
def test_what_has_no_counterpart_is_one_error(
    transports: list[str], legs: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        candidates_of(base_of(legs), transports, 5)


@pytest.mark.parametrize(
    ("kind", "difference", "shown", "margin"),
    [
        ("download", math.log(1.1), "10 %", "5 %"),
        ("realtime", 3.4, "3.4 percentage points", "1 percentage points"),
        ("video", 0.123, "0.12 Mbit/s", "0.3 Mbit/s"),
    ],
)
def test_a_difference_has_its_unit(kind: str, difference: float, shown: str, margin: str) -> None:
    judged = criterion(parse_workload(kind))
    assert judged.shown(difference) == shown
    assert judged.margin_shown == margin


@pytest.mark.parametrize(
    ("workload", "margin", "message"),
    [
        ("ping", None, "--workload: ping; allowed: download, request-response"),
        ("download", 0.0, "--margin: 0; allowed: 0.1 to 100 %"),
    ],
)
def test_what_cannot_be_judged_is_one_error(
    workload: str, margin: float | None, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        criterion(parse_workload(workload), margin)


@given(first=st.floats(0.001, 1e6), second=st.floats(0.001, 1e6))
def test_less_of_a_delay_is_a_higher_score_and_more_of_a_goodput(
    first: float, second: float
) -> None:
    goodput, delay = (criterion(parse_workload(kind)) for kind in ("download", "request-response"))
    run = blank_result(base_of(LEGS), Path())
    scores = [
        goodput.score(replace(run, status="ok", goodput_mbps=value)) for value in (first, second)
    ]
    assert (scores[0] > scores[1]) == (first > second)
    assert goodput.value(scores[0]) == pytest.approx(first)
    assert delay.value(-scores[0]) == pytest.approx(first)


def test_a_run_that_failed_has_no_score() -> None:
    failed = replace(blank_result(base_of(LEGS), Path()), goodput_mbps=10.0)
    assert math.isnan(criterion(parse_workload("download")).score(failed))


def test_no_time_at_all_is_one_error() -> None:
    with pytest.raises(SettingsError, match="--time: 0; allowed: 1 to 86400 s"):
        advise(LEGS, seconds=0)
