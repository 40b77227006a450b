"""Describe, synthesise and convert capacity traces (`minitopo-dc trace`)."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from minitopo_dc.cli.options import quantity
from minitopo_dc.cli.trace import cells
from minitopo_dc.numbers import real, whole
from minitopo_dc.settings import SettingsError
from minitopo_dc.trace import (
    DEFAULT_COLUMN,
    CellParameters,
    RateTrace,
    Trace,
    TraceFormat,
    doubts,
    read_trace,
    resample,
    synthesise,
    trace_info,
    write_csv,
    write_mahimahi,
)

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
    cells.add(actions)


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; raise TraceError or SettingsError when something is wrong with the input."""
    match arguments.action:
        case "info":
            print(_info(arguments))  # noqa: T201
        case "convert":
            _convert(_read(arguments), arguments.step, arguments.output)
        case "synthesise":
            _write(_synthesise(arguments), arguments.output)
        case _:
            cells.execute(arguments)
    return 0


def _info(arguments: argparse.Namespace) -> str:
    """Return facts of a trace as JSON; of a drive without a named channel, overall statistics."""
    if arguments.column == DEFAULT_COLUMN and cells.is_drive(arguments.trace):
        return cells.statistics_json(arguments.trace)
    trace = _read(arguments)
    try:
        return json.dumps(asdict(trace_info(trace)), indent=1)
    except ValueError as error:
        raise SettingsError(str(error)) from None


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
    """Return the trace; print to standard error why it may not be what it is read as."""
    try:
        trace = read_trace(
            arguments.trace,
            format=arguments.format,
            column=arguments.column,
            time_column=arguments.time_column,
        )
    except OSError as error:
        raise SettingsError(f"{arguments.trace}: {error.strerror}") from None
    if (words := doubts(trace)) is not None:
        print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201
    return trace


def _convert(trace: Trace, step_ms: float | None, output: Path) -> None:
    if step_ms is not None and (not 1 <= step_ms <= LONGEST_STEP_MS or step_ms % 1):
        allowed = f"whole ms from 1 to {LONGEST_STEP_MS}"
        raise SettingsError(f"--step: {step_ms}; allowed: {allowed}")
    try:
        _write(resample(trace, int(step_ms) * 1_000_000) if step_ms else trace, output)
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _synthesise(arguments: argparse.Namespace) -> RateTrace:
    try:
        cell = CellParameters(
            sinr_mean_db=arguments.sinr, speed_kmh=arguments.speed, other_users=arguments.users
        )
        return synthesise(arguments.seed, arguments.seconds, arguments.mean, cell=cell)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _write(trace: Trace, output: Path) -> None:
    try:
        if output.suffix == ".mahimahi":
            write_mahimahi(trace, output)
        elif isinstance(trace, RateTrace):
            write_csv(trace, output)
        else:
            raise SettingsError(
                "delivery opportunities as CSV need --step, the length of a rate's step"
            )
    except OSError as error:
        raise SettingsError(f"{output}: {error.strerror}") from None
