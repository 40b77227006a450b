"""A leg's capacity as an option names it: a rate, a trace file, or both halves of a recording."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from minitopo_dc.numbers import real
from minitopo_dc.settings.base import exists
from minitopo_dc.trace import DEFAULT_COLUMN

DOWN, UP = ".down", ".up"
"""Endings of the two files of one recording, as Mahimahi's own have them."""
PAPERS_UPLINK_MBPS = "20"
"""Uplink of the DC papers (thesis, table 4.3)."""


def add(group: argparse._ArgumentGroup) -> None:
    """What is read of trace files, and how."""
    group.add_argument(
        "--trace-column",
        nargs="+",
        default=[DEFAULT_COLUMN],
        metavar="NAME:UNIT",
        help="of a trace of many columns: the downlink's capacity in bps, kbps, mbps or gbps; "
        f"of a Raca file without unit ({DEFAULT_COLUMN})",
    )
    group.add_argument(
        "--trace-time-column",
        metavar="NAME:UNIT",
        help="of a trace of many columns: the time in s, ms, us, ns or iso (the first column)",
    )
    group.add_argument(
        "--trace-end",
        default="loop",
        metavar="RULE",
        help="loop, hold or stop at a trace's end (loop)",
    )
    group.add_argument(
        "--trace-offset",
        type=real,
        default=0.0,
        metavar="S",
        help="the moment of all traces at which a run starts (0)",
    )


def downlink(leg: str, column: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Fields of a downlink: a number is a rate in Mbit/s, anything else a trace or a recording."""
    fields = _capacity(f"{leg}{DOWN}" if is_recording(leg) else leg, arguments.trace_end)
    if "trace" in fields:
        fields["trace_column"] = column
        if arguments.trace_time_column is not None:
            fields["trace_time_column"] = arguments.trace_time_column
    return fields


def uplink(rate: str | None, leg: str, end: str) -> dict[str, Any]:
    """Fields of an uplink; without a rate that of its leg's recording, else the papers'."""
    if rate is None:
        rate = f"{leg}{UP}" if is_recording(leg) else PAPERS_UPLINK_MBPS
    return _capacity(rate, end)


def is_recording(leg: str) -> bool:
    """Whether a leg is the beginning of two files' names, `LEG.down` and `LEG.up`."""
    return not exists(leg) and all(
        exists(leg + each) and Path(leg + each).is_file() for each in (DOWN, UP)
    )


def _capacity(value: str, end: str) -> dict[str, Any]:
    try:
        return {"rate_mbps": real(value)}
    except ValueError:
        return {"trace": os.path.realpath(value), "end": end}
