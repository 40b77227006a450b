"""What `run_scenario` does before it runs anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Scenario

SCENARIO = Scenario.check(
    {
        **{"transport": "quic", "mode": "sc", "clock": "virtual"},
        "legs": [{"downlink": {"rate_mbps": 20}}],
        "workload": {"size_mb": 0.01},
    },
    "test",
)


def test_an_earlier_run_is_not_overwritten(tmp_path: Path) -> None:
    assert run_scenario(SCENARIO, tmp_path).status == "ok"  # an empty directory is taken
    before = (tmp_path / "result.json").read_bytes()
    with pytest.raises(SettingsError, match="exists; give a new directory or an empty one"):
        run_scenario(SCENARIO, tmp_path)
    assert (tmp_path / "result.json").read_bytes() == before
