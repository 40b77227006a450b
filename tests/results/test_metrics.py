"""What legs could carry, however it is said that they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.measures.utilisation import link_utilisation, open_capacity
from minitopo_dc.results.run_result import available_bits, capacity_over_time
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.results.synthetic_runs import result, save

SILENT_S = (2, 8)
CHANGES = [{"at_s": 2, "rate_mbps": 0}, {"at_s": 8, "rate_mbps": 10}]
UP: dict[str, Any] = {"rate_mbps": 10, "jitter_ms": 0}
WAYS = ("outages", "leg", "changes", "trace")


def silent(way: str, directory: Path, **fields: Any) -> Scenario:
    """A leg of 10 Mbit/s of which nothing is there from 2 to 8 s, said in one of the ways."""
    down: dict[str, Any] = {"rate_mbps": 10, "jitter_ms": 0}
    beside: dict[str, Any] = {}
    match way:
        case "outages":
            down["outages"] = [SILENT_S]
        case "leg":
            beside["outages"] = [SILENT_S]
        case "changes":
            down["changes"] = CHANGES
        case _:
            path = directory / "rates.csv"
            path.write_text("time_s,rate_mbps\n0,10\n2,0\n8,10\n60,\n", encoding="utf-8")
            down = {"trace": str(path), "jitter_ms": 0}
    leg = {"downlink": down, "uplink": {"rate_mbps": 10}, **beside}
    values = {"transport": "quic", "mode": "sc", "legs": [leg], "clock": "virtual"}
    return Scenario.check(values | fields, "test")


def bits_of(scenario: Scenario, start_s: float, end_s: float) -> list[int]:
    return available_bits(scenario.legs, scenario.loads, start_s, end_s)


@pytest.mark.parametrize("way", WAYS)
def test_a_silence_takes_the_same_capacity_however_it_is_said(way: str, tmp_path: Path) -> None:
    scenario = silent(way, tmp_path)
    assert bits_of(scenario, 0, 16) == [100_000_000]
    assert bits_of(scenario, 1.5, 8.5) == [10_000_000]
    means = capacity_over_time(scenario.legs, 10, 1)["leg_1_mbps"]
    assert list(means) == [10, 10, 0, 0, 0, 0, 0, 0, 10, 10]


@pytest.mark.parametrize("way", WAYS)
def test_the_measures_of_a_run_do_not_count_a_silence(way: str, tmp_path: Path) -> None:
    run = save(tmp_path, result(mode="sc", completion_s=16.0, leg_bytes=[6_250_000]))
    silent(way, tmp_path).save(run / "scenario.yaml")
    assert link_utilisation(run) == [0.5]
    assert open_capacity(run) == (6.25, 6.25)


@needs_picoquic
def test_runs_over_the_same_silence_have_the_same_capacity_share(tmp_path: Path) -> None:
    shares = set()
    for way in ("outages", "changes", "trace"):
        scenario = silent(way, tmp_path, transport="quic-picoquic", workload={"duration_s": 16})
        run = run_virtual(scenario, tmp_path / way)
        assert run.capacity_share == pytest.approx(run.size_bytes * 8 / 100_000_000)
        shares.add(run.capacity_share)
    assert len(shares) == 1


def test_a_leg_that_a_handover_rule_takes_down_has_no_capacity_then(tmp_path: Path) -> None:
    """The better leg by the rule, in each second: 8, 8, then 6, 6 Mbit/s."""
    for number, rates in enumerate(([8, 8, 1, 1], [2, 2, 6, 6])):
        rows = [f"{second},{rate}" for second, rate in enumerate(rates)]
        (tmp_path / f"{number}.csv").write_text("\n".join([*rows, "4,"]), encoding="utf-8")
    legs = [{"downlink": {"trace": str(tmp_path / f"{n}.csv"), "end": "hold"}} for n in (0, 1)]
    rule = {"case": 1, "time_to_trigger_s": 0, "overlap_s": 0, "by": "legs"}
    fields = {"transport": "mpquic-picoquic", "mode": "multipath", "handover": rule}
    given = Scenario.check({**fields, "legs": legs, "clock": "virtual"}, "test")
    assert bits_of(resolve_scenario(given), 0, 4) == [16_000_000, 12_000_000]


def test_an_interruption_by_mobility_takes_capacity_of_dual_connectivity() -> None:
    events = [{"at_s": 1, "pscell_change": 2, "interruption_ms": 100}]
    fields = {"transport": "quic", "mode": "dc", "legs": [{"downlink": UP}] * 2, "mobility": events}
    given = Scenario.check({**fields, "clock": "virtual"}, "test")
    assert bits_of(resolve_scenario(given), 0, 2) == [20_000_000, 19_000_000]


def test_failed_transmissions_of_blocks_take_their_part_of_the_capacity() -> None:
    errors = [{"at_s": 2, "block_error_percent": 50}]
    down = {**UP, "rlc": {"block_error_percent": 10}, "changes": errors, "outages": [[3, 4]]}
    values = {"transport": "quic", "mode": "sc", "legs": [{"downlink": down}]}
    assert bits_of(Scenario.check(values, "test"), 0, 5) == [2 * 9_000_000 + 2 * 5_000_000]


def test_legs_of_one_cell_share_it_when_both_send() -> None:
    cell = {"legs": [1, 2]}
    legs = [{"downlink": UP}, {"downlink": UP | {"rate_mbps": 30}}]
    fields = {"transport": "quic", "mode": "dc", "legs": legs, "cells": [cell], "clock": "virtual"}
    scenario = Scenario.check(fields, "test")
    assert bits_of(scenario, 0, 2) == [20_000_000, 60_000_000]
    shared = available_bits(scenario.legs, scenario.loads, 0, 2, shared=scenario.cells)
    assert shared == [10_000_000, 30_000_000]
