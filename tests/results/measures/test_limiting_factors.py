"""Signs of what held a run back, and the reason that they give."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.measures.congestion import needless_falls
from minitopo_dc.results.measures.limiting_factors import (
    SIGNS,
    Reason,
    Signs,
    signs,
    strongest_sign,
)
from minitopo_dc.scenario import Scenario

PLAIN = Signs(
    goodput_mbps=20.0,
    leg_shares=(0.5, 0.5),
    waiting=0.0,
    needless=0.0,
    lost=0.0,
    bytes_per_byte=1.05,
    late=0.0,
    idle=0.0,
    uneven=0.0,
)


def test_the_strongest_sign_is_the_reason() -> None:
    worse = replace(PLAIN, lost=0.02, waiting=2.0)
    assert strongest_sign(worse, PLAIN) == Reason("waiting", 2.0, 0.0)
    lost = strongest_sign(replace(worse, waiting=0.1), PLAIN)
    assert lost.sentence("DC") == "DC lost more packets (2 % for 0 %)."


@pytest.mark.parametrize("name", SIGNS)
def test_a_value_of_the_better_run_that_is_not_known_is_left_out(name: str) -> None:
    assert " for " in Reason(name, 0.5, 0.25).sentence("DC").rpartition("(")[2]
    assert " for " not in Reason(name, 0.5).sentence("DC").rpartition("(")[2]


def test_what_both_runs_show_is_no_reason() -> None:
    both = replace(PLAIN, lost=0.05)
    assert not strongest_sign(both, both).sign
    assert not strongest_sign(PLAIN, PLAIN).sentence("DC")


def test_what_was_not_recorded_is_no_reason_and_none_of_the_better_run() -> None:
    unknown = replace(PLAIN, waiting=math.nan, needless=math.nan)
    assert not strongest_sign(unknown, PLAIN).sign
    assert strongest_sign(replace(PLAIN, waiting=1.0), unknown).sign == "waiting"


def test_a_window_that_falls_behind_a_drop_falls_for_a_reason() -> None:
    times = [0.1 * number for number in range(10)]
    windows = pd.DataFrame(
        {
            "time_s": times,
            "path": 1,
            "cwnd_bytes": [100, 100, 100, 50, 60, 70, 80, 40, 40, 40],
            "smoothed_rtt_ms": 20.0,
        }
    )
    legs = pd.DataFrame(
        {"time_s": times, "leg": 1, "dropped_loss": [0, 0, 1] + [1] * 7, "dropped_queue": 0}
    )
    assert needless_falls(windows, legs, 0.0) == 1
    assert needless_falls(windows, legs, 0.5) == 0
    assert math.isnan(needless_falls(windows.head(0), legs, 0.0))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Equal shares over legs of which one is much slower."""
    legs = [{"downlink": {"rate_mbps": 20, "delay_ms": 5}}] * 2
    legs[1] = {"downlink": {"rate_mbps": 4, "delay_ms": 50}}
    document = {
        "transport": "quic",
        "mode": "dc",
        "legs": legs,
        "workload": {"size_mb": 0.5},
        "clock": "virtual",
    }
    directory = tmp_path_factory.mktemp("signs") / "run"
    assert run_scenario(Scenario.check(document, "test"), directory).status == "ok"
    return directory


def test_a_late_frame_of_a_call_is_no_reason_of_itself(run: Path, tmp_path: Path) -> None:
    call = shutil.copytree(run, tmp_path / "call")
    kept = json.loads((call / "result.json").read_text(encoding="utf-8"))
    (call / "result.json").write_text(json.dumps(kept | {"workload": "realtime"}))
    assert math.isnan(signs(call).bytes_per_byte)
