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


@pytest.mark.parametrize(
    ("transports", "number"),
    [(["quic-picoquic", "mpquic-picoquic"], 3), (["tcp", "mptcp"], 1)],
)
def test_as_many_variants_compete_on_one_side_as_on_the_other(
    transports: list[str], number: int
) -> None:
    (stack,) = candidates_of(base_of(LEGS), transports)
    assert (len(stack.dual), len(stack.multipath)) == (number, number)
    assert len(stack.alone) == 2
    assert stack.dual[0].name == "DC (least delay)"


def test_three_legs_are_each_tried_alone() -> None:
    (stack,) = candidates_of(base_of([*LEGS, LEGS[0]]), ["quic-picoquic", "mpquic-picoquic"])
    assert [row.variant for row in stack.alone] == ["leg 1", "leg 2", "leg 3"]
    paths = stack.multipath[0].scenario.paths
    assert paths is not None
    assert paths.initial == (1, 2, 3)


def test_legs_that_reorder_tell_no_loss_by_their_order() -> None:
    legs = [{"downlink": {"rate_mbps": 30, "reorder": True}}, LEGS[1]]
    (stack,) = candidates_of(base_of(legs), ["quic-picoquic", "mpquic-picoquic"])
    assert [row.scenario.pdcp.legs_keep_order for row in stack.dual] == [False] * 3


@pytest.mark.parametrize(
    ("transports", "legs", "message"),
    [
        (["movie"], LEGS, "--transports: movie; allowed: "),
        (["tcp"], LEGS, "--transports: tcp: 0 of them can do mode multipath; allowed: "),
        (["tcp", "mpquic-picoquic"], LEGS, "--transports: tcp: 0 of them can do mode multipath"),
        (["tcp", "mptcp"], LEGS[:1], "--legs: 1; allowed: two or more"),
    ],
)
def test_what_has_no_counterpart_is_one_error(
    transports: list[str], legs: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        candidates_of(base_of(legs), transports)


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
