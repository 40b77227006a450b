"""What there is over a drive: numbers of cells, and capacity by level of aggregation."""

from __future__ import annotations

import pytest

from minitopo_dc.trace import Capacities, CellLog, channel_statistics, levels
from minitopo_dc.trace.channels import capacity_statistics
from tests.trace.heard_cells import heard

TWO_OPERATORS = Capacities(
    name="d",
    operators=("A", "A", "B"),
    mbps=((10.0, 0.0, 3.0, 0.0), (5.0, 2.0, 0.0, 0.0), (1.0, 8.0, 0.0, 0.0)),
    cells=(("a", "", "a", ""), ("b", "b", "", ""), ("c", "c", "", "")),
)


def test_a_level_is_the_best_of_an_operator_the_best_of_all_or_the_sum() -> None:
    assert levels(TWO_OPERATORS) == {
        "A SP": (10, 2, 3, 0),
        "B SP": (1, 8, 0, 0),
        "Best Single Path": (10, 8, 3, 0),
        "Multipath": (16, 10, 3, 0),
    }


def test_channels_of_no_known_operator_have_no_level_of_one() -> None:
    unknown = Capacities("d", ("", ""), ((1.0,), (2.0,)), (("",), ("",)))
    assert set(levels(unknown)) == {"Best Single Path", "Multipath"}


def test_availability_is_the_share_of_time_with_each_number_of_channels() -> None:
    statistics = channel_statistics(TWO_OPERATORS)
    assert statistics.available_mean == 1.5
    assert statistics.available_shares == (0.25, 0.25, 0.25, 0.25)
    assert statistics.duration_s == 4
    assert statistics.visible_mean is None


def test_visible_cells_are_counted_before_the_carrier_s_best_is_chosen() -> None:
    many = heard(*((f"A/800/{number}", -90) for number in range(8)))
    log = CellLog("d", (many, many[:2], many[:7], many[:1]))
    one = Capacities("d", ("A",), ((1.0,) * 4,), (("x",) * 4,))
    statistics = channel_statistics(one, log)
    assert statistics.visible_mean == 4.5
    assert statistics.visible_more_than_7 == 0.25


def test_a_percentile_is_the_least_value_not_exceeded_for_that_time() -> None:
    row = capacity_statistics([float(value) for value in range(1000, 0, -1)])
    assert row.mean_mbps == 500.5
    assert row.median_mbps == 500
    assert row.percentiles_mbps == (200, 100, 50, 10, 1)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (((), (), ()), "at least one channel"),
        ((("A",), ((),), ((),)), "at least one channel and one step"),
        ((("A",), ((1.0,), (2.0,)), (("",), ("",))), "an operator for each"),
        ((("A", "B"), ((1.0,), (2.0, 3.0)), (("",), ("", ""))), "different numbers of steps"),
        ((("A",), ((-1.0,),), (("",),)), "0 or more"),
    ],
)
def test_what_is_no_table_of_capacities_is_refused(
    arguments: tuple[tuple[str, ...], ...], what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        Capacities("d", *arguments)  # type: ignore[arg-type]


def test_a_channel_is_a_trace_of_its_rates() -> None:
    trace = TWO_OPERATORS.trace(0)
    assert trace.times_ns == (0, 10**9, 2 * 10**9, 3 * 10**9)
    assert trace.rates_bps == (10_000_000, 0, 3_000_000, 0)
    assert trace.duration_ns == 4 * 10**9
