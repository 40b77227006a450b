"""Time series and summary of an element."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from minitopo_dc.router.recorder import (
    Recorder,
    Series,
    flatten,
    open_series,
    snapshot,
)
from minitopo_dc.scenario.element import ElementSettings

MS = 1_000_000
RADIO = {"rate_mbps": 1}


@dataclass(frozen=True)
class Inner:
    maximum: int
    histogram: tuple[int, ...] = (0, 1)


@dataclass(frozen=True)
class Statistics:
    packets: int
    pdus: tuple[int, ...]
    waiting: Inner


@pytest.mark.parametrize(
    ("pdus", "legs", "columns"),
    [
        ((2, 3), (1, 2), {"pdus_1": 2, "pdus_2": 3}),
        ((5,), (2,), {"pdus_2": 5}),
        ((2, 3), (3, 1), {"pdus_3": 2, "pdus_1": 3}),
    ],
)
def test_counts_have_the_number_of_their_leg_and_nested_statistics_are_columns(
    pdus: tuple[int, ...], legs: tuple[int, ...], columns: dict[str, int]
) -> None:
    inner = {"waiting_maximum": 4, "waiting_histogram_1": 0, "waiting_histogram_2": 1}
    assert flatten(Statistics(1, pdus, Inner(4)), legs) == {"packets": 1} | columns | inner


def test_a_row_a_source_and_interval_is_written(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    sources = {n: lambda n=n: {"packets": n} for n in (1, 2)}
    recorder = Recorder([Series(path, "leg", sources)], 100, 0)
    recorder.handle(0)
    recorder.handle(250 * MS)  # a late row does not move the grid
    assert recorder.next_timeout() == 300 * MS
    recorder.close(350 * MS)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["time_ns"], row["leg"], row["packets"]) for row in rows] == [
        (str(moment * MS), leg, leg) for moment in (0, 250, 350) for leg in ("1", "2")
    ]


def test_a_row_is_in_its_file_at_once_where_the_writer_may_be_killed(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    series = Series(path, "leg", {1: lambda: {"packets": 2}}, buffering=1)
    series.write(7)
    assert path.read_text().splitlines() == ["time_ns,leg,packets", "7,1,2"]
    series.close()


def test_bearers_over_different_legs_have_the_columns_of_all(tmp_path: Path) -> None:
    bearers = [{"bearer": 1, "legs": [1]}, {"bearer": 3, "legs": [2]}]
    legs = [{"leg": n, "interface": f"ue-leg{n}", "seed": "", "radio": RADIO} for n in (1, 2)]
    settings = ElementSettings.check(
        {"host": "ue", "legs": legs, "receive": bearers, "directory": tmp_path}, "test"
    )
    receive = {
        1: snapshot(lambda: Statistics(5, (5,), Inner(7)), (1,)),
        3: snapshot(lambda: Statistics(9, (9,), Inner(8)), (2,)),
    }
    (series,) = open_series(settings, {"legs": {}, "receive": receive})
    series.write(0)
    series.close()
    with (tmp_path / "ue-receive.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = ("bearer", "packets", "pdus_1", "pdus_2")
    assert [[row[name] for name in names] for row in rows] == [
        ["1", "5", "5", "0"],
        ["3", "9", "0", "9"],
    ]
    assert receive[3]()["pdus_2"] == 9
    assert "pdus_1" not in receive[3]()


def test_cells_are_numbered_from_1_with_a_column_for_each_user(tmp_path: Path) -> None:
    settings = ElementSettings.check({"host": "gnb", "legs": [], "directory": tmp_path}, "test")
    cells = {
        1: snapshot(lambda: Statistics(5, (2, 3), Inner(7)), None),
        2: snapshot(lambda: Statistics(6, (6,), Inner(8)), None),
    }
    assert [cell()["pdus_1"] for cell in cells.values()] == [2, 6]
    for series in open_series(settings, {"cells": cells}):
        series.write(7)
        series.close()
    with (tmp_path / "gnb-cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["time_ns"], row["cell"], row["pdus_2"]) for row in rows] == [
        ("7", "1", "3"),
        ("7", "2", "0"),
    ]
