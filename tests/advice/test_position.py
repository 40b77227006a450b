"""Where a network lies among those of the study."""

from __future__ import annotations

import math

import pytest

from minitopo_dc.advice import base_of
from minitopo_dc.advice.position import position_of
from tests.advice.made_up import LEGS


def test_a_network_has_numbers_without_a_unit() -> None:
    legs = [
        {"downlink": {"rate_mbps": 30}, "delay_ms": 10, "loss_percent": 0.1},
        {"downlink": {"rate_mbps": 10, "queue_packets": 100}, "delay_ms": 40},
    ]
    found = position_of(base_of(legs))
    assert found.share == 0.75
    assert found.delay_ratio == 4
    assert found.windows == pytest.approx(80 / (40 * 0.035))
    assert found.queueing == pytest.approx((0.75 * 40 + 0.25 * 120) / 35)
    assert found.lost_per_window == pytest.approx(0.00075 * 40e6 * 0.035 / 12000)
    assert "0.75 of the rate is leg 1's; the longest round trip is 4.0 times" in found.sentence


def test_what_it_has_no_number_for_is_not_said() -> None:
    found = position_of(base_of(LEGS, workload="realtime"))
    assert math.isnan(found.windows)
    assert "the size" not in found.sentence
