"""How long a flow needs to use what is there, from files written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.measures.recovery import (
    handover_table,
    recoveries,
    run_handovers,
    worst_recovery_s,
)
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save, save_element

LEG = {"rate_mbps": 8, "delay_ms": 10}
DOWN = LEG | {"outages": [[2, 3]]}
SILENCE = [{"at_s": 2, "rate_mbps": 0}, {"at_s": 3, "rate_mbps": 8}]


def run(
    root: Path,
    carried: Callable[[float], float],
    downlinks: tuple[dict[str, Any], ...] = (LEG, LEG),
    **more: Any,
) -> Path:
    """A run of 4 s in which both legs together carried `carried(t)` bytes until `t`."""
    directory = save(root, result("mptcp", "multipath", details={"started_s": 0.0}))
    legs = [{"downlink": downlink, "uplink": LEG} for downlink in downlinks]
    fields = {"transport": "mptcp", "mode": "multipath", "legs": legs} | more
    Scenario.check(fields, "test").save(directory / "scenario.yaml")
    rows = [
        {
            "time_ns": tenth * 100_000_000,
            "leg": leg,
            "delivered_bytes": round(carried(tenth / 10) / 2),
        }
        for tenth in range(41)
        for leg in (1, 2)
    ]
    save_element(directory, "gnb", "legs", rows)
    return directory


def rate(*steps: tuple[float, float]) -> Callable[[float], float]:
    """Bytes carried until a moment, of (from s, Mbit/s)."""

    def carried(time: float) -> float:
        ends = [*(begin for begin, _ in steps[1:]), math.inf]
        return sum(
            max(0.0, min(time, end) - begin) * mbps * 1e6 / 8
            for (begin, mbps), end in zip(steps, ends, strict=True)
        )

    return carried


@pytest.mark.parametrize("silent", [DOWN, LEG | {"changes": SILENCE}])
def test_the_time_until_the_rate_is_back_is_measured(
    silent: dict[str, Any], tmp_path: Path
) -> None:
    directory = run(tmp_path, rate((0, 16), (2, 0), (2.5, 8), (3, 16)), (silent, LEG))
    first, second = recoveries(directory).itertuples()
    # 0.24 s at the full rate in a window of 0.3 s are 0.8 of it.
    assert first.took_s == pytest.approx(0.5, abs=0.1)
    assert (first.recovered, second.took_s) == (True, 0)


def test_a_rate_that_falls_a_moment_later_falls_because_of_the_change(tmp_path: Path) -> None:
    directory = run(tmp_path, rate((0, 16), (2, 8), (2.3, 0), (2.7, 8), (3, 16)), (DOWN, LEG))
    assert recoveries(directory)["took_s"][0] == pytest.approx(0.7, abs=0.1)


def test_what_falls_much_later_has_another_reason(tmp_path: Path) -> None:
    directory = run(tmp_path, rate((0, 16), (1, 8), (3, 0)), ({**LEG, "outages": [[1, 9]]}, LEG))
    assert [*recoveries(directory)["took_s"]] == [0]


def test_what_does_not_come_back_lasts_until_the_next_change(tmp_path: Path) -> None:
    directory = run(tmp_path, rate((0, 16), (2, 0)), (DOWN, LEG))
    rows = recoveries(directory)
    assert ([*rows["took_s"]], [*rows["recovered"]]) == ([1, 1], [False, False])
    assert worst_recovery_s(directory) == 1


def test_only_legs_with_a_path_are_expected_to_carry_data(tmp_path: Path) -> None:
    paths = {
        "initial": [1],
        "schedule": [{"at_s": 1, "open": 2}, {"at_s": 2, "backup": 2}, {"at_s": 3, "abandon": 1}],
    }
    directory = run(tmp_path, rate((0, 8), (1, 16), (2, 8)), paths=paths)
    rows = recoveries(directory)
    assert [*rows["legs"]] == [(1, 2), (1,), (2,)]
    assert rows["recovered"].all()


def test_without_any_change_there_is_nothing_to_recover_from(tmp_path: Path) -> None:
    assert math.isnan(worst_recovery_s(run(tmp_path, rate((0, 16)))))


def test_a_run_without_a_handover_rule_has_no_handovers(tmp_path: Path) -> None:
    directory = run(tmp_path, rate((0, 16)))
    assert run_handovers(directory) == []
    assert handover_table(directory).empty


def test_a_run_that_failed_has_no_recoveries(tmp_path: Path) -> None:
    directory = save(tmp_path, no_result("mptcp", "multipath", "failed", "stalled"))
    legs = [{"downlink": LEG, "uplink": LEG}] * 2
    fields = {"transport": "mptcp", "mode": "multipath", "legs": legs}
    Scenario.check(fields, "test").save(directory / "scenario.yaml")
    with pytest.raises(ValueError, match="status"):
        recoveries(directory)
