"""What each leg delivered over time."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.results import leg_rates
from minitopo_dc.units import NS_PER_S
from tests.results.synthetic_runs import save_element


def save_legs(run: Path, host: str, mbps: dict[int, float]) -> None:
    """Legs of constant rates for 1 s, sampled each 100 ms, also before the start."""
    rows = [
        {
            "time_ns": tenth * NS_PER_S // 10,
            "leg": leg,
            "delivered_bytes": round(max(0, tenth) / 10 * rate * 1e6 / 8),
        }
        for tenth in range(-5, 11)
        for leg, rate in mbps.items()
    ]
    save_element(run, host, "legs", rows)


def test_each_leg_has_its_rate_and_nothing_from_before_the_start(tmp_path: Path) -> None:
    save_legs(tmp_path, "gnb", {1: 8.0, 2: 16.0})
    rates = leg_rates(tmp_path)
    for leg, expected in ((1, 8.0), (2, 16.0)):
        rows = rates[rates["leg"] == leg]
        assert list(rows["time_s"]) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
        assert list(rows["rate_mbps"]) == pytest.approx([expected] * 5)


def test_the_uplink_is_ue_s(tmp_path: Path) -> None:
    save_legs(tmp_path, "gnb", {1: 8.0})
    save_legs(tmp_path, "ue", {1: 1.0})
    assert list(leg_rates(tmp_path, "uplink", bin_s=0.5)["rate_mbps"]) == pytest.approx([1.0] * 2)
