"""A drive's channels beside the published ones: tables and figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from minitopo_dc.analysis.figures.drive import draw_drive, drive_figure
from minitopo_dc.analysis.tables.drive import capacity_table, cells_table
from minitopo_dc.analysis.tables.sheet import Sheet
from minitopo_dc.trace import Capacities, channel_statistics

DRIVE = Capacities(
    name="d",
    operators=("OP1", "OP2"),
    mbps=((10.0,) * 5 + (20.0,) * 5, (4.0,) * 5 + (0.0,) * 5),
    cells=(("a",) * 10, ("b",) * 5 + ("",) * 5),
)


def text(table: Sheet) -> str:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_capacity_stands_above_the_published_of_its_level() -> None:
    lines = text(capacity_table(channel_statistics(DRIVE))).splitlines()
    op1 = next(index for index, line in enumerate(lines) if line.startswith("OP1 SP"))
    assert lines[op1].split()[2:5] == ["15.0", "10.0", "10.0"]
    assert lines[op1 + 1].split()[2:] == [
        "published",
        "25.74",
        "23.24",
        "9.05",
        "4.70",
        "2.12",
        "0.43",
        "0.03",
    ]


def test_levels_of_other_operators_have_no_published_row() -> None:
    other = Capacities("d", ("A",), ((1.0,),), (("x",),))
    shown = text(capacity_table(channel_statistics(other)))
    assert "A SP" in shown
    assert shown.count("published ") == 2


def test_available_cells_stand_with_those_of_table_2() -> None:
    shown = text(cells_table(channel_statistics(DRIVE)))
    assert ["available", "1.50", "0", "50.0", "50.0"] in [
        line.split() for line in shown.splitlines()
    ]
    assert "published, road" in shown
    assert "visible" not in shown


def test_the_figure_has_the_two_strongest_channels_and_how_many_there_are() -> None:
    one, five, available = draw_drive(DRIVE).axes
    strongest, second = (np.asarray(line.get_ydata()) for line in five.get_lines())
    assert list(strongest) == [10, 20]
    assert list(second) == [4, 0]
    assert len(np.asarray(one.get_lines()[0].get_ydata())) == 10
    assert list(np.asarray(available.get_lines()[0].get_ydata())) == pytest.approx([0, 0.5, 1])


def test_the_figure_of_a_drive_with_one_channel_is_written(tmp_path: Path) -> None:
    path = tmp_path / "d.png"
    drive_figure(Capacities("d", ("A",), ((1.0, 2.0),), (("x", "x"),)), path)
    assert path.read_bytes().startswith(b"\x89PNG")
