"""Ours against a reference, by hand-made numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc.analysis import ResultError
from minitopo_dc.analysis.tables.reference import (
    REFERENCE,
    agreement,
    compare,
    read_reference,
    same_value,
)


def cells(
    ours: list[float], theirs: list[float], ours_sd: float = 0.0, theirs_sd: float = 0.0
) -> pd.DataFrame:
    return compare(
        pd.DataFrame({"ours": ours, "theirs": theirs, "ours_sd": ours_sd, "theirs_sd": theirs_sd})
    )


def test_errors_are_ours_minus_theirs_and_in_percent_of_theirs() -> None:
    compared = cells([11.0, 18.0], [10.0, 20.0])
    assert list(compared["error"]) == [1.0, -2.0]
    assert list(compared["error_percent"]) == pytest.approx([10.0, -10.0])


def test_mean_absolute_errors_do_not_cancel() -> None:
    found = agreement(cells([11.0, 18.0], [10.0, 20.0]))
    assert found is not None
    assert found.mean_absolute_error == 1.5
    assert found.mean_absolute_percent == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("error", "ours_sd", "theirs_sd", "outside"),
    [
        (1.0, 0.5, 0.6, True),
        (1.0, 1.5, 0.6, False),
        (1.0, 0.5, 1.5, False),
        (1.0, math.nan, 0.6, True),
        (1.0, math.nan, math.nan, False),
        (-1.0, 0.5, 0.6, True),
    ],
)
def test_a_cell_is_outside_when_its_error_is_larger_than_both_deviations(
    error: float, ours_sd: float, theirs_sd: float, outside: bool
) -> None:
    compared = cells([10.0 + error], [10.0], ours_sd, theirs_sd)
    assert compared["outside"].tolist() == [outside]


def test_without_any_deviation_nothing_is_said_of_cells_outside() -> None:
    found = agreement(cells([11.0], [10.0], math.nan, math.nan))
    assert found is not None
    assert found.outside is None


@pytest.mark.parametrize(
    ("ours", "correlation"),
    [([1.0, 2.0, 30.0], 1.0), ([9.0, 5.0, 1.0], -1.0), ([1.0, 3.0, 2.0], 0.5)],
)
def test_the_rank_correlation_is_spearmans(ours: list[float], correlation: float) -> None:
    found = agreement(cells(ours, [10.0, 20.0, 30.0]))
    assert found is not None
    assert found.rank_correlation == pytest.approx(correlation)


@pytest.mark.parametrize(("ours", "theirs"), [([1.0], [2.0]), ([1.0, 2.0], [3.0, 3.0])])
def test_what_has_no_order_has_no_rank_correlation(ours: list[float], theirs: list[float]) -> None:
    found = agreement(cells(ours, theirs))
    assert found is not None
    assert found.rank_correlation is None


def test_a_cell_that_one_lacks_does_not_count() -> None:
    compared = cells([11.0, 5.0], [10.0, math.nan])
    found = agreement(compared)
    assert found is not None
    assert (found.cells, found.outside) == (1, 1)
    assert agreement(cells([1.0], [math.nan])) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [(2, "2.0", True), (0.1, "0.10", True), (3, "30", False), ("split", "split", True)],
)
def test_values_are_the_same_as_numbers_or_as_texts(
    ours: float | str, theirs: str, same: bool
) -> None:
    assert same_value(ours, theirs) is same


def test_rows_of_a_table_are_chosen_by_their_texts() -> None:
    name = "thesis_table_5_5_bandwidth_ratio.csv"
    assert list(read_reference(name, {"dc_ratio": "1"})["quic_mbps"])[:2] == ["32.1", "26.4"]
    matched = read_reference(name, {"dc_ratio": ["1.0", "1.5"]})
    assert list(matched["quic_bm_mbps"]) == ["35.6", "35.3"]


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        ("none.csv", {}, "none.csv: No such file"),
        ("thesis_table_5_7_loss.csv", {"kind": "split"}, "no column kind; has: case, loss"),
        ("thesis_table_5_7_loss.csv", {"case": "both"}, "no row where {'case': 'both'}"),
    ],
)
def test_what_a_table_lacks_is_an_error(name: str, where: dict[str, str], message: str) -> None:
    with pytest.raises(ResultError, match=message):
        read_reference(name, where)


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.csv")), ids=lambda path: path.stem)
def test_every_table_is_whole(path: Path) -> None:
    table = pd.read_csv(path)
    assert len(table) > 0
    assert not table.columns.duplicated().any()
    assert not any(str(column).startswith("Unnamed") for column in table.columns)


def test_jains_index_follows_from_the_throughputs_of_the_fairness_tables() -> None:
    """A check of the copied numbers: the index is theirs, the formula ours."""
    from minitopo_dc.runs.metrics import jain_index

    for path in REFERENCE.glob("thesis_table_5_*_fairness_*.csv"):
        table = pd.read_csv(path)
        rates = table[["dc_mbps", "sc1_mbps", "sc2_mbps"]]
        computed = [jain_index([float(rate) for rate in row]) for row in rates.to_numpy()]
        assert computed == pytest.approx(list(table["jfi"]), abs=0.015), path.name
