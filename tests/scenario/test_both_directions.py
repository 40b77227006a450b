"""What a leg's two directions have in common, and what each of them has unless it is given."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import LegSettings
from minitopo_dc.scenario.radio import Leg


def leg(**fields: Any) -> Leg:
    return Leg.check(fields, "leg")


def test_a_direction_may_say_otherwise() -> None:
    made = leg(rate_mbps=20, delay_ms=8, uplink={"rate_mbps": 5, "delay_ms": 3})
    assert (made.downlink.rate_mbps, made.downlink.delay_ms) == (20, 8)
    assert (made.uplink.rate_mbps, made.uplink.delay_ms) == (5, 3)


@pytest.mark.parametrize(
    ("both", "own"),
    [
        ({"rate_mbps": 20}, {"trace": "a.csv", "trace_column": "down_mbps"}),
        ({"trace": "a.csv", "offset_s": 3}, {"rate_mbps": 5}),
        ({"rate_mbps": 20, "loss_percent": 1}, {"burst_loss": {"p": 0.1, "r": 0.5}}),
        ({"rate_mbps": 20, "delay_ms": 8}, {"delay_curve": "power"}),
        ({"rate_mbps": 20, "queue_ms": 30}, {"queue_packets": 10}),
    ],
)
def test_another_way_to_say_the_same_takes_its_place(
    both: dict[str, Any], own: dict[str, Any]
) -> None:
    made = leg(**both, uplink=own)
    assert set(own) <= made.uplink.model_fields_set
    assert made.downlink == LegSettings.check(both, "both")


def test_an_uplink_without_a_word_has_the_downlink_s_propagation_and_the_papers_rate() -> None:
    made = leg(downlink={"rate_mbps": 100, "delay_ms": 25, "jitter_ms": 0, "loss_percent": 1})
    assert made.uplink == LegSettings(rate_mbps=20, delay_ms=25, jitter_ms=0)


def test_an_uplink_with_a_column_alone_has_the_downlink_s_trace() -> None:
    down = {"trace": "drive.csv", "trace_column": "down_mbps", "end": "hold", "offset_s": 3}
    made = leg(downlink=down, uplink={"trace_column": "up_mbps"})
    assert made.uplink == LegSettings.check(down | {"trace_column": "up_mbps"}, "up")


def test_what_is_written_reads_as_it_was() -> None:
    made = leg(trace="a.csv", loss_percent=1, uplink={"rate_mbps": 5})
    assert Leg.check(made.model_dump(mode="json"), "again") == made


def test_a_misspelt_field_beside_the_directions_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match="dealy_ms: unknown field; did you mean delay_ms"):
        leg(downlink={"rate_mbps": 20}, dealy_ms=8)
