"""Runs whose clients started behind what their scenario has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.judge import blank_result, judge, late_start_reason
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement

STEADY: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
CHANGES = {"rate_mbps": 20, "changes": [{"at_s": 3, "rate_mbps": 5}]}
CHANGED = {"downlink": CHANGES}
CHANGED_BACK = {**STEADY, "uplink": CHANGES}
DOWN = {**STEADY, "outages": [[2, 4]]}
MULTIPATH = {"transport": "mptcp", "mode": "multipath"}


def scenario(leg: dict[str, Any], **more: Any) -> Scenario:
    return Scenario.check({"transport": "quic", "mode": "dc", "legs": [STEADY, leg]} | more, "test")


def started(*seconds: float) -> list[Measurement]:
    return [Measurement(1_000_000, 5.0, {"started_s": each}) for each in seconds]


def missed(wanted: Scenario, measured: list[Measurement]) -> list[str | None]:
    """Of each flow."""
    flows = zip(wanted.resolved_flows, measured, strict=True)
    return [late_start_reason(wanted, flow, each) for flow, each in flows]


@pytest.mark.parametrize(
    ("leg", "start", "words"),
    [
        (STEADY, 9.0, ""),
        (CHANGED, 2.9, ""),
        (CHANGED, 3.1, "later than the scenario's change at 3 s"),
        (CHANGED_BACK, 3.1, "later than the scenario's change at 3 s"),
        (DOWN, 2.1, "later than the scenario's change at 2 s"),
        (DOWN, 9.0, "later than the scenario's change at 4 s"),
    ],
)
def test_a_change_or_an_outage_before_the_client_s_start_is_missed(
    leg: dict[str, Any], start: float, words: str
) -> None:
    [reason] = missed(scenario(leg), started(start))
    assert words in (reason or "")
    assert bool(reason) is bool(words)


def test_a_client_may_take_a_second_to_start() -> None:
    early = {"downlink": {"rate_mbps": 20, "changes": [{"at_s": 0.2, "rate_mbps": 5}]}}
    assert missed(scenario(early), started(1.0)) == [None]
    assert missed(scenario(early), started(1.1)) != [None]


def test_what_holds_from_the_start_is_not_missed() -> None:
    at_once = {"downlink": {"rate_mbps": 20, "changes": [{"at_s": 0, "rate_mbps": 5}]}}
    assert missed(scenario(at_once), started(2.0)) == [None]


def test_a_change_of_paths_is_missed_by_the_flow_that_has_them(tmp_path: Path) -> None:
    paths = {"initial": [1], "schedule": [{"at_s": 2, "open": 2}]}
    flows = [{"mode": "dc"}, {**MULTIPATH, "paths": paths}]
    wanted = scenario(STEADY, mode="flows", flows=flows)
    assert missed(wanted, started(2.5, 0.3)) == [None, None]
    result = judge(blank_result(wanted, tmp_path), wanted, started(0.3, 2.5), [0, 0])
    assert result.reason.startswith("flow-2: client started")


def test_such_a_run_has_failed(tmp_path: Path) -> None:
    wanted = scenario(DOWN)
    result = judge(blank_result(wanted, tmp_path), wanted, started(2.5), [900_000, 900_000])
    assert (result.status, result.goodput_mbps) == ("failed", None)
    assert result.reason.startswith("client started 2.50 s after time zero")
