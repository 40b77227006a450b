"""Cells of a scenario: what is refused, and what its files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.kept_scenario import keep_traces, with_kept_traces
from minitopo_dc.runs.identity import run_id
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.core import core_name
from tests import REPOSITORY
from tests.virtual.scenarios import scenario

FULL = {"kind": "full", "rate_mbps": 10}


def cell(*background: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"legs": [1], "background": background, **fields}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([cell(legs=[3])], "cells.0.legs: leg 3 does not exist; allowed: 1 to 2"),
        ([cell(), cell(legs=[2, 1])], "cells.1.legs: leg 1 is in a cell already; allowed: once"),
        ([cell(scheduler="rr")], "no cell scheduler 'rr' .known: round-robin, priority"),
        ([cell(parameters={"window": 1})], "unexpected keyword.*its parameters: averaging_ms"),
        ([cell(slot_ms=2)], "slot_ms: must be one of 1, 0.5, 0.25, 0.125, 0.0625"),
        ([cell(priorities=[1, 2])], "priorities: 2 for 1 legs; allowed: one each"),
        ([cell({"kind": "on-off", "rate_mbps": 1, "on_s": 1})], "kind on-off: needs off_s"),
        ([cell(FULL | {"on_s": 1})], "on_s: only kind on-off has it, not full"),
        ([cell(FULL | {"times_s": [[2, 1]]})], "times_s must be .from, to. pairs in ascending"),
        ([cell(FULL | {"users": 0})], "users: 0; allowed: 1 to 1,000"),
        ([cell(FULL | {"kind": "bursty"})], "kind: .*'full', 'on-off', 'poisson' or 'trace'"),
    ],
)
def test_a_wrong_cell_is_one_error(cells: list[Any], words: str) -> None:
    """It names the field and what is allowed."""
    with pytest.raises(SettingsError, match=words):
        scenario(cells=cells)


def test_a_leg_of_a_cell_has_slots_of_the_cell() -> None:
    """RLC's slots have the cell's length, and a medium of WiFi has no slots."""
    rlc = {"rate_mbps": 20, "rlc": {"slot_ms": 0.5}}
    with pytest.raises(SettingsError, match=r"rlc.slot_ms 0.5; allowed: the cell's slot_ms, 1"):
        scenario(mode="sc", legs=[rlc], cells=[cell()])
    scenario(mode="sc", legs=[rlc], cells=[cell(slot_ms=0.5)])
    with pytest.raises(SettingsError, match="leg 1 has wifi; allowed: rate_mbps or trace"):
        scenario(mode="sc", legs=[{"wifi": {}}], cells=[cell()])


def test_a_scenario_without_cells_says_nothing_of_them_and_one_with_them_is_python() -> None:
    """Files and identities of runs stay as they were."""
    assert "cells" not in scenario().model_dump(mode="json", exclude_defaults=True)
    shared = scenario(cells=[cell(FULL)])
    assert core_name(shared) == "python: legs are in cells"
    assert Scenario.model_validate(shared.model_dump(mode="json")) == shared
    assert run_id(shared) != run_id(scenario())


def test_the_example_has_two_users_of_its_own_in_each_of_two_cells() -> None:
    """Both flows have a leg in both cells."""
    example = Scenario.load(REPOSITORY / "examples/shared_cells.yaml")
    members = [set(shared.legs) for shared in example.cells]
    for flow in example.resolved_flows:
        assert [len(members[place] & set(flow.legs)) for place in (0, 1)] == [1, 1]


def test_a_recorded_load_is_kept_with_a_run_and_counts_by_its_content(tmp_path: Path) -> None:
    """As the traces of legs."""
    recorded, same = tmp_path / "load.csv", tmp_path / "same.csv"
    for file in (recorded, same):
        file.write_text("time_s,rate_mbps\n0,1\n1,2\n2,0\n", encoding="utf-8")
    shared, other = (
        scenario(cells=[cell({"kind": "trace", "rate_mbps": 10, "trace": str(file)})])
        for file in (recorded, same)
    )
    assert run_id(shared) == run_id(other)
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    keep_traces(shared, run)
    recorded.unlink()
    kept = with_kept_traces(shared, run)
    assert kept.cells[0].background[0].trace != shared.cells[0].background[0].trace
    kept.read_traces()
    with pytest.raises(SettingsError, match=r"load\.csv: No such file"):
        shared.read_traces()
