"""The comparison with the thesis asks for what the thesis measured."""

from __future__ import annotations

import pytest

from benchmarks.agreement import FAIRNESS, TABLES, TESTBED, Cell, Compared, cells
from minitopo_dc.scenario import Scenario


def scenario_of(cell: Cell) -> Scenario:
    return Scenario.check({**TESTBED, **cell.fields}, cell.name)


@pytest.mark.parametrize(
    ("table", "number"), [("5.3", 12), ("5.4", 11), ("5.6", 18), ("5.7", 47), (FAIRNESS, 12)]
)
def test_every_cell_of_a_table_is_a_scenario(table: str, number: int) -> None:
    found = [scenario_of(cell) for cell in cells(table, every=1)]
    assert len(found) == number
    assert all(each.clock == "virtual" and each.pdcp.sn_bits == 16 for each in found)


def test_a_table_s_parameter_reaches_the_scenario() -> None:
    first = {table: scenario_of(next(cells(table, every=1))) for table in TABLES}
    assert first["5.3"].pdcp.batch == 2
    assert first["5.4"].pdcp.ratio == (0, 100)
    assert [leg.downlink.delay_ms for leg in first["5.6"].legs] == [10, 10]
    *_, last = cells("5.7", every=1)
    assert scenario_of(last).mode == "dc-duplicate"
    assert scenario_of(last).legs[0].downlink.loss_percent == 5


def test_the_error_is_relative_to_theirs() -> None:
    assert Compared("5.3", "x", 20.0, (21.0, 23.0)).error_percent == pytest.approx(10)
