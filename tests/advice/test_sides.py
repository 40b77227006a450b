"""Who is set against whom, and what is judged."""

from __future__ import annotations

import math

import pytest

from minitopo_dc.advice import Request, base_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.sides import sides_of
from minitopo_dc.settings import SettingsError
from minitopo_dc.statistics import Interval
from minitopo_dc.workloads import RequestResponse, parse_workload
from tests.advice.made_up import LEGS


@pytest.mark.parametrize(
    ("transports", "number"),
    [(["quic-picoquic", "mpquic-picoquic"], 3), (["tcp", "mptcp"], 1)],
)
def test_as_many_variants_compete_on_one_side_as_on_the_other(
    transports: list[str], number: int
) -> None:
    (sides,) = sides_of(base_of(LEGS), transports)
    assert (len(sides.dual), len(sides.multipath)) == (number, number)
    assert len(sides.alone) == 2
    shown = {row.variant for row in (*sides.dual, *sides.beside)}
    assert {"batch", "least-delay", "proportional"} <= shown


def test_three_legs_are_each_tried_alone() -> None:
    (sides,) = sides_of(base_of([*LEGS, LEGS[0]]), ["quic-picoquic", "mpquic-picoquic"])
    assert [row.variant for row in sides.alone] == ["leg 1", "leg 2", "leg 3"]
    assert sides.multipath[0].fields["paths"]["initial"] == [1, 2, 3]


def test_legs_that_reorder_tell_no_loss_by_their_order() -> None:
    legs = [{"downlink": {"rate_mbps": 30, "reorder": True}}, LEGS[1]]
    (sides,) = sides_of(base_of(legs), ["quic-picoquic", "mpquic-picoquic"])
    base = base_of(legs)
    assert [row.scenario(base, 1).pdcp.legs_keep_order for row in sides.dual] == [False] * 3


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
        sides_of(base_of(legs), transports)


def test_a_longer_delay_is_worse() -> None:
    asked = criterion(RequestResponse())
    assert asked.outcome(Interval(0.3, 0.4, "")) == "worse"
    assert asked.outcome(Interval(-0.4, -0.3, "")) == "better"
    assert asked.outcome(Interval(-0.05, 0.05, "")) == "tie"


@pytest.mark.parametrize(
    ("kind", "difference", "shown", "margin"),
    [
        ("download", 0.0953102, "+10.0 %", "5 %"),
        ("realtime", -0.034, "-3.4 percentage points", "1 percentage points"),
        ("video", 0.123, "+0.12 Mbit/s", "0.3 Mbit/s"),
    ],
)
def test_a_difference_has_its_unit(kind: str, difference: float, shown: str, margin: str) -> None:
    asked = criterion(parse_workload(kind))
    assert f"{asked.shown(difference)} {asked.difference_unit}" == shown
    assert asked.margin_shown == margin


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


@pytest.mark.parametrize(
    ("kind", "mean", "best"), [("download", 4.0, "more"), ("request-response", 4.0, "less")]
)
def test_ratios_have_a_geometric_mean_and_the_best_is_the_better_end(
    kind: str, mean: float, best: str
) -> None:
    asked = criterion(parse_workload(kind))
    assert asked.mean([2.0, 8.0]) == pytest.approx(mean)
    assert math.isnan(asked.mean([2.0, math.nan]))
    assert math.isnan(asked.mean([]))
    assert asked.best({"none": math.nan, "less": 1.0, "more": 2.0, "as much": 2.0}) == best
    assert asked.best({"none": math.nan}) is None


def test_differences_have_an_arithmetic_mean() -> None:
    assert criterion(parse_workload("realtime")).mean([0.2, 0.8]) == pytest.approx(0.5)


def test_no_time_at_all_is_one_error() -> None:
    with pytest.raises(SettingsError, match="--time: 0; allowed: 1 to 86400 s"):
        Request(base_of(LEGS), seconds=0)
