"""What the study found near a network."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minitopo_dc.advice import base_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.neighbours import (
    NEIGHBOURS,
    NETWORKS,
    Neighbours,
    Networks,
    neighbours_of,
    place,
    read_networks,
)
from minitopo_dc.advice.position import position_of
from minitopo_dc.advice.verdict import Verdict
from minitopo_dc.shipped import shipped
from minitopo_dc.statistics import Proportion
from tests.advice.made_up import LEGS

CONTROLS = {"download": 4, "download-unseen": 4, "tcp": 2}


def near(
    legs: list[dict[str, Any]] = LEGS, stack: str = "picoquic", **fields: Any
) -> Neighbours | None:
    base = base_of(legs, **fields)
    verdict = Verdict(
        stack=stack, criterion=criterion(base.workload), dual=None, multipath=None, found=None,
        confidence=0.95, looks=0, stopped="time", seconds=0.0, why="",
    )  # fmt: skip
    return neighbours_of(base, position_of(base), verdict)


def test_neighbours_have_the_same_congestion_control() -> None:
    found = near(congestion_control="reno")
    assert found is not None
    assert (found.near.tie.points, found.all.tie.points, found.control) == (NEIGHBOURS, 128, "reno")
    assert found.foretold.points == 128
    assert "Of the 20 networks of the study with reno nearest to this position" in found.sentence
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["near"]["tie"]["points"] == 20


def test_a_congestion_control_that_the_study_lacks_has_neighbours_with_any() -> None:
    found = near(congestion_control="fast")
    assert found is not None
    assert (found.control, found.all.tie.points) == ("", 512)


def test_the_place_of_a_network_of_the_study_is_that_of_its_line() -> None:
    legs = [  # the first line of the file, with its legs the other way round
        {"downlink": {"rate_mbps": 10.0486 * share, "delay_ms": trip / 2, "queue_ms": queue,
                      "loss_percent": loss}, "uplink": {"delay_ms": trip / 2}}
        for share, trip, queue, loss in (
            (1 - 0.573186, 73.9739 * 0.503525 / 1.503525, 192.993, 0),
            (0.573186, 73.9739 / 1.503525, 56.9906, 0.01),
        )
    ]  # fmt: skip
    base = base_of(legs, workload={"kind": "download", "size_mb": 9.69411})
    position = position_of(base)
    here = place(
        1 - position.share, 0.503525, position.windows, position.queueing, position.lost_per_window
    )
    assert here == pytest.approx(read_networks("download").places[0], rel=1e-3)


@pytest.mark.parametrize(
    ("legs", "fields"),
    [
        (LEGS, {"workload": "realtime"}),
        ([*LEGS, LEGS[0]], {}),
        ([LEGS[0], {"downlink": {"rate_mbps": 10}, "delay_ms": 0}], {}),
        (LEGS, {"stack": "tquic"}),
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
    assert found.outside == ("lost_per_window",)
    assert "outside their range (losses per window): none is near" in found.sentence


def test_the_nearest_come_first_and_foretell_what_depends_on_the_place() -> None:
    random = np.random.default_rng(1)
    places = random.random((60, 5))
    ratios = np.where(places[:, 0] > 0.5, 1.2, 0.8)
    known = Networks(("reno",) * 60, places, ratios)
    assert known.nearest(places[7], 1) == ratios[7]
    assert known.foretold(0.05).share > 0.8
    noise = Networks(("reno",) * 60, places, random.choice([0.8, 1.2], 60))
    assert noise.foretold(0.05).share < 0.7


def test_neighbours_that_foretell_no_more_than_all_do_are_said_to() -> None:
    found = near()
    assert found is not None
    assert found.foretold.low > found.majority
    assert "no clear difference" not in found.sentence
    half = replace(found, foretold=Proportion(64, 128))
    assert half.sentence.endswith("that of all 45 %: no clear difference.")


def test_all_networks_of_the_file_have_a_place_and_a_ratio() -> None:
    with (shipped("reference") / NETWORKS).open(encoding="utf-8", newline="") as file:
        experiments = [row["experiment"] for row in csv.DictReader(file)]
    assert {each: experiments.count(each) for each in CONTROLS} == {
        "download": 512, "download-unseen": 200, "tcp": 512,
    }  # fmt: skip
    for name, number in CONTROLS.items():
        found = read_networks(name)
        assert np.isfinite(found.places).all()
        assert not np.isnan(found.ratios).any()
        assert len(set(found.controls)) == number
