"""The scenario that options describe: its legs, its load, and `--set FIELD=VALUE` for any field."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml

from minitopo_dc.cli.options import BOTH, DEFAULT_LEGS, OF_COMMAND, OF_ROWS, listed
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import exists, quoted
from minitopo_dc.fields.yaml_text import parse_yaml
from minitopo_dc.link import DelayCurve
from minitopo_dc.numbers import WITH_UNIT, in_field_unit, is_plain, quantity_of
from minitopo_dc.registry import load_plugins
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.scenario.carriers import KINDS, PAIRS
from minitopo_dc.scenario.presets import NAMES, XN_MS, DualConnectivity, set_value
from minitopo_dc.workloads import Workload, parse_workload

DOWN, UP = ".down", ".up"
"""Endings of the two files of one recording, as Mahimahi's own have them."""


def field_quantity(option: str, field: str, text: str) -> float | str:
    """Return an option's number in the unit of a field; the text where its name tells no unit.

    Raises:
        SettingsError: it is no number, or has a unit of something else; the message says what is
            allowed.
    """
    unit = quantity_of(field)
    try:
        return text if unit is None else in_field_unit(text, unit)
    except ValueError as error:
        raise SettingsError(f"{option}: {quoted(text)} is {error}") from None


def leg_settings(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the legs as fields of a scenario.

    A delay curve is the downlink's: it follows a capacity, and the uplink's is mostly no trace.

    Raises:
        SettingsError: the numbers of values do not fit the number of legs.
    """
    named = [pair for leg in listed(arguments.legs or DEFAULT_LEGS) for pair in _named(leg)]
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
    for name, field in BOTH.items():
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


WORDS = ("on", "off", "yes", "no")
"""What YAML 1.2 has as words and YAML 1.1 as true or false: `pdcp.delivery=off`."""


def assignments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `--set` by their fields, in the order of the command line.

    Raises:
        SettingsError: one has another form, or the command chooses the field.
    """
    values: dict[str, Any] = {}
    for words in arguments.set:
        path, _, value = words.partition("=")
        if not (path and value) or path in values:
            raise SettingsError(f"--set {words}: allowed: FIELD=VALUE, each field once")
        try:
            values[path] = value if value in WORDS else parse_yaml(value)
        except yaml.YAMLError:
            raise SettingsError(f"--set {words}: the value is not YAML") from None
        if is_below(path, *OF_COMMAND.get(arguments.command, ())):
            raise SettingsError(f"--set {path}: the command chooses it; `--help` lists its options")
    return values


def is_below(path: str, *fields: str) -> bool:
    """Return whether a path is one of the fields, or leads into one."""
    return any(path == field or path.startswith(f"{field}.") for field in fields)


def put(document: dict[str, Any], values: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """Put values of `--set` into a scenario's fields, and return these.

    Args:
        document: gets them.
        values: by their paths.
        fields: only what is below them; none: all.

    Raises:
        SettingsError: an index is not in its list.
    """
    for path, value in values.items():
        if fields and not is_below(path, *fields):
            continue
        try:
            set_value(document, path, value)
        except InputError as error:
            raise SettingsError(f"--set {error}") from None
    return document


def with_assignments(scenario: Scenario, arguments: argparse.Namespace) -> Scenario:
    """Return a scenario with the fields of `--set`, checked as a whole.

    Raises:
        SettingsError: a field or value is wrong, with those that are allowed.
    """
    values = assignments(arguments)
    if not values:
        return scenario
    fields = scenario.model_dump(mode="json", exclude_unset=True)
    return Scenario.check(put(fields, values), "--set")


def dc_of(name: str) -> DualConnectivity:
    """Return the name of a Dual Connectivity; SettingsError: there is none of this name."""
    for known in NAMES:
        if name == known:
            return known
    raise SettingsError(f"--dc: {quoted(name)}; allowed: {', '.join(NAMES)}")


def xn_of(arguments: argparse.Namespace, names: Sequence[str]) -> float:
    """Return the delay of Xn in ms; SettingsError: it is given, and none of the names has it."""
    if arguments.xn is None:
        return XN_MS
    if "deployable" not in names:
        raise SettingsError("--xn: only --dc deployable has an Xn")
    return float(arguments.xn)


def with_capture(scenario: Scenario, arguments: argparse.Namespace, clock: Clock) -> Scenario:
    """Return a scenario with the captures of `--pcap`; SettingsError: on the virtual clock."""
    if arguments.pcap and clock == "virtual":
        raise SettingsError(
            "--pcap: captures legs, which needs --clock real; hosts of the virtual clock: "
            "--set 'virtual.capture=[client, server]'"
        )
    capture = tuple(dict.fromkeys((*scenario.real.capture, *["legs"] * arguments.pcap)))
    real = scenario.real.model_copy(update={"capture": capture})
    return scenario.model_copy(update={"real": real})


def base_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the legs, what is transferred and what `--set` says, as fields of a scenario.

    Left out are the fields that the rows of a comparison have.

    Raises:
        SettingsError: an option's value is wrong, with the allowed ones.
    """
    plugins, workload = load_plugins(arguments.plugin), _workload(arguments)
    fields = {
        "plugins": plugins,
        "legs": leg_settings(arguments),
        "primary_leg": "nearest",
        "workload": {"kind": workload.kind, **workload.model_dump()},
        "congestion_control": arguments.congestion_control,
        "seed": arguments.seed,
    }
    values = assignments(arguments)
    return put(fields, {path: values[path] for path in values if not is_below(path, *OF_ROWS)})


def _workload(arguments: argparse.Namespace) -> Workload:
    """Return the workload of `NAME:key=value,key=value`; `--size` is that of a download."""
    kind, _, rest = arguments.workload.partition(":")
    given = [part.partition("=") for part in rest.split(",") if part]
    for key, equals, _ in given:
        if not equals:
            raise SettingsError(f"--workload: {key}; allowed: NAME:KEY=VALUE,KEY=VALUE,...")
    size = {} if arguments.size is None else {"size_mb": arguments.size}
    values = {key: value for key, _, value in given}
    try:
        return parse_workload({"kind": kind, **size, **values})
    except SettingsError as error:
        hint = "; write lists in a scenario file" if str(error).endswith("is no list") else ""
        raise SettingsError(f"--workload: {error}{hint}") from None
