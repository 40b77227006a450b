"""Time series and summary of an element."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.element.recorder import Recorder, Series, flatten, write_summary

MS = 1_000_000


@dataclass(frozen=True)
class Inner:
    maximum: int


@dataclass(frozen=True)
class Statistics:
    packets: int
    pdus: tuple[int, ...]
    waiting: Inner


def test_tuples_and_nested_statistics_become_columns() -> None:
    flat = flatten(Statistics(1, (2, 3), Inner(4)))
    assert flat == {"packets": 1, "pdus_1": 2, "pdus_2": 3, "waiting_maximum": 4}


def test_a_row_a_source_and_interval_is_written(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    sources = {n: lambda n=n: Statistics(n, (0, 0), Inner(0)) for n in (1, 2)}
    recorder = Recorder([Series(path, "leg", sources)], 100, 0)
    recorder.handle(0)
    recorder.handle(100 * MS)
    recorder.close(150 * MS)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["time_ns"], row["leg"], row["packets"]) for row in rows] == [
        (str(moment * MS), leg, leg) for moment in (0, 100, 150) for leg in ("1", "2")
    ]


def test_a_bearer_over_fewer_legs_has_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    sources = {
        1: lambda: Statistics(5, (5,), Inner(7)),
        3: lambda: Statistics(9, (4, 5), Inner(8)),
    }
    series = Series(path, "bearer", sources)
    series.write(0)
    series.close()
    with path.open() as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    assert rows == [["0", "1", "5", "5", "0", "7"], ["0", "3", "9", "4", "5", "8"]]


def test_a_late_row_does_not_move_the_grid(tmp_path: Path) -> None:
    series = Series(tmp_path / "s.csv", "leg", {1: lambda: Statistics(0, (0, 0), Inner(0))})
    recorder = Recorder([series], 100, 0)
    recorder.handle(250 * MS)
    assert recorder.next_timeout() == 300 * MS
    recorder.close(300 * MS)


def test_a_summary_appears_whole(tmp_path: Path) -> None:
    write_summary(tmp_path / "s.json", {"a": 1})
    assert json.loads((tmp_path / "s.json").read_text()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
