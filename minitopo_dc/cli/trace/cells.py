"""The actions of `minitopo-dc trace` on drives: cells, their channels, and synthetic ones."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from rich.console import Console

from minitopo_dc.cli.options import quantity
from minitopo_dc.cli.screen import save_figure
from minitopo_dc.numbers import real, significant, whole
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.settings import SettingsError
from minitopo_dc.trace import (
    ENVIRONMENTS,
    Capacities,
    CellLog,
    ChannelStatistics,
    Interferers,
    RadioSettings,
    TraceError,
    channel_statistics,
    channels_of,
    kind_of_drive,
    read_cells,
    read_channels,
    synthesise_drive,
    write_cells,
    write_channels,
)

T = TypeVar("T")


def add(actions: Any) -> None:
    """Add the actions and their options."""
    cells = actions.add_parser(
        "cells", help="print how many channels a drive has, and their capacity"
    )
    cells.add_argument(
        "cells", type=Path, nargs="+", metavar="FILE", help="files of cells or channels"
    )
    cells.add_argument(
        "--figure", type=Path, metavar="PNG", help="draw channels and capacity to this file"
    )
    _add_radio(cells)
    channels = actions.add_parser("channels", help="compute channels from a log of cells, as CSV")
    channels.add_argument(
        "cells", type=Path, nargs="+", metavar="CELLS", help="files of cells to read"
    )
    channels.add_argument("output", type=Path, metavar="OUTPUT", help="CSV file to write")
    _add_radio(channels)
    drive = actions.add_parser("synthesise-drive", help="synthesise a drive's log of cells as CSV")
    drive.add_argument("output", type=Path, metavar="FILE", help="CSV file to write")
    drive.add_argument(
        "--environment",
        choices=ENVIRONMENTS,
        default="entire",
        help="environment (default: entire)",
    )
    drive.add_argument("--seed", type=whole, default=1, help="seed of the drive (default: 1)")
    drive.add_argument(
        "--seconds",
        type=quantity("s"),
        default=1800,
        metavar="S",
        help="duration in whole s (default: 1800)",
    )
    drive.add_argument(
        "--noise",
        type=real,
        default=0.0,
        metavar="DB",
        help="standard deviation of each cell's RSRP from second to second in dB (default: 0)",
    )


def execute(arguments: argparse.Namespace) -> None:
    """Do the action; raise TraceError or SettingsError when something is wrong with the input."""
    match arguments.action:
        case "cells":
            _show(arguments)
        case "channels":
            capacities = _channels(arguments)[0]
            _checked(lambda: write_channels(capacities, arguments.output))
        case "synthesise-drive":
            log = _checked(lambda: _synthesise(arguments))
            _checked(lambda: write_cells(log, arguments.output))


def _synthesise(arguments: argparse.Namespace) -> CellLog:
    if arguments.seconds % 1:
        raise SettingsError(f"--seconds: {arguments.seconds}; allowed: whole seconds")
    environment = replace(ENVIRONMENTS[arguments.environment], noise_db=arguments.noise)
    return synthesise_drive(arguments.seed, int(arguments.seconds), environment)


def is_drive(path: Path) -> bool:
    """Return whether a file has cells or channels; SettingsError when it cannot be opened."""
    return _checked(lambda: kind_of_drive(path)) is not None


def statistics_json(path: Path) -> str:
    """Return the statistics of a whole drive, as `trace info` prints them."""
    return json.dumps(asdict(channel_statistics(*_drive([path], RadioSettings()))), indent=1)


def _add_radio(parser: argparse.ArgumentParser) -> None:
    radio = RadioSettings()
    parser.add_argument(
        "--load", type=real, default=radio.load, help=f"load of the cells (default: {radio.load:g})"
    )
    parser.add_argument(
        "--interferers",
        choices=get_args(Interferers),
        default=radio.interferers,
        help=f"cells that interfere with a channel (default: {radio.interferers})",
    )
    floor = "capacity in Mbit/s below which a channel is absent"
    for option, of, value, what in (
        ("--scale", real, radio.scale, "factor of all capacities"),
        ("--floor", quantity("mbps"), radio.floor_mbps, floor),
    ):
        parser.add_argument(option, type=of, default=value, help=f"{what} (default: {value:g})")


def _channels(arguments: argparse.Namespace) -> tuple[Capacities, CellLog | None]:
    radio = _checked(
        lambda: RadioSettings(
            arguments.load, arguments.interferers, arguments.scale, arguments.floor
        )
    )
    return _drive(arguments.cells, radio)


def _drive(paths: list[Path], radio: RadioSettings) -> tuple[Capacities, CellLog | None]:
    if len(paths) == 1 and _checked(lambda: kind_of_drive(paths[0])) == "channels":
        if radio != RadioSettings():
            what = "has capacities already; options of the radio need a log of cells"
            raise SettingsError(f"{paths[0]}: {what}")
        return _checked(lambda: read_channels(paths[0])), None
    log = _checked(lambda: read_cells(*paths))
    return _checked(lambda: channels_of(log, radio)), log


def _show(arguments: argparse.Namespace) -> None:
    capacities, log = _channels(arguments)
    statistics = channel_statistics(capacities, log)
    console = Console()
    for table in (_cells_table(statistics), _capacity_table(statistics)):
        console.print(table)
    if arguments.figure is not None:
        from minitopo_dc.plots import drive  # noqa: PLC0415 (Matplotlib takes a second)

        _checked(lambda: save_figure(drive(capacities), arguments.figure))


def _cells_table(statistics: ChannelStatistics) -> Sheet:
    """Return the mean number of channels, and the share of time with each number."""
    shares = [significant(100 * share) for share in statistics.available_shares]
    heads = [Head("cells", text=True), Head("mean")]
    heads += [Head(f"time\nwith {number}", "%") for number in range(len(shares))]
    sheet = Sheet(heads, title=f"Cells of {statistics.name}, {statistics.duration_s} s")
    sheet.add("available", significant(statistics.available_mean), *shares)
    if statistics.visible_mean is not None and statistics.visible_more_than_7 is not None:
        sheet.add("visible", significant(statistics.visible_mean), *[""] * len(shares))
        share = significant(100 * statistics.visible_more_than_7)
        sheet.notes.append(f"More than 7 were visible for {share} % of the time.")
    return sheet


def _capacity_table(statistics: ChannelStatistics) -> Sheet:
    """Return Mbit/s of each level of aggregation (channel 1, the best two, ...)."""
    names = ("mean", "median", "p20", "p10", "p5", "p1", "p0.1")
    heads = [Head("capacity", text=True), *(Head(name, "Mbit/s") for name in names)]
    sheet = Sheet(heads, title="Capacity")
    for level, capacity in statistics.capacity.items():
        values = (capacity.mean_mbps, capacity.median_mbps, *capacity.percentiles_mbps)
        sheet.add(level, *map(significant, values))
    return sheet


def _checked(action: Callable[[], T]) -> T:
    """Return what an action returns; SettingsError when a file or a value is refused."""
    try:
        return action()
    except OSError as error:
        raise SettingsError(f"{error.filename}: {error.strerror}") from None
    except TraceError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from None
