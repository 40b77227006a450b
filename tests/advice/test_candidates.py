"""What is set against what, and the study's nearest networks."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.advice import (
    COLUMNS,
    NEIGHBOURS,
    advise,
    base_of,
    neighbours_of,
    places,
    position_of,
    read_networks,
)
from minitopo_dc.advice.candidates import candidates_of, judged_of
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import parse_workload
from tests.advice.made_up import LEGS
from tests.quic.extension import needs_noq, needs_picoquic

PICOQUIC, NOQ = (["quic-picoquic", "mpquic-picoquic"], ["quic-noq", "mpquic-noq"])


@needs_picoquic
@needs_noq
def test_the_ways_of_two_stacks_have_names_of_their_own() -> None:
    first, second = candidates_of(base_of(LEGS), [PICOQUIC, NOQ], 3)
    assert (first.stack, second.stack) == ("picoquic", "noq")
    assert (second.dual, second.multipath) == ("DC (deployable, Xn 3 ms, noq)", "MP-QUIC (noq)")
    assert [*second.ways][-2:] == ["leg 1 (noq)", "leg 2 (noq)"]
    assert not first.ways.keys() & second.ways.keys()
    assert {way.transport for way in second.ways.values()} == set(NOQ)


def test_the_deployable_dual_connectivity_is_set_against_multipath() -> None:
    (stack,) = candidates_of(base_of(LEGS), [PICOQUIC], 3)
    assert (stack.dual, stack.multipath) == ("DC (deployable, Xn 3 ms)", "MP-QUIC")
    several = [*stack.ways][:4]
    assert several == [stack.dual, stack.multipath, "DC (papers')", "DC (ideal)"]
    named = [stack.dual, *several[2:]]
    assert [f"DC ({stack.ways[way].dc_name})" for way in named] == named
    (stack,) = candidates_of(base_of([*LEGS, LEGS[0]]), [PICOQUIC], 5)
    assert [*stack.ways][4:] == ["leg 1", "leg 2", "leg 3"]
    (flow,) = stack.ways[stack.multipath].resolved_flows
    assert flow.legs == (1, 2, 3)


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
        candidates_of(base_of(legs), [transports], 5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seconds": 0}, "--time: 0; allowed: 1 to 86400 s"),
        ({"workload": "ping"}, "--workload: ping; allowed: download, request-response"),
        ({"margin_percent": 0.0}, "--margin: 0; allowed: 0.1 to 100 %"),
    ],
)
def test_what_cannot_be_judged_is_one_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        advise(LEGS, **fields)


@pytest.mark.parametrize(
    ("kind", "difference", "shown", "margin"),
    [
        ("download", math.log(1.1), "10 % faster", "5 %"),
        ("download", math.log(11), "11 times as fast", "5 %"),
        ("realtime", 3.4, "3.4 percentage points better", "1 percentage points"),
        ("video", 0.123, "0.12 Mbit/s better", "0.3 Mbit/s"),
    ],
)
def test_a_difference_has_its_unit(kind: str, difference: float, shown: str, margin: str) -> None:
    judged = judged_of(parse_workload(kind))
    assert judged.by(difference) == shown
    assert judged.margin_shown == margin


def near(
    legs: list[dict[str, Any]] = LEGS, stack: str = "picoquic", **fields: Any
) -> dict[str, Any] | None:
    base = base_of(legs, **fields)
    return neighbours_of(base, stack, 0.05)


def placed(base: Scenario) -> dict[str, float]:
    return position_of(base.legs, base.workload)


def test_a_network_has_numbers_without_a_unit() -> None:
    legs = [
        {"downlink": {"rate_mbps": 10, "queue_packets": 100}, "delay_ms": 40},
        {"downlink": {"rate_mbps": 30}, "delay_ms": 10, "loss_percent": 0.1},
    ]
    found = placed(base_of(legs))
    assert found == pytest.approx({
        "share": 0.75,
        "delay_ratio": 4,
        "windows": 80 / (40 * 0.035),
        "queueing": (0.75 * 40 + 0.25 * 120) / 35,
        "lost_per_window": 0.00075 * 40e6 * 0.035 / 12000,
    })  # fmt: skip
    assert math.isnan(placed(base_of(LEGS, workload="realtime"))["windows"])


def test_the_place_of_a_network_of_the_study_is_that_of_its_line() -> None:
    legs = [  # the first line of the file, with its legs the other way round
        {"downlink": {"rate_mbps": 10.0486 * share, "delay_ms": trip / 2, "queue_ms": queue,
                      "loss_percent": loss}, "uplink": {"delay_ms": trip / 2}}
        for share, trip, queue, loss in (
            (1 - 0.573186, 73.9739 * 0.503525 / 1.503525, 192.993, 0),
            (0.573186, 73.9739 / 1.503525, 56.9906, 0.01),
        )
    ]  # fmt: skip
    found = placed(base_of(legs, workload={"kind": "download", "size_mb": 9.69411}))
    here = places(pd.DataFrame([found])).to_numpy()[0]
    assert here == pytest.approx(read_networks("download")[COLUMNS].to_numpy()[0], rel=1e-3)


def test_neighbours_have_the_same_congestion_control() -> None:
    found = near(congestion_control="reno")
    assert found is not None
    assert (found["near"]["tie"]["points"], found["all"]["tie"]["points"]) == (NEIGHBOURS, 128)
    assert "Of the 20 networks of the study with reno that are most like" in found["sentence"]
    assert json.loads(json.dumps(found, allow_nan=False))["stack"] == "picoquic"
    found = near(congestion_control="fast")  # which the study lacks
    assert found is not None
    assert (found["congestion_control"], found["all"]["tie"]["points"]) == (None, 512)


@pytest.mark.parametrize(
    ("legs", "fields"),
    [
        (LEGS, {"workload": "realtime"}),
        ([*LEGS, LEGS[0]], {}),
        ([LEGS[0], {"downlink": {"rate_mbps": 10}, "delay_ms": 0}], {}),
        (LEGS, {"stack": "ngtcp2"}),
    ],
)
def test_what_the_study_has_no_networks_of_has_no_neighbours(
    legs: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    assert near(legs, **fields) is None


def test_a_position_outside_the_study_is_said_to_be() -> None:
    lossy = {"downlink": {"rate_mbps": 50, "loss_percent": 30}, "delay_ms": 100}
    found = near([lossy, LEGS[1]])
    assert found is not None
    assert found["is_outside"]
    assert found["sentence"].endswith("outside their range, so none is near.")
