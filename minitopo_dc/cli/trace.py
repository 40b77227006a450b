"""Describe, synthesise and convert capacity traces (`minitopo-dc trace`)."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from minitopo_dc.cli.screen import note, save_figure
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.link.rlc.parameters import SlotsOf
from minitopo_dc.numbers import significant
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.scenario.carriers import carrier
from minitopo_dc.trace import (
    DEFAULT_COLUMN,
    ENVIRONMENTS,
    Capacities,
    CellLog,
    ChannelStatistics,
    RadioSettings,
    RateTrace,
    Trace,
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
from minitopo_dc.trace.formats.table import read_channel
from minitopo_dc.units import NS_PER_MS

LONGEST_STEP_MS = 86_400_000
"""The longest step, a day."""


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; raise TraceError or SettingsError when something is wrong with the input."""
    try:
        match arguments.action:
            case "info":
                print(_info(arguments))  # noqa: T201
            case "convert":
                of_carrier = (arguments.carrier, arguments.layers_column, arguments.share_column)
                logs_channel = arguments.uplink or any(it is not None for it in of_carrier)
                trace: Trace = _rates(arguments) if logs_channel else _read(arguments)
                step_ms = arguments.step
                if step_ms is not None and (not 1 <= step_ms <= LONGEST_STEP_MS or step_ms % 1):
                    allowed = f"whole ms from 1 to {LONGEST_STEP_MS}"
                    raise SettingsError(f"--step: {step_ms}; allowed: {allowed}")
                resampled = resample(trace, int(step_ms) * NS_PER_MS) if step_ms else trace
                _write(resampled, arguments.output)
            case "synthesise":
                trace = synthesise(arguments.seed, arguments.seconds, arguments.mean)
                _write(trace, arguments.output)
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


def _rates(arguments: argparse.Namespace) -> RateTrace:
    """Return what a log of CQI or MCS stands for on a carrier."""
    if arguments.carrier is None:
        raise SettingsError("--layers-column, --share-column, --uplink: need --carrier")
    of: SlotsOf = "U" if arguments.uplink else "D"
    try:
        mbps = partial(carrier(arguments.carrier).rate_mbps, of)
    except ValueError as error:
        raise SettingsError(f"--carrier: {error}") from None
    return read_channel(
        arguments.trace,
        mbps,
        column=None if arguments.column == DEFAULT_COLUMN else arguments.column,
        time_column=arguments.time_column,
        layers=arguments.layers_column,
        share=arguments.share_column,
    )


def _write(trace: Trace, output: Path) -> None:
    if output.suffix == ".mahimahi":
        write_mahimahi(trace, output)
    elif isinstance(trace, RateTrace):
        write_csv(trace, output)
    else:
        raise SettingsError(
            "delivery opportunities as CSV need --step, the length of a rate's step"
        )


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
