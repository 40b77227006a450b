"""A scheduler of the user's own in a whole run, on either clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY
from tests.picoquic.extension import needs_picoquic

pytestmark = needs_picoquic
EXAMPLE = str(REPOSITORY / "examples" / "shortest_round_trip.py")


def downloaded(directory: Path, **fields: Any) -> RunResult:
    values = {
        "legs": [{"rate_mbps": 20, "delay_ms": 10}, {"rate_mbps": 10, "delay_ms": 30}],
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "workload": {"size_mb": 1},
        **fields,
    }
    return run_scenario(Scenario.check(values, "test"), directory)


def test_the_example_gives_the_results_of_minrtt_on_the_virtual_clock(tmp_path: Path) -> None:
    built_in = downloaded(tmp_path / "a", clock="virtual", options={"scheduler": "minrtt"})
    options = {"scheduler": "shortest-round-trip"}
    own = downloaded(tmp_path / "b", clock="virtual", options=options, plugins=[EXAMPLE])
    assert (own.status, own.reason) == ("ok", "")
    assert own.completion_s == built_in.completion_s


@pytest.mark.root
def test_both_programs_have_the_example_on_the_real_clock(tmp_path: Path) -> None:
    options = {"scheduler": "shortest-round-trip"}
    result = downloaded(tmp_path / "run", clock="real", options=options, plugins=[EXAMPLE])
    assert (result.status, result.reason) == ("ok", "")
