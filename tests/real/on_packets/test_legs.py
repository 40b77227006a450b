"""Dual Connectivity over some of three legs, of which one goes down, on real packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.run.real import run_real
from minitopo_dc.scenario import Scenario

pytestmark = pytest.mark.root

LINK: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 10}
LEG: dict[str, Any] = {"downlink": LINK, "uplink": LINK}
DOWN_FROM_S = 2.0


def test_a_transfer_over_two_of_three_legs_goes_on_when_one_of_them_goes_down(
    tmp_path: Path,
) -> None:
    values = {
        "transport": "tcp",
        "mode": "dc",
        "legs": [LEG, LEG, LEG | {"outages": [[DOWN_FROM_S, 1000]]}],
        "pdcp": {"split": "least-delay", "legs": [1, 3]},
        "split_uplink": True,
        "uplink_pdcp": {"split": "duplicate"},
        "workload": {"size_mb": 6},
        "timeout_s": 60,
    }
    result = run_real(Scenario.check(values, "test"), tmp_path)
    assert result.status == "ok", result.reason
    assert result.completion_s is not None
    assert result.completion_s > DOWN_FROM_S
    ends = (json.loads((tmp_path / f"{end}-summary.json").read_text()) for end in ("gnb", "ue"))
    down, up = (
        {int(leg): counts["delivered_bytes"] for leg, counts in end["legs"].items()} for end in ends
    )
    most = DOWN_FROM_S * LINK["rate_mbps"] * 1e6 / 8
    assert 0.1 * most < down[3] < most
    assert down[1] > 1.5 * down[3]
    assert min(up[1], up[3]) > 0
    assert down[2] == up[2] == 0
