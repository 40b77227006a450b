"""A leg's capacity as an option names it: a rate, a trace file, or both files of a recording."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from minitopo_dc.cli.options import quantities
from minitopo_dc.numbers import WITH_UNIT, is_plain
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import exists
from minitopo_dc.trace import DEFAULT_COLUMN

DOWN, UP = ".down", ".up"
"""Endings of the two files of one recording, as Mahimahi's own have them."""


def add(group: argparse._ArgumentGroup) -> None:
    """Add the options that say which columns of trace files are read."""
    group.add_argument(
        "--trace-column",
        nargs="+",
        default=[DEFAULT_COLUMN],
        metavar="NAME:UNIT",
        help=f"column of a trace with the downlink's capacity (docs/traces.md; {DEFAULT_COLUMN})",
    )
    group.add_argument(
        "--uplink-column",
        nargs="+",
        metavar="NAME:UNIT",
        help="the same for the uplink, in the same trace or in that of --uplink",
    )


def downlink(leg: str, column: str) -> dict[str, Any]:
    """Return the fields of a downlink: a number is a rate in Mbit/s, else a trace or recording."""
    value = f"{leg}{DOWN}" if is_recording(leg) else leg
    return _capacity("--legs", value, column)


def uplink(rate: str | None, leg: str, column: str | None) -> dict[str, Any]:
    """Return the fields of an uplink; where an argument is None, the default or the recording's.

    Raises:
        SettingsError: a column is given, but no trace that could have it.
    """
    if rate is None and is_recording(leg):
        rate = f"{leg}{UP}"
    elif rate is None and column is not None:
        rate = leg
    fields = {} if rate is None else _capacity("--uplink", rate, column)
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


def _capacity(option: str, value: str, column: str | None) -> dict[str, Any]:
    if is_rate(value):
        return {"rate_mbps": quantities.of_field(option, "rate_mbps", value)}
    return {"trace": os.path.realpath(value)} | ({} if column is None else {"trace_column": column})
