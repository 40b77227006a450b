"""Which leg a way left without data, and why, by the counters of short runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.results.measures.limiting_factors import unused_legs
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic

NEAR, FAR = leg(rate_mbps=60, delay_ms=8), leg(rate_mbps=25, delay_ms=200)
DOWN = {"downlink": {"rate_mbps": 25, "delay_ms": 35}, "outages": [[0, 1000]]}
MPQUIC = {"transport": "mpquic-picoquic", "mode": "multipath"}


def sentences(directory: Path, **fields: Any) -> list[str]:
    given: dict[str, Any] = {
        "transport": "quic-picoquic",
        "mode": "dc",
        "workload": {"size_mb": 0.3},
    }
    given |= {"legs": [NEAR, FAR], "options": {}}
    made = scenario(**given | fields)
    made = made.with_dc("deployable") if made.mode == "dc" and "pdcp" not in fields else made
    result = run_virtual(made, directory)
    assert result.status == "ok", result.reason
    row = {"status": "ok", "way": "it", "directory": str(directory)}
    return unused_legs(pd.DataFrame([row | {"goodput_mbps": result.goodput_mbps}]))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {},
            "leg 2 carried nothing, as at most .* packets waited, and it would have",
        ),
        ({"legs": [NEAR, DOWN]}, "it is leg 1 alone: leg 2 carried nothing, as it was down"),
        ({"mode": "atsss"}, "as the steering mode smallest-delay took another leg"),
        (MPQUIC, "as the transfer was over before its path could carry data"),
        (MPQUIC | {"legs": [NEAR, DOWN]}, "leg 2 carried nothing, as it was down"),
    ],
)
def test_a_way_that_is_one_leg_alone_says_so_and_why(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    (sentence,) = sentences(tmp_path, **fields)
    assert re.search(words, sentence), sentence


def test_a_way_that_fills_both_legs_has_no_such_sentence(tmp_path: Path) -> None:
    batch = {"split": "batch", "batch": 2}
    assert not sentences(tmp_path, legs=[NEAR, NEAR], pdcp=batch)


def test_legs_that_share_a_trickle_are_both_used(tmp_path: Path) -> None:
    legs = [leg(rate_mbps=60, delay_ms=8), leg(rate_mbps=25, delay_ms=35)]
    balanced = {"mode": "atsss", "pdcp": {"split": "load-balancing"}}
    assert not sentences(tmp_path, legs=legs, workload={"size_mb": 2}, **balanced)


def test_a_call_that_asks_little_says_so(tmp_path: Path) -> None:
    call = {"kind": "realtime", "duration_s": 1, "bitrate_mbps": 3}
    *_, last = sentences(tmp_path, workload=call)
    assert last.startswith("Little was asked of the legs: no leg carried more than 5")
