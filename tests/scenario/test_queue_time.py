"""A queue as long as a time."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import LegSettings


def leg(**fields: Any) -> LegSettings:
    return LegSettings.check({"rate_mbps": 8} | fields, "test")


def test_it_holds_what_the_rate_sends_in_that_time() -> None:
    assert leg(queue_ms=50).queue_limit_bytes() == 50_000
    assert leg(queue_bytes=70).queue_limit_bytes() == 70
    assert leg().queue_limit_bytes() is None


def test_there_is_no_limit_of_packets_unless_one_is_given() -> None:
    assert leg(queue_ms=50).queue_packets is None
    assert leg(queue_ms=50, queue_packets=10).queue_packets == 10
    assert leg().queue_packets == 100


def test_a_leg_drops_what_does_not_fit() -> None:
    made = leg(queue_ms=2, jitter_ms=0).build("seed")
    for number in range(10):
        made.push(number, 1000, 0)
    assert made.statistics().dropped_queue == 8


def test_a_file_keeps_it() -> None:
    made = leg(queue_ms=50)
    assert LegSettings.check(made.model_dump(mode="json"), "again") == made
    assert "queue_ms" not in leg().model_dump()


@pytest.mark.parametrize(
    "fields",
    [
        {"queue_ms": 5, "queue_bytes": 1000},
        {"queue_ms": 5, "rate_mbps": None, "trace": "traces/lte_a.csv"},
    ],
)
def test_it_needs_a_rate_and_stands_alone(fields: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="queue_ms: needs rate_mbps or trace_mean_mbps, and no"):
        leg(**fields)
