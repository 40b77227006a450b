"""A leg whose trace is scaled to a mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import LegSettings, Scenario
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.trace.convert import scaled_to_mean

LTE = "traces/lte_a.csv"
SECOND = 1_000_000_000


def leg(**fields: Any) -> LegSettings:
    return LegSettings.check({"trace": LTE} | fields, "test")


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


def test_a_leg_carries_its_mean_over_the_trace() -> None:
    capacity = leg(trace_mean_mbps=5).capacity()
    assert capacity.bits_between(0, 60 * SECOND) / 60 == pytest.approx(5e6, rel=1e-4)
    later = leg(trace_mean_mbps=5, offset_s=7).capacity()
    assert later.rate_at(0) == capacity.rate_at(7 * SECOND)


def test_a_queue_in_time_is_that_of_the_mean() -> None:
    assert leg(trace_mean_mbps=8, queue_ms=50).queue_limit_bytes() == 50_000


def test_a_trace_that_cannot_be_scaled_is_one_error_of_its_field(tmp_path: Path) -> None:
    (tmp_path / "dead.csv").write_text("time_s,rate_mbps\n0,0\n10,0\n")
    with pytest.raises(SettingsError, match=r"trace_mean_mbps: trace .*no capacity"):
        leg(trace=str(tmp_path / "dead.csv"), trace_mean_mbps=5).capacity()


def test_the_best_of_two_legs_keeps_the_queue_of_the_mean() -> None:
    down = {"trace": LTE, "trace_mean_mbps": 8, "queue_ms": 50}
    scenario = Scenario.check(
        {
            "transport": "quic-picoquic",
            "mode": "sc",
            "timeout_s": 20,
            "legs": [{"downlink": down}, {"downlink": down}],
            "handover": {"case": "sp"},
        },
        "test",
    )
    best = resolve_scenario(scenario).scenario.legs[0].downlink
    assert best.trace_mean_mbps is None
    assert best.queue_limit_bytes() == 50_000
