"""Fields of legs by dotted path, in the short form of a leg and in the long one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.scenario import Leg
from minitopo_dc.scenario.field_paths import PathError, check_path, set_value

SHORT: dict[str, Any] = {"rate_mbps": 20, "delay_ms": 10}
LONG: dict[str, Any] = {"downlink": {"rate_mbps": 20, "delay_ms": 10}}


def with_value(leg: dict[str, Any], path: str, value: Any) -> Leg:
    document = {"legs": [copy.deepcopy(leg), copy.deepcopy(leg)]}
    set_value(document, f"legs.1.{path}", value)
    assert document["legs"][0] == leg
    return Leg.check(document["legs"][1], "test")


@given(st.sampled_from([SHORT, LONG]), st.integers(0, 500))
def test_a_delay_beside_the_directions_is_of_both_of_them(leg: dict[str, Any], delay: int) -> None:
    made = with_value(leg, "delay_ms", delay)
    assert (made.downlink.delay_ms, made.uplink.delay_ms) == (delay, delay)


@pytest.mark.parametrize("leg", [SHORT, LONG])
def test_a_trace_takes_the_place_of_a_rate(leg: dict[str, Any]) -> None:
    made = with_value(leg, "trace", "a.csv")
    assert (str(made.downlink.trace), made.downlink.rate_mbps) == ("a.csv", None)


def test_one_direction_of_a_leg_that_was_given_for_both_is_told_once() -> None:
    with pytest.warns(UserWarning, match=r"downlink\.delay_ms: changed in one") as told:
        made = with_value(SHORT, "downlink.delay_ms", 120)
    assert len(told) == 1
    assert (made.downlink.delay_ms, made.uplink.delay_ms) == (120, 10)


def test_an_uplink_that_says_its_delay_itself_keeps_it_and_this_is_told() -> None:
    with pytest.warns(UserWarning, match="the uplink says delay_ms: 5 itself"):
        made = with_value({**LONG, "uplink": {"delay_ms": 5}}, "delay_ms", 120)
    assert (made.downlink.delay_ms, made.uplink.delay_ms) == (120, 5)


@pytest.mark.parametrize("path", ["legs.1.delay_ms", "legs.*.loss_percent", "legs.0.rlc.mode"])
def test_fields_of_both_directions_are_known(path: str) -> None:
    check_path(path)


def test_a_misspelt_one_names_the_nearest() -> None:
    with pytest.raises(PathError, match=r"no field dealy_ms in legs\.1; did you mean delay_ms"):
        check_path("legs.1.dealy_ms")
