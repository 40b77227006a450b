"""What would flip a verdict, over made-up networks whose borders are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc.advice import base_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.factors import factors_of
from minitopo_dc.advice.flips import KEPT, Flip, Searched, find_flips, flip_sentence, runs_of_flips
from minitopo_dc.advice.sides import QUIC, sides_of
from minitopo_dc.scenario import Scenario
from minitopo_dc.shipped import shipped
from tests.advice.made_up import LEGS, Goodput, runs


def far_leg_costs(scenario: Scenario) -> float:
    """Multipath is better where leg 2's delay is above 85 ms, DC where it loses above 1 %."""
    second = scenario.legs[1].downlink
    if scenario.mode == "multipath":
        return 36.0
    if second.loss_percent > 1:
        return 50.0
    return 30.0 if second.delay_ms > 85 else 36.5


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Flip]]:
    """A directory, and what was found there."""
    root = tmp_path_factory.mktemp("flips")
    return root, flips(root, far_leg_costs)


def flips(root: Path, goodput: Goodput) -> list[Flip]:
    base = base_of(LEGS)
    (sides,) = sides_of(base, QUIC)
    searched = Searched(base, sides, QUIC, criterion(base.workload), "tie", root)
    with runs(goodput) as made:
        return list(find_flips(searched, made, str))


def test_the_borders_are_found_and_said_with_units(kept: tuple[Path, list[Flip]]) -> None:
    found = {(each.factor, each.upwards): each for each in kept[1]}
    far = found["one-way delay of leg 2", True]
    assert far.near <= 85 < far.far <= 1.16 * far.near
    assert far.outcome == "worse"
    assert "Multipath wins from a one-way delay of leg 2 above 8" in flip_sentence(far)
    assert flip_sentence(far).endswith("; now 40).")
    lossy = found["loss of leg 2", True]
    assert lossy.near <= 1 < lossy.far
    assert flip_sentence(lossy).startswith("Dual Connectivity wins from a loss of leg 2 above ")
    others = [each for each in found.values() if each not in (far, lossy)]
    assert {each.outcome for each in others} == {"open"}
    assert any(
        flip_sentence(each) == "The verdict stays with the rate of leg 1 up to 200 Mbit/s (now 30)."
        for each in others
    )


def test_what_was_found_is_not_looked_for_again(kept: tuple[Path, list[Flip]]) -> None:
    root, first = kept
    assert (root / KEPT).exists()

    def never(scenario: Scenario) -> float:
        raise AssertionError(scenario)

    assert flips(root, never) == first


def test_a_point_is_judged_by_the_mean_of_the_verdict(tmp_path: Path) -> None:
    """1, 10 and 22 have an arithmetic mean of 11, and a geometric one of 6.0: ratios are judged."""

    def scatters(scenario: Scenario) -> float:
        return {1: 1.0, 2: 10.0, 3: 22.0}[scenario.seed] if scenario.mode == "multipath" else 10.0

    base = base_of(LEGS)
    (sides,) = sides_of(base, QUIC)
    searched = Searched(base, sides, QUIC, criterion(base.workload), "open", tmp_path)
    with runs(scatters) as made:
        next(find_flips(searched, made, str))
    assert json.loads((tmp_path / KEPT).read_text())["outcomes"][HERE] == "better"


HERE = "picoquic, as it is, 0"


@pytest.mark.parametrize(
    "older",
    [
        {HERE: "worse"},
        {
            "judged_by": {"measure": "goodput_mbps", "mean": "arithmetic"},
            "outcomes": {HERE: "worse"},
        },
        {
            "judged_by": {"measure": "goodput_mbps", "mean": "geometric", "margin": 0.5},
            "outcomes": {HERE: "worse"},
        },
        [],
    ],
)
def test_outcomes_that_were_judged_in_another_way_are_looked_for_again(
    older: object, tmp_path: Path
) -> None:
    (tmp_path / KEPT).write_text(json.dumps(older), encoding="utf-8")
    base = base_of(LEGS)
    (sides,) = sides_of(base, QUIC)
    searched = Searched(base, sides, QUIC, criterion(base.workload), "open", tmp_path)
    with runs(lambda scenario: 10.0 if scenario.mode == "multipath" else 20.0) as made:
        next(find_flips(searched, made, str))
    kept = json.loads((tmp_path / KEPT).read_text(encoding="utf-8"))
    assert kept["judged_by"] == {"measure": "goodput_mbps", "mean": "geometric", "margin": 0.05}
    assert kept["outcomes"][HERE] == "better"


def test_a_trace_has_a_mean_rate_that_may_be_another() -> None:
    trace = shipped("traces") / "lte_a.csv"
    base = base_of([{"downlink": {"trace": str(trace)}}, LEGS[1]], workload="request-response")
    rate, *others = factors_of(base)
    assert rate.words == "rate of leg 1"
    assert rate.scenario(base, 20).legs[0].downlink.trace_mean_mbps == 20
    assert "size of the download" not in {each.words for each in others}
    (sides,) = sides_of(base, QUIC)
    assert runs_of_flips(base, sides) > 0


def test_a_delay_of_both_directions_changes_in_both() -> None:
    base = base_of(LEGS)
    delay = next(each for each in factors_of(base) if each.words == "one-way delay of leg 1")
    leg = delay.scenario(base, 33).legs[0]
    assert (leg.downlink.delay_ms, leg.uplink.delay_ms) == (33, 33)
