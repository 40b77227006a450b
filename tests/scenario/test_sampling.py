"""A transfer too short for ten samples is sampled ten times as often."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc import Scenario

LEGS = [{"rate_mbps": 6}, {"rate_mbps": 4}]
"""Together they carry 1.25 MB in a second."""


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"workload": {"size_mb": 1.25}}, 10),
        ({"workload": {"size_mb": 1.26}}, 100),
        ({"workload": {"size_mb": 0.6}, "statistics_ms": 50}, 5),
        ({"workload": {"size_mb": 0.001}, "statistics_ms": 1}, 1),
        ({"workload": {"kind": "realtime", "duration_s": 0.5}, "statistics_ms": 500}, 50),
        ({"workload": {"kind": "realtime", "duration_s": 1.1}}, 100),
        ({"workload": {"duration_s": 0.5}}, 10),
        ({"workload": {"kind": "command", "client": ["true"]}}, 100),
    ],
)
def test_what_may_end_within_ten_intervals_has_samples_at_a_tenth_of_one(
    fields: dict[str, Any], expected: int
) -> None:
    scenario = Scenario.check({"legs": LEGS, "transport": "quic", "mode": "sc"} | fields, "here")
    assert scenario.sampling_ms == expected
