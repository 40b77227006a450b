"""Legs by the names of carriers: their rates, what they stand for, and what is refused."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

import minitopo_dc as dc
from minitopo_dc.cli.options import add_legs
from minitopo_dc.cli.options.scenario import leg_settings
from minitopo_dc.scenario.carriers import PAIRS, NrCarrier, carrier, values_of


@pytest.mark.parametrize(
    ("fields", "mbps"),
    [
        # TS 38.306, clause 4.1.2: layers x 8 bits x 948/1024 x N_PRB x 12 x 14 / slot x (1 - OH).
        ({"band": "n1", "bandwidth_mhz": 20}, 453.70),
        ({"band": "n3", "bandwidth_mhz": 20, "layers": 2}, 226.85),
        ({"band": "n7", "bandwidth_mhz": 50}, 1155.66),
        ({"band": "n28", "bandwidth_mhz": 10, "layers": 2}, 111.286),
        # The published 2,337 Mbit/s of 100 MHz, in the 52 of 70 symbols of DDDSU.
        ({"band": "n78", "bandwidth_mhz": 100}, 2337.1 * 52 / 70),
        ({"band": "n78", "bandwidth_mhz": 100, "tdd": "DDDDDDDSUU"}, 2337.1 * 104 / 140),
        ({"band": "n78", "bandwidth_mhz": 40}, 907.41 * 52 / 70),
        ({"band": "n41", "bandwidth_mhz": 80, "layers": 2}, 928.9 * 52 / 70),
        ({"band": "n258", "bandwidth_mhz": 100, "layers": 2}, 1077.4 * 52 / 70),
        ({"band": "n258", "bandwidth_mhz": 400, "layers": 2}, 4309.6 * 52 / 70),
    ],
)
def test_the_highest_rate_of_nr_is_that_of_ts_38_306(fields: Any, mbps: float) -> None:
    made = NrCarrier(**fields)
    assert made.highest_mbps() == pytest.approx(mbps, rel=1e-4)
    best = dc.nr(**fields, cqi=15).downlink.rate_mbps
    assert best == pytest.approx(mbps, rel=1e-3)  # CQI 15 has four digits in the table


@pytest.mark.parametrize(("width", "mbps"), [(5, 36.7), (10, 73.4), (15, 110.1), (20, 150.8)])
def test_the_highest_rate_of_lte_is_that_of_its_transport_blocks(width: int, mbps: float) -> None:
    assert dc.lte(width, mcs=28).downlink.rate_mbps == mbps


def test_n78_has_the_rate_that_operators_have_in_the_median() -> None:
    leg = dc.nr()
    assert leg.downlink.rate_mbps is not None
    assert leg.uplink.rate_mbps is not None
    assert 600 < leg.downlink.rate_mbps < 810
    assert 24 < leg.uplink.rate_mbps < 96


def test_a_name_a_mapping_and_a_function_are_the_same_leg() -> None:
    named = dc.Leg(carrier="nr-tdd-100")
    assert named == dc.nr("n78", 100) == dc.Leg(carrier={"kind": "nr", "band": "n78"})
    assert dc.Leg(carrier="lte-20") == dc.lte()


def test_each_value_can_be_changed() -> None:
    fields = {"carrier": "nr-tdd-100", "rlc": {"block_error_percent": 1}, "delay_ms": 20}
    leg = dc.Leg.check(fields | {"uplink": {"rate_mbps": 5, "rlc": {"sr_ms": 20}}}, "leg")
    assert leg.downlink.rlc == dc.nr(block_error_percent=1).downlink.rlc
    assert leg.uplink.rlc == dc.nr(block_error_percent=1, sr_ms=20).uplink.rlc
    assert (leg.uplink.rate_mbps, leg.downlink.rate_mbps) == (5, dc.nr().downlink.rate_mbps)
    assert leg.uplink.delay_ms == leg.downlink.delay_ms == 20


def test_the_legs_values_are_those_that_have_a_source() -> None:
    for name in ("lte-20", "nr-fdd-20", "nr-tdd-100", "nr-mmwave-400"):
        leg = dc.Leg(carrier=name)
        for field, value, source in values_of(carrier(name)):
            way, *path = field.split(".")
            found: Any = getattr(leg, way)
            for part in path:
                found = getattr(found, part)
            assert found == value, field
            assert source


def test_a_leg_stays_what_its_carrier_was_when_it_is_saved() -> None:
    for fields in (leg for pair in PAIRS.values() for leg in pair):
        leg = dc.Leg.check(fields, "leg")
        assert dc.Leg.check(leg.model_dump(mode="json"), "saved") == leg


def test_the_uplink_of_a_pattern_has_its_u_slots() -> None:
    leg = dc.Leg.check({"rate_mbps": 10, "rlc": {"tdd": "DDDSU", "slot_ms": 0.5}}, "leg")
    assert leg.downlink.rlc
    assert leg.uplink.rlc
    assert (leg.downlink.rlc.tdd_slots, leg.uplink.rlc.tdd_slots) == ("D", "U")
    assert leg.evolve(rate_mbps=20).uplink.rlc == leg.uplink.rlc


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nr-tdd-33", "bandwidth_mhz: 33; allowed: 10, 20, 30"),
        ("lte", "lte; allowed: lte-MHZ, nr-fdd-MHZ"),
        ({"kind": "nr", "band": "n9"}, "band: n9; allowed: n1, "),
        ({"kind": "nr", "tdd": "DDX"}, "tdd: DDX: allowed: letters"),
        ({"kind": "nr", "band": "n1", "bandwidth_mhz": 20, "tdd": "DDDSU"}, "n1 is FDD"),
        ({"kind": "nr", "scs_khz": 120}, "scs_khz: 120; allowed"),
        ({"kind": "nr", "sr_ms": 3}, "sr_ms: 3; allowed: multiples of 2.5"),
        ({"kind": "lte", "width": 3}, "width: unknown field; known: "),
        ({"kind": "gsm"}, "fields with kind: nr or lte"),
    ],
)
def test_a_carrier_that_does_not_exist_is_refused(given: Any, words: str) -> None:
    with pytest.raises(dc.InputError, match=words):
        dc.Leg(carrier=given)


def legs_of(*words: str) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser()
    add_legs(parser)
    return leg_settings(parser.parse_args(words))


def test_the_command_line_takes_carriers_rates_and_pairs() -> None:
    made = [dc.Leg.check(leg, "leg") for leg in legs_of("--legs", "lte-20", "nr-tdd-100", "50")]
    assert made[:2] == [dc.lte(), dc.nr()]
    assert made[2].downlink.rate_mbps == 50
    assert len(legs_of("--legs", "en-dc", "--delay", "20", "30")) == 2


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_two_legs(pair: str) -> None:
    first, second = (dc.Leg.check(leg, pair) for leg in legs_of("--legs", pair))
    assert first != second


def test_a_delay_of_the_command_line_is_of_both_directions() -> None:
    leg = dc.Leg.check(legs_of("--legs", "nr-tdd-100", "--delay", "20")[0], "leg")
    assert (leg.downlink.delay_ms, leg.uplink.delay_ms) == (20, 20)


@pytest.mark.parametrize(
    ("legs", "first"),
    [
        ([dc.nr(), {"wifi": {}, "delay_ms": 5, "jitter_ms": 0}], 2),
        ([dc.nr(sr_ms=0, core_ms=2), {"wifi": {}, "delay_ms": 5, "jitter_ms": 0}], 1),
        ([dc.lte(), dc.nr()], 2),
        ([dc.nr(sr_ms=20), dc.nr()], 2),
    ],
)
def test_the_nearest_leg_is_that_of_a_lone_packet_with_its_request(legs: Any, first: int) -> None:
    made = dc.Scenario(transport="quic", mode="dc", legs=legs, primary_leg="nearest")
    assert made.leg_numbers[0] == first


@pytest.mark.slow
def test_goodput_of_dual_connectivity_does_not_depend_on_the_patterns_phase() -> None:
    def goodput(phase_ms: float) -> float:
        legs = [dc.lte(phase_ms=phase_ms), dc.nr(phase_ms=phase_ms)]
        fields: Any = {"clock": "virtual", "congestion_control": "cubic"}
        base = dc.Scenario(
            transport="quic-picoquic",
            mode="dc",
            legs=legs,
            workload=dc.Download(size_mb=40),
            primary_leg=2,
            **fields,
        )
        result = dc.run(base.with_dc("deployable")).result
        assert result.goodput_mbps is not None
        return result.goodput_mbps

    found = [goodput(step * 0.125) for step in range(20)]
    assert max(found) / min(found) < 1.02
