"""A leg in Python: `Leg(...)` has fields of the downlink, which the uplink follows."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any, get_type_hints

import pytest

from minitopo_dc.scenario import Leg, LegSettings, Scenario
from minitopo_dc.scenario.leg import DirectionFields

BOTH = {"rate_mbps": 20, "delay_ms": 8, "loss_percent": 0.1}


def test_fields_are_the_downlink_s_and_the_uplink_has_its_delay_and_jitter() -> None:
    leg = Leg(rate_mbps=80, delay_ms=30, jitter_ms=2, loss_percent=0.1, queue_packets=50)
    assert leg.downlink == LegSettings(
        rate_mbps=80, delay_ms=30, jitter_ms=2, loss_percent=0.1, queue_packets=50
    )
    assert leg.uplink == LegSettings(rate_mbps=20, delay_ms=30, jitter_ms=2)
    assert leg == Leg.check({"downlink": leg.downlink}, "a file's")


def test_an_uplink_says_otherwise_at_any_time() -> None:
    leg = Leg(rate_mbps=80, delay_ms=30).evolve(uplink={"rate_mbps": 5, "delay_ms": 3})
    assert (leg.uplink.rate_mbps, leg.uplink.delay_ms, leg.downlink.delay_ms) == (5, 3, 30)
    later = leg.evolve(delay_ms=60, jitter_ms=0)
    assert (later.uplink.delay_ms, later.uplink.jitter_ms) == (3, 0)
    assert later.evolve(uplink=None).uplink == LegSettings(rate_mbps=20, delay_ms=60, jitter_ms=0)


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"trace": "a.csv"}, "rate_mbps"),
        ({"delay_curve": "power"}, "delay_ms"),
        ({"burst_loss": {"p": 0.1, "r": 0.5}}, "loss_percent"),
        ({"queue_ms": 30}, "queue_packets"),
    ],
)
def test_another_way_to_say_the_same_takes_its_place(change: dict[str, Any], gone: str) -> None:
    start: dict[str, Any] = {**BOTH, "queue_packets": 7}
    if "queue_ms" not in change:
        assert gone not in Leg(**start).evolve(**change).downlink.model_fields_set
    assert Leg(**start).evolve(**change).downlink == LegSettings(
        **{name: value for name, value in start.items() if name != gone}, **change
    )


def test_a_leg_of_a_file_that_was_given_for_both_directions_changes_in_both() -> None:
    leg = Leg.check(BOTH, "a file's")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = leg.evolve(loss_percent=1, delay_ms=60)
    assert changed == Leg.check({**BOTH, "loss_percent": 1, "delay_ms": 60}, "a file's")
    assert changed.evolve(loss_percent=2).uplink.loss_percent == 2


def test_a_change_of_one_direction_of_such_a_leg_is_told() -> None:
    leg = Leg.check(BOTH, "a file's")
    with pytest.warns(UserWarning, match=r"downlink\.delay_ms: changed in one direction"):
        changed = leg.evolve(downlink={"delay_ms": 60})
    assert (changed.downlink.delay_ms, changed.uplink.delay_ms) == (60, 8)


def test_names_and_defaults_are_told_to_who_completes_them() -> None:
    assert {*Leg.BESIDE} == {*get_type_hints(DirectionFields)}
    parameters = inspect.signature(Leg).parameters
    assert {*parameters} == {*Leg.BESIDE, *Leg.model_fields}
    assert parameters["delay_ms"].default == 10


def test_a_scenario_that_went_to_another_process_is_the_same() -> None:
    leg = Leg(rate_mbps=20, delay_ms=30, uplink={"delay_ms": 5})
    scenario = Scenario(legs=[leg], transport="tcp", mode="sc")
    assert pickle.loads(pickle.dumps(scenario)) == scenario
