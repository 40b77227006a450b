"""One direction of a leg: its queue and discipline, RLC, and a trace that is scaled to a mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import CapacityLeg, RlcLeg, RlcParameters
from minitopo_dc.link.codel import CoDel
from minitopo_dc.scenario import LegDirection, RlcSettings, Scenario
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.trace.model import scaled_to_mean
from minitopo_dc.units import QueueLimit

MS, SECOND = 1_000_000, 1_000_000_000
LTE: dict[str, Any] = {"rate_mbps": None, "trace": "traces/lte_a.csv"}
OWN = """
from minitopo_dc.plugins import QueueDiscipline, queue_discipline

@queue_discipline("of-a-file")
class OfAFile(QueueDiscipline):
    pass
"""


def leg(**fields: Any) -> LegDirection:
    return LegDirection.check({"rate_mbps": 8} | fields, "test")


def test_a_leg_has_the_discipline_that_its_fields_name_and_none_for_drop_tail() -> None:
    parameters = {"target_ms": 2, "interval_ms": 50}
    one = leg(queue_discipline="codel", queue_parameters=parameters)
    made = one.discipline()
    assert isinstance(made, CoDel)
    assert made.numbers == (2_000_000, 50_000_000)
    assert len({one, one.model_copy()}) == 1
    assert leg().discipline() is None
    assert not {"queue_discipline", "queue_parameters"} & leg().model_dump().keys()


def test_an_element_loads_plugins_before_its_legs(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text(OWN, encoding="utf-8")
    radio = {"rate_mbps": 8, "queue_discipline": "of-a-file"}
    legs = [{"leg": 1, "interface": "gnb-leg1", "seed": "1", "radio": radio}]
    fields = {"host": "gnb", "directory": tmp_path, "plugins": [str(plugin)], "legs": legs}
    made = ElementSettings.check(fields, "test").leg(1).radio.discipline()
    assert type(made).__name__ == "OfAFile"


@pytest.mark.parametrize(
    ("fields", "size", "packets"),
    [
        ({}, None, 100),
        ({"queue_bytes": 70}, 70, None),
        ({"queue_bytes": 70, "queue_packets": 100}, 70, 100),
        ({"queue_ms": 50}, 50_000, None),  # no limit of packets unless one is given
        ({"queue_ms": 50, "queue_packets": 10}, 50_000, 10),
        (LTE | {"trace_mean_mbps": 8, "queue_ms": 50}, 50_000, None),
    ],
)
def test_a_queue_in_bytes_or_in_time_has_no_limit_of_packets_unless_it_is_given(
    fields: dict[str, Any], size: int | None, packets: int | None
) -> None:
    made = leg(**fields)
    assert made.queue_limit() == QueueLimit(packets, size)


def test_a_leg_drops_what_does_not_fit() -> None:
    made = leg(queue_ms=2, jitter_ms=0).build("seed")
    for number in range(10):
        made.push(number, 1000, 0)
    assert made.statistics().dropped_queue == 8


def test_every_field_of_rlc_reaches_the_core_whose_defaults_it_has() -> None:
    assert RlcSettings().parameters() == RlcParameters()
    settings = RlcSettings(
        mode="um",
        block_error_percent=30,
        slot_ms=0.5,
        harq_rtt_ms=4,
        harq_retransmissions=3,
        status_ms=20.5,
        max_retx_threshold=32,
        in_order=False,
        discard_ms=100,
    )
    assert settings.parameters() == RlcParameters(
        mode="um",
        slot_ns=MS // 2,
        block_error=0.3,
        harq_rtt_ns=4 * MS,
        harq_retransmissions=3,
        status_ns=20_500_000,
        max_retx_threshold=32,
        in_order=False,
        discard_ns=100 * MS,
    )
    assert isinstance(leg(rlc={}).build("1"), RlcLeg)
    assert isinstance(leg().build("1"), CapacityLeg)


def test_a_change_of_errors_leaves_the_rest_of_rlc() -> None:
    change = {"at_s": 2, "block_error_percent": 30, "delay_ms": 20}
    [(_, stage)] = leg(rlc={"mode": "um"}, changes=[change]).stages()
    assert stage.rlc == RlcSettings(mode="um", block_error_percent=30)
    assert stage.delay_ms == 20


def trace(*rates: int) -> RateTrace:
    return RateTrace("made", tuple(range(len(rates))), rates, len(rates))


@pytest.mark.parametrize(
    ("given_trace", "message"),
    [
        (trace(0, 0), "no capacity throughout"),
        (OpportunityTrace("made", (1, 2)), "opportunities have no rate"),
        (trace(0, 0, 0, 10), "a rate of"),
    ],
)
def test_what_has_no_such_mean_is_refused(given_trace: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scaled_to_mean(given_trace, 10**12)


def test_a_leg_carries_its_mean_over_the_trace(tmp_path: Path) -> None:
    capacity = leg(**LTE, trace_mean_mbps=5).capacity()
    assert capacity.bits_between(0, 60 * SECOND) / 60 == pytest.approx(5e6, rel=1e-4)
    later = leg(**LTE, trace_mean_mbps=5, offset_s=7).capacity()
    assert later.rate_at(0) == capacity.rate_at(7 * SECOND)
    (tmp_path / "dead.csv").write_text("time_s,rate_mbps\n0,0\n10,0\n")
    dead = leg(**LTE | {"trace": str(tmp_path / "dead.csv")}, trace_mean_mbps=5)
    with pytest.raises(SettingsError, match=r"trace_mean_mbps: "):
        dead.capacity()


def test_the_best_of_two_legs_keeps_the_queue_of_the_mean() -> None:
    down = {"trace": LTE["trace"], "trace_mean_mbps": 8, "queue_ms": 50}
    values: dict[str, Any] = {"transport": "quic-picoquic", "mode": "sc", "timeout_s": 20}
    values |= {"legs": [{"downlink": down}] * 2, "handover": {"case": "sp"}}
    best = resolve_scenario(Scenario.check(values, "test")).legs[0].downlink
    assert best.trace_mean_mbps is None
    assert best.queue_limit().bytes == 50_000
