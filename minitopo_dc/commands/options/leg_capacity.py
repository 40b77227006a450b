"""A leg's capacity as an option names it: a rate, a trace file, or both files of a recording."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from minitopo_dc.commands.options import quantities
from minitopo_dc.numbers import WITH_UNIT, is_plain
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import exists
from minitopo_dc.trace import DEFAULT_COLUMN

DOWN, UP = ".down", ".up"
"""Endings of the two files of one recording, as Mahimahi's own have them."""


def add(group: argparse._ArgumentGroup) -> None:
    """Add the options that say how trace files are read."""
    group.add_argument(
        "--trace-column",
        nargs="+",
        default=[DEFAULT_COLUMN],
        metavar="NAME:UNIT",
        help="column and unit (Mbit/s, kbps, MB/s, ...) of the downlink's capacity in a trace with "
        "several columns; NAME alone if it ends in its unit (down_mbps), and in a Raca file "
        f"(default: {DEFAULT_COLUMN})",
    )
    group.add_argument(
        "--uplink-column",
        nargs="+",
        metavar="NAME:UNIT",
        help="column and unit of the uplink's capacity, in the same trace or in that of --uplink; "
        "legs without a trace keep their rate (default: no column, a constant rate)",
    )
    group.add_argument(
        "--trace-time-column",
        metavar="NAME:UNIT",
        help="column and unit (s, ms, us, ns, iso) of the time in a trace with several columns; "
        "NAME alone if it ends in its unit (default: the first column)",
    )
    group.add_argument(
        "--trace-end",
        default="loop",
        metavar="RULE",
        help="what follows a trace's end: loop, hold or stop (default: loop)",
    )
    group.add_argument(
        "--trace-offset",
        type=quantities.of("s"),
        default=0.0,
        metavar="S",
        help="time in all traces at which a run starts, in s (default: 0)",
    )


def downlink(leg: str, column: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a downlink: a number is a rate in Mbit/s, else a trace or recording."""
    value = f"{leg}{DOWN}" if is_recording(leg) else leg
    return _capacity("--legs", value, arguments, column)


def uplink(
    rate: str | None, leg: str, column: str | None, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return the fields of an uplink; where an argument is None, the default or the recording's.

    Raises:
        SettingsError: a column is given, but no trace that could have it.
    """
    if rate is None and is_recording(leg):
        rate = f"{leg}{UP}"
    elif rate is None and column is not None:
        rate = leg
    fields = {} if rate is None else _capacity("--uplink", rate, arguments, column)
    if column is not None and "trace" not in fields:
        raise SettingsError(
            f"--uplink-column: {column}: {rate} is a rate and no trace; allowed: in --uplink the "
            "trace of each leg with one, or one rate for all legs without a trace"
        )
    return fields


def is_rate(value: str) -> bool:
    """Return whether an option's value is a number, with or without a unit, and no file."""
    return is_plain(value) or (WITH_UNIT.fullmatch(value) is not None and not exists(value))


def is_recording(leg: str) -> bool:
    """Return whether a leg names a recording: the common part of `LEG.down` and `LEG.up`."""
    return not exists(leg) and all(
        exists(leg + each) and Path(leg + each).is_file() for each in (DOWN, UP)
    )


def _capacity(
    option: str, value: str, arguments: argparse.Namespace, column: str | None
) -> dict[str, Any]:
    if is_rate(value):
        return {"rate_mbps": quantities.of_field(option, "rate_mbps", value)}
    fields = {"trace": os.path.realpath(value), "end": arguments.trace_end}
    if column is None:
        return fields
    fields["trace_column"] = column
    if arguments.trace_time_column is not None:
        fields["trace_time_column"] = arguments.trace_time_column
    return fields
