"""Describe, synthesise and convert capacity traces (`minitopo-dc trace`)."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from minitopo_dc.cli.options import quantity
from minitopo_dc.cli.screen import note, save_figure
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import real, significant, whole
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.trace import (
    DEFAULT_COLUMN,
    ENVIRONMENTS,
    Capacities,
    CellLog,
    CellParameters,
    ChannelStatistics,
    Interferers,
    RadioSettings,
    RateTrace,
    Trace,
    TraceFormat,
    channel_statistics,
    channels_of,
    doubts,
    kind_of_drive,
    read_cells,
    read_channels,
    read_trace,
    resample,
    synthesise,
    synthesise_drive,
    trace_info,
    write_cells,
    write_channels,
    write_csv,
    write_mahimahi,
)
from minitopo_dc.units import NS_PER_MS

LONGEST_STEP_MS = 86_400_000
"""The longest step, a day."""
HELP = "describe, synthesise and convert capacity traces"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    info = actions.add_parser("info", help="print statistics of a trace or a drive as JSON")
    _add_source(info)
    convert = actions.add_parser(
        "convert", help="convert a trace to CSV, or to Mahimahi (*.mahimahi)"
    )
    _add_source(convert)
    convert.add_argument("output", type=Path, metavar="OUTPUT", help="file to write")
    convert.add_argument(
        "--step",
        type=quantity("ms"),
        metavar="MS",
        help="resample to steps of this length, whole ms",
    )
    _add_synthesis(actions.add_parser("synthesise", help="synthesise an LTE-like trace as CSV"))
    _add_drives(actions)


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; raise TraceError or SettingsError when something is wrong with the input."""
    try:
        match arguments.action:
            case "info":
                print(_info(arguments))  # noqa: T201
            case "convert":
                trace, step_ms = _read(arguments), arguments.step
                if step_ms is not None and (not 1 <= step_ms <= LONGEST_STEP_MS or step_ms % 1):
                    allowed = f"whole ms from 1 to {LONGEST_STEP_MS}"
                    raise SettingsError(f"--step: {step_ms}; allowed: {allowed}")
                resampled = resample(trace, int(step_ms) * NS_PER_MS) if step_ms else trace
                _write(resampled, arguments.output)
            case "synthesise":
                cell = CellParameters(
                    sinr_mean_db=arguments.sinr,
                    speed_kmh=arguments.speed,
                    other_users=arguments.users,
                )
                seed, seconds, mbps = arguments.seed, arguments.seconds, arguments.mean
                _write(synthesise(seed, seconds, mbps, cell=cell), arguments.output)
            case "cells":
                _show_cells(arguments)
            case "channels":
                write_channels(_channels(arguments)[0], arguments.output)
            case "synthesise-drive":
                if arguments.seconds % 1:
                    raise SettingsError(f"--seconds: {arguments.seconds}; allowed: whole seconds")
                kind = replace(ENVIRONMENTS[arguments.environment], noise_db=arguments.noise)
                log = synthesise_drive(arguments.seed, int(arguments.seconds), kind)
                write_cells(log, arguments.output)
    except OSError as error:
        if error.filename is None:  # that of a write, as on a full disk
            raise
        raise SettingsError(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise SettingsError(str(error)) from None
    return 0


def _info(arguments: argparse.Namespace) -> str:
    """Return facts of a trace as JSON; of a drive without a named channel, overall statistics."""
    if arguments.column == DEFAULT_COLUMN and kind_of_drive(arguments.trace) is not None:
        drive = _drive([arguments.trace], RadioSettings())
        return json.dumps(asdict(channel_statistics(*drive)), indent=1)
    return json.dumps(asdict(trace_info(_read(arguments))), indent=1)


def _add_source(parser: argparse.ArgumentParser) -> None:
    formats = get_args(TraceFormat)
    parser.add_argument("trace", type=Path, metavar="FILE", help="trace or drive to read")
    parser.add_argument(
        "--format", choices=formats, default="auto", help="format of the file (default: by content)"
    )
    parser.add_argument(
        "--column",
        default=DEFAULT_COLUMN,
        metavar="NAME:UNIT",
        help="column and unit (Mbit/s, kbps, MB/s, ...) of the rate in a table or JSON; NAME alone "
        f"if it ends in its unit, and in a Raca file (default: {DEFAULT_COLUMN}, or the only one)",
    )
    parser.add_argument(
        "--time-column",
        metavar="NAME:UNIT",
        help="column and unit (s, ms, us, ns, iso) of the time in a table; NAME alone if it ends "
        "in its unit (default: the first column)",
    )


def _add_synthesis(parser: argparse.ArgumentParser) -> None:
    cell = CellParameters()
    parser.add_argument("output", type=Path, metavar="FILE", help="CSV file to write")
    parser.add_argument(
        "--seed", type=whole, default=1, help="seed of shadowing and of other users (default: 1)"
    )
    for option, metavar, value, of, what in (
        ("--seconds", "S", 60.0, quantity("s"), "duration"),
        ("--mean", "MBPS", 10.0, quantity("mbps"), "mean rate"),
        ("--sinr", "DB", cell.sinr_mean_db, real, "mean SINR"),
        ("--speed", "KMH", cell.speed_kmh, real, "speed of the terminal"),
        ("--users", "N", cell.other_users, real, "mean number of other users"),
    ):
        parser.add_argument(
            option, type=of, default=value, metavar=metavar, help=f"{what} (default: {value:g})"
        )


def _read(arguments: argparse.Namespace) -> Trace:
    trace = read_trace(
        arguments.trace,
        format=arguments.format,
        column=arguments.column,
        time_column=arguments.time_column,
    )
    if (words := doubts(trace)) is not None:
        note(words)
    return trace


def _write(trace: Trace, output: Path) -> None:
    if output.suffix == ".mahimahi":
        write_mahimahi(trace, output)
    elif isinstance(trace, RateTrace):
        write_csv(trace, output)
    else:
        raise SettingsError(
            "delivery opportunities as CSV need --step, the length of a rate's step"
        )


def _add_drives(actions: Any) -> None:
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
    options = (arguments.load, arguments.interferers, arguments.scale, arguments.floor)
    return _drive(arguments.cells, RadioSettings(*options))


def _drive(paths: list[Path], radio: RadioSettings) -> tuple[Capacities, CellLog | None]:
    if len(paths) == 1 and kind_of_drive(paths[0]) == "channels":
        if radio != RadioSettings():
            what = "has capacities already; options of the radio need a log of cells"
            raise SettingsError(f"{paths[0]}: {what}")
        return read_channels(paths[0]), None
    log = read_cells(*paths)
    return channels_of(log, radio), log


def _show_cells(arguments: argparse.Namespace) -> None:
    capacities, log = _channels(arguments)
    statistics = channel_statistics(capacities, log)
    console = Console()
    for table in (_cells_table(statistics), _capacity_table(statistics)):
        console.print(table)
    if arguments.figure is not None:
        from minitopo_dc.plots import drive  # noqa: PLC0415 (Matplotlib takes a second)

        save_figure(drive(capacities), arguments.figure)


def _cells_table(statistics: ChannelStatistics) -> Sheet:
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
    names = ("mean", "median", "p20", "p10", "p5", "p1", "p0.1")
    heads = [Head("capacity", text=True), *(Head(name, "Mbit/s") for name in names)]
    sheet = Sheet(heads, title="Capacity")
    for level, capacity in statistics.capacity.items():
        values = (capacity.mean_mbps, capacity.median_mbps, *capacity.percentiles_mbps)
        sheet.add(level, *map(significant, values))
    return sheet
