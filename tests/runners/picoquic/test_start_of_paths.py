"""The start of a connection on the real clock, where its first leg is dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
from tests.picoquic.extension import needs_picoquic


@needs_picoquic
@pytest.mark.root
def test_a_client_tries_the_next_leg_and_opens_another_path_late(tmp_path: Path) -> None:
    leg = {"rate_mbps": 20, "delay_ms": 10}
    values = {
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "clock": "real",
        "legs": [leg | {"outages": [[0, 1000]]}, leg, leg],
        "workload": {"size_mb": 4},
        "paths": {"attempt_delay_ms": 250, "others_after_kb": 1000},
    }
    result = run_scenario(Scenario.check(values, "test"), tmp_path / "run")
    assert (result.status, result.reason) == ("ok", "")
    assert 0.25 < result.details["handshake_s"] < 1
    opened = {path["leg"]: path["opened_s"] for path in result.details["paths"]}
    assert opened.keys() == {2, 3}
    assert opened[3] > opened[2] + 0.3  # 1 MB of 20 Mbit/s
