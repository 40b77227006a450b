"""Legs by the names of carriers: their rates, what they stand for, and what is refused."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import minitopo_dc as dc
from minitopo_dc.cli.commands import legs
from minitopo_dc.cli.options import add_options
from minitopo_dc.cli.options.scenario import leg_settings
from minitopo_dc.link.rlc.parameters import SlotsOf, TddPattern
from minitopo_dc.scenario.carriers import PAIRS, NrCarrier, carrier, values_of
from minitopo_dc.scenario.layer2 import DrxSettings
from minitopo_dc.trace import write_csv
from minitopo_dc.trace.formats.table import read_channel


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
    layers = fields.get("layers", 4)
    symbols = NrCarrier(**fields).symbols_mbps("D")
    assert layers * 8 * 948 / 1024 * symbols == pytest.approx(mbps, rel=1e-4)
    best = dc.nr(**fields, cqi=15).downlink.rate_mbps
    assert best == pytest.approx(mbps, rel=1e-3)  # CQI 15 has four digits in the table


@pytest.mark.parametrize(("width", "mbps"), [(5, 36.7), (10, 73.4), (15, 110.1), (20, 150.8)])
def test_the_highest_rate_of_lte_is_that_of_its_transport_blocks(width: int, mbps: float) -> None:
    assert dc.lte(width, mcs=28).downlink.rate_mbps == mbps


@pytest.mark.parametrize(
    ("name", "kind", "index", "layers", "mbps"),
    [
        # MCS 27 and CQI 15 of the tables with 256QAM are 7.4063 bits, 948/1024 x 8 in four digits.
        ("nr-tdd-100", "mcs", 27, 4, 2337.1 * 52 / 70),
        ("nr-tdd-100", "cqi", 15, 1, 2337.1 * 52 / 70 / 4),
        ("nr-tdd-100", "cqi", 0, 4, 0),
        ("lte-20", "mcs", 28, 2, 2 * 75.376),
        # A CQI of LTE has the largest block that 120 symbols of 100 resource blocks hold:
        # 5.5547 x 12,000 = 66,656 bits; 1.4766 x 12,000 = 17,719; 0.1523 x 12,000 = 1,828.
        ("lte-20", "cqi", 15, 2, 2 * 63.776),
        ("lte-20", "cqi", 7, 1, 17.568),
        ("lte-20", "cqi", 1, 1, 2.792),
        ("lte-20", "cqi", 0, 1, 0),
    ],
)
def test_a_channel_s_rate_is_that_of_the_tables(
    name: str, kind: Any, index: float, layers: int, mbps: float
) -> None:
    assert carrier(name).rate_mbps("D", kind, index, layers) == pytest.approx(mbps, rel=1e-3)


def test_between_two_cqis_the_rate_is_in_proportion() -> None:
    for name in ("lte-20", "nr-mmwave-100"):
        made = carrier(name)
        low, middle, high = (made.rate_mbps("U", "cqi", cqi) for cqi in (9, 9.25, 10))
        assert middle == pytest.approx(0.75 * low + 0.25 * high)


def test_an_index_that_is_in_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="'mcs 29', '0 to 28'"):
        carrier("lte-20").rate_mbps("D", "mcs", 29)
    with pytest.raises(ValueError, match=r"'cqi 15\.5', '0 to 15'"):
        carrier("nr-tdd-40").rate_mbps("D", "cqi", 15.5)


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


CHANGED: dict[str, Any] = {
    "rate_mbps": 5.0,
    "delay_ms": 3.0,
    "jitter_ms": 1.0,
    "queue_packets": 7,
    "grant_ms": 9.0,
    "rlc.mode": "um",
    "rlc.block_error_percent": 3.0,
    "rlc.max_retx_threshold": 4,
    "rlc.phase_ms": 0.5,
    "rlc.slot_ms": 0.0625,
    "rlc.status_ms": 33.0,
    "rlc.status_prohibit_ms": 5.0,
    "rlc.header_bytes": 4,
    "rlc.harq_rtt_ms": 11.0,
    "rlc.harq_retransmissions": 2,
    "rlc.tdd": "DDSUU",
    "rlc.tdd_slots": "D",
    "rlc.special_symbols": (4, 4),
    "rlc.ue_slots": 2,
    "rlc.gnb_slots": 2,
    "rlc.sr_ms": 5.0,
    "rlc.drx": DrxSettings(cycle_ms=40),
}
"""A value that no carrier has, by the field of a direction."""


@pytest.mark.parametrize("name", ["lte-20", "nr-fdd-20", "nr-tdd-100"])
def test_each_value_of_a_carrier_can_be_changed_alone(name: str) -> None:
    plain = dc.Leg(carrier=name)
    for field, _, _ in values_of(carrier(name)):
        way, _, inner = field.partition(".")
        given, *rest = inner.split(".")
        value = {rest[0]: CHANGED[inner]} if rest else CHANGED[inner]
        made = dc.Leg.check({"carrier": name, way: {given: value}}, "leg")
        changed, as_was = getattr(made, way), getattr(plain, way)
        if rest:
            own = as_was.rlc.model_copy(update={rest[0]: CHANGED[inner]})
            assert changed == as_was.model_copy(update={"rlc": own}), field
        else:
            assert changed == as_was.model_copy(update={inner: CHANGED[inner]}), field


@pytest.mark.parametrize("name", ["lte-20", "nr-fdd-20", "nr-tdd-100", "nr-mmwave-400"])
def test_every_value_that_is_no_default_is_shown_with_its_source(name: str) -> None:
    leg, shown = dc.Leg(carrier=name), {field for field, _, _ in values_of(carrier(name))}
    for way, direction in (("downlink", leg.downlink), ("uplink", leg.uplink)):
        values = direction.model_dump(exclude_defaults=True)
        assert {f"{way}.{inner}" for inner in values if inner != "rlc"} <= shown
        assert {f"{way}.rlc.{inner}" for inner in values["rlc"]} <= shown


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
    add_options(parser, legs())
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

    found = [goodput(step * 0.25) for step in range(10)]
    assert max(found) / min(found) < 1.02


def test_a_blockage_is_a_log_with_cqi_0_which_a_lone_leg_waits_for(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s,cqi\n0,7\n0.1,0\n0.4,7\n", encoding="utf-8")
    made = carrier("nr-mmwave-100")
    ways: dict[str, Any] = {}
    directions: dict[str, SlotsOf] = {"downlink": "D", "uplink": "U"}
    for way, of in directions.items():
        write_csv(read_channel(log, partial(made.rate_mbps, of)), tmp_path / way)
        ways[way] = {"trace": tmp_path / way, "end": "hold"}
    legs = [dc.Leg(carrier="nr-mmwave-100", **ways)]
    workload = dc.RequestResponse(interval_s=0.02, count=10)
    fields: Any = {"clock": "virtual", "mode": "sc", "legs": legs, "workload": workload}
    result = dc.run(dc.Scenario(transport="quic-picoquic", **fields)).result
    # The first request in it is sent at most 20 ms behind its begin, and the answer takes 20 ms.
    assert 280 < result.details["delay_max_ms"] < 340


def test_the_uplinks_of_a_single_uplink_never_send_at_once() -> None:
    legs = [
        dc.Leg(carrier="lte-20", uplink={"rate_mbps": 3.1, "rlc": {"tdd": "DDUDDDDUDD"}}),
        dc.Leg(carrier="nr-tdd-100", uplink={"rate_mbps": 38, "rlc": {"tdd": "DDDDDDDDDU"}}),
    ]
    times: list[set[int]] = []
    for rlc in (leg.uplink.rlc for leg in legs):
        assert rlc is not None
        pattern, halves = rlc.pattern(), round(rlc.slot_ms / 0.5)
        assert pattern is not None
        slots = [pattern.symbols[n % len(pattern.slots)] for n in range(round(10 / rlc.slot_ms))]
        times.append({halves * n + k for n, it in enumerate(slots) if it for k in range(halves)})
    assert times == [{4, 5, 14, 15}, {9, 19}]
    of_n78 = TddPattern("DDDSU", "U").symbols
    assert all(of_n78[slot % 5] for slot in times[1])
