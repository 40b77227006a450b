"""The options of legs: rates, traces and recordings, delays, losses and queues."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.cli.options import field_quantity, listed
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import exists
from minitopo_dc.fields.ranges import UPLINK_MBPS
from minitopo_dc.installation import shipped
from minitopo_dc.link import DelayCurve
from minitopo_dc.numbers import WITH_UNIT, is_plain
from minitopo_dc.scenario import LegDirection
from minitopo_dc.scenario.carriers import KINDS, PAIRS
from minitopo_dc.trace import DEFAULT_COLUMN

EMBEDDED = shipped("traces")
DEFAULT_LEGS = (str(EMBEDDED / "lte_a.csv"), str(EMBEDDED / "lte_b.csv"))
DOWN, UP = ".down", ".up"
"""Endings of the two files of one recording, as Mahimahi's own have them."""
BOTH = {
    "delay": ("delay_ms", "MS", "one-way delay, a file with it over time, or its curve: "
              f"{', '.join(get_args(DelayCurve))}"),
    "jitter": ("jitter_ms", "MS", "standard deviation of the delay"),
    "loss": ("loss_percent", "PERCENT", "random loss"),
    "queue": ("queue_packets", "PACKETS", "limit of the drop-tail queue"),
}  # fmt: skip
"""Options of both directions: the field, its unit and what it is."""


def add_legs(parser: argparse.ArgumentParser, legs: tuple[str, ...] = DEFAULT_LEGS) -> None:
    """Add the options of legs: one value for all legs, or one per leg."""
    shown = " ".join(Path(leg).name for leg in legs)
    group = parser.add_argument_group(
        "legs (one value for all, or one a leg; DOWN/UP: one each way; units: 8ms, 20Mbit, 0.1%)"
    )
    group.add_argument(
        "--legs",
        nargs="+",
        default=legs,
        metavar="LEG",
        help="rate in Mbit/s, trace file, RECORDING for RECORDING.down and RECORDING.up, or "
        f"carriers: nr-tdd-100, en-dc (docs/carriers.md; default: {shown})",
    )
    group.add_argument(
        "--uplink",
        nargs="+",
        metavar="LEG",
        help="uplinks: a rate in Mbit/s or a trace file (default: RECORDING.up, or "
        f"{UPLINK_MBPS:g})",
    )
    for name, (field, metavar, what) in BOTH.items():
        known = LegDirection.model_fields[field]  # range and default, as the field has them
        facts = "; ".join(filter(None, (known.description, f"default: {known.default:g}")))
        words = f"{what} ({facts})".replace("%", "%%")
        group.add_argument(f"--{name}", nargs="+", metavar=metavar, help=words)
    group.add_argument(
        "--trace-column",
        nargs="+",
        default=[DEFAULT_COLUMN],
        metavar="NAME:UNIT",
        help=f"column with the downlink's capacity (docs/traces.md; default: {DEFAULT_COLUMN})",
    )
    group.add_argument(
        "--uplink-column",
        nargs="+",
        metavar="NAME:UNIT",
        help="the same for the uplink, in the same trace or in that of --uplink",
    )


def leg_settings(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the legs as fields of a scenario.

    A delay curve is the downlink's: it follows a capacity, and the uplink's is mostly no trace.

    Raises:
        SettingsError: the numbers of values do not fit the number of legs.
    """
    named = [pair for leg in listed(arguments.legs) for pair in _named(leg)]
    legs = [leg for leg, _ in named]
    columns = _per_leg("--trace-column", arguments.trace_column, len(legs))
    uplinks = _uplinks(arguments, legs)
    made: list[dict[str, Any]] = []
    for (leg, fields), column, uplink in zip(named, columns, uplinks, strict=True):
        link = leg.partition("/")[0] if _is_pair(leg) else leg
        link = f"{link}{DOWN}" if _is_recording(link) else link
        downlink = {} if fields else _capacity("--legs", link, str(column))
        ways = {"downlink": downlink, "uplink": uplink}
        made.append(
            {**fields, **{way: {**fields.get(way, {}), **own} for way, own in ways.items()}}
        )
    for name, (field, *_) in BOTH.items():
        option, values = f"--{name}", getattr(arguments, name)
        for fields, value in zip(made, _per_leg(option, values, len(legs)), strict=True):
            if value is not None:
                _put(fields, option, field, value)
    return made


def _named(leg: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the legs of a name with the fields of a pair or carrier; none of another name."""
    if exists(leg):
        return [(leg, {})]
    if leg in PAIRS:
        return [(leg, fields) for fields in PAIRS[leg]]
    return [(leg, {"carrier": leg} if leg.startswith(KINDS) else {})]


def _put(fields: dict[str, Any], option: str, field: str, value: str) -> None:
    """Put an option's value into a leg: of both directions, or of each as DOWN/UP."""
    down, slash, up = value.partition("/")
    if field == "delay_ms" and value in get_args(DelayCurve):
        fields["downlink"]["delay_curve"] = value
    elif field == "delay_ms" and not _is_rate(down) and exists(value):
        fields["delay_trace"] = os.path.realpath(value)
    elif slash:
        fields["downlink"][field] = field_quantity(option, field, down)
        fields["uplink"][field] = field_quantity(option, field, up)
    else:
        fields[field] = field_quantity(option, field, value)


def _per_leg(option: str, values: Sequence[str] | None, legs: int) -> Sequence[str | None]:
    """Return one value per leg, from a value for all legs, a list, or nothing."""
    if values is None:
        return [None] * legs
    given = listed(values)
    if len(given) == 1:
        return given * legs
    if len(given) != legs:
        raise SettingsError(f"{option}: {len(given)} values for {legs} legs; give 1 or {legs}")
    return given


def _uplinks(arguments: argparse.Namespace, legs: Sequence[str]) -> list[dict[str, Any]]:
    rates = _per_leg("--uplink", arguments.uplink, len(legs))
    columns = _per_leg("--uplink-column", arguments.uplink_column, len(legs))
    if len(set(columns)) == 1:  # one for all: legs that are no trace have none
        if columns[0] is not None and arguments.uplink is not None and len(arguments.uplink) == 1:
            # A rate that is one for all is not for legs whose trace has a column for it.
            rates = [
                rate if not _is_rate(rate or "") or _is_rate(leg) else None
                for rate, leg in zip(rates, legs, strict=True)
            ]
        of_traces = [
            None if _is_rate(rate or leg) else column
            for rate, leg, column in zip(rates, legs, columns, strict=True)
        ]
        columns = of_traces if any(of_traces) else columns
    return [_uplink(*leg) for leg in zip(rates, legs, columns, strict=True)]


def _uplink(rate: str | None, leg: str, column: str | None) -> dict[str, Any]:
    """Return the fields of an uplink; where an argument is None, the default or the recording's."""
    if rate is None and _is_recording(leg):
        rate = f"{leg}{UP}"
    elif rate is None and _is_pair(leg):
        rate = leg.partition("/")[2]
    elif rate is None and column is not None:
        rate = leg
    fields = {} if rate is None else _capacity("--uplink", rate, column)
    if column is not None and "trace" not in fields:
        raise SettingsError(
            f"--uplink-column: {column}: {rate} is a rate and no trace; allowed: in --uplink the "
            "trace of each leg with one, or one rate for all legs without a trace"
        )
    return fields


def _is_rate(value: str) -> bool:
    """Return whether an option's value is a number, with or without a unit, and no file."""
    return is_plain(value) or (WITH_UNIT.fullmatch(value) is not None and not exists(value))


def _is_pair(leg: str) -> bool:
    down, _, up = leg.partition("/")
    return _is_rate(down) and _is_rate(up)


def _is_recording(leg: str) -> bool:
    """Return whether a leg names a recording: the common part of `LEG.down` and `LEG.up`."""
    return not exists(leg) and all(
        exists(leg + end) and Path(leg + end).is_file() for end in (DOWN, UP)
    )


def _capacity(option: str, value: str, column: str | None) -> dict[str, Any]:
    if _is_rate(value):
        return {"rate_mbps": field_quantity(option, "rate_mbps", value)}
    return {"trace": os.path.realpath(value)} | ({} if column is None else {"trace_column": column})
