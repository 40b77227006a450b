"""Scenarios are changed, by fields and by their paths."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.errors import InputError
from minitopo_dc.scenario import Leg, LegDirection, Pdcp, Scenario, WifiSettings
from minitopo_dc.scenario.presets import set_value
from minitopo_dc.workloads import Download, Ping

LTE = Leg(rate_mbps=20, delay_ms=30)
NR = Leg(rate_mbps=80, delay_ms=10, loss_percent=0.1)
BASE = Scenario(
    legs=[LTE, NR],
    transport="quic-picoquic",
    mode="dc",
    workload=Download(size_mb=10),
    clock="virtual",
    options={"receive_buffer_bytes": 500_000},
)


def test_a_mapping_changes_fields_of_a_field_and_leaves_the_others() -> None:
    made = BASE.evolve(seed=2, pdcp={"batch": 10}).evolve(pdcp={"sn_bits": 12})
    assert (made.seed, made.pdcp) == (2, Pdcp(batch=10, sn_bits=12))
    assert (BASE.seed, BASE.pdcp, made.legs) == (1, Pdcp(), BASE.legs)


def test_a_mapping_of_indices_changes_items_of_a_list() -> None:
    made = BASE.evolve(legs={1: {"delay_ms": 60}})
    assert made.legs == (LTE, NR.evolve(delay_ms=60))
    assert made == BASE.evolve(legs=[LTE, NR.evolve(delay_ms=60)])
    assert BASE.evolve(options={"mss_bytes": 1280}).options == {"mss_bytes": 1280}  # free names


@pytest.mark.parametrize(
    ("changes", "workload"),
    [
        ({"size_mb": 5}, Download(size_mb=5)),
        ({"kind": "download", "size_mb": 5}, Download(size_mb=5)),
        ({"kind": "ping", "count": 3}, Ping(count=3)),
        ("ping", Ping()),
    ],
)
def test_a_workload_is_changed_or_replaced_by_another_kind(changes: Any, workload: Any) -> None:
    assert BASE.evolve(workload=changes).workload == workload


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pdcp": {"splt": "batch"}}, "Scenario: pdcp.splt: unknown field; did you mean split"),
        ({"pdcp": {"batch": -3}}, "Scenario: pdcp.batch: -3; allowed: 1 to 1,000,000,000"),
        ({"legs": {1: {"dealy_ms": 6}}}, r"legs\.1\.dealy_ms: unknown field; did you mean delay"),
        ({"legs": {1: {"delay_ms": -1}}}, r"legs\.1\.downlink\.delay_ms: -1; allowed: 0 to"),
        ({"legs": {2: {"delay_ms": 1}}}, r"legs\.2: no such item; allowed: 0 to 1"),
        ({"mode": "multi"}, "Scenario: mode: multi; allowed: 'sc', 'dc'"),
        ({"size_mb": 5}, "Scenario: size_mb: write workload"),
    ],
)
def test_a_wrong_name_or_value_is_one_line_that_says_where(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words) as told:
        BASE.evolve(**changes)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", [Scenario, Leg, Pdcp, Download])
def test_settings_that_are_made_wrongly_have_the_same_words(kind: Any) -> None:
    with pytest.raises(InputError, match=f"{kind.__name__}: spllit: unknown field"):
        kind(spllit=1)
    with pytest.raises(InputError, match=r"^Scenario: legs\.0\.downlink\.rate_mbps: 0; allowed"):
        Scenario(transport="tcp", mode="sc", legs=[{"downlink": {"rate_mbps": 0}}])


def test_what_follows_other_fields_follows_them_in_a_copy_too() -> None:
    with_reports = Pdcp(split="proportional")
    assert with_reports.report_ms == 20
    assert with_reports.evolve(split="batch") == Pdcp()
    assert Pdcp(split="proportional", report_ms=20).evolve(split="batch").report_ms == 20
    assert LegDirection(rate_mbps=8, queue_ms=30).evolve(queue_ms=None).queue_packets == 100
    assert WifiSettings(rate_mbps=65, hops=2).evolve(rate_mbps=26).hops[1].rate_mbps == 26
    wifi = WifiSettings(rate_mbps=65, hops=[{"rate_mbps": 13}, {}]).evolve(rate_mbps=26)
    assert [hop.rate_mbps for hop in wifi.hops] == [13, 26]


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


def test_a_delay_of_one_direction_leaves_the_other() -> None:
    made = with_value(SHORT, "downlink.delay_ms", 120)
    assert (made.downlink.delay_ms, made.uplink.delay_ms) == (120, 10)


def test_an_uplink_that_says_its_delay_itself_keeps_it() -> None:
    made = with_value({**LONG, "uplink": {"delay_ms": 5}}, "delay_ms", 120)
    assert (made.downlink.delay_ms, made.uplink.delay_ms) == (120, 5)
