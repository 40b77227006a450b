"""The scenario that a command's options describe, and `--set FIELD=VALUE` for any field of it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from minitopo_dc.cli.options import add
from minitopo_dc.cli.options.legs import leg_settings
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import SettingsWarning, quoted
from minitopo_dc.fields.yaml_text import parse_yaml
from minitopo_dc.registry import load_plugins
from minitopo_dc.scenario import Clock, Mode, Scenario
from minitopo_dc.scenario.field_paths import PathError, set_value
from minitopo_dc.scenario.presets import NAMES, XN_MS, DualConnectivity
from minitopo_dc.workloads import Workload, parse_workload

MODES: tuple[Mode, ...] = ("sc", "dc", "dc-duplicate", "atsss", "multipath")
WORDS = ("on", "off", "yes", "no")
"""What YAML 1.2 has as words and YAML 1.1 as true or false: `pdcp.delivery=off`."""
BEARER = ("pdcp", "split_uplink", "uplink_pdcp")
OF_ROWS = (*BEARER, "options", "paths")
"""Fields that the rows of a comparison have each for itself: some fit some rows only."""
CHOSEN = ("transport", "mode", "leg", "clock")
"""Fields that the rows of a comparison differ in, by options of their own."""


def add_set(parser: argparse._ActionsContainer, chosen: Iterable[str] = ()) -> None:
    """Add `--set`, which refuses the fields, and those below, that the command chooses itself."""
    add(parser, "--set")
    parser.set_defaults(chosen_fields=tuple(chosen))


def add_load(group: argparse._ArgumentGroup, chosen: Sequence[str]) -> None:
    """Add what is transferred, whoever does it, and `--set` without the fields that are chosen."""
    add(group, "--size", "--workload", "--congestion-control", "--seed")
    add_set(group, chosen)


def assignments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `--set` by their fields, in the order of the command line.

    Raises:
        SettingsError: one has another form, or the command chooses the field.
    """
    values: dict[str, Any] = {}
    for words in arguments.assignments:
        path, _, value = words.partition("=")
        if not (path and value) or path in values:
            raise SettingsError(f"--set {words}: allowed: FIELD=VALUE, each field once")
        try:
            values[path] = value if value in WORDS else parse_yaml(value)
        except yaml.YAMLError:
            raise SettingsError(f"--set {words}: the value is not YAML") from None
        if is_below(path, *arguments.chosen_fields):
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
    with warnings.catch_warnings():
        # Who writes `legs.*.uplink` means one direction.
        warnings.simplefilter("ignore", SettingsWarning)
        for path, value in values.items():
            if fields and not is_below(path, *fields):
                continue
            try:
                set_value(document, path, value)
            except PathError as error:
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


def check_capture(arguments: argparse.Namespace, clock: Clock | None) -> None:
    """Refuse `--pcap` on the virtual clock, with a SettingsError."""
    if arguments.capture and clock == "virtual":
        raise SettingsError(
            "--pcap: captures legs, which needs --clock real; hosts of the virtual clock: "
            "--set 'virtual.capture=[client, server]'"
        )


def with_capture(scenario: Scenario, arguments: argparse.Namespace) -> Scenario:
    """Return a scenario that is captured as well if `--pcap` is given."""
    capture = tuple(dict.fromkeys((*scenario.real.capture, *arguments.capture)))
    real = scenario.real.model_copy(update={"capture": capture})
    return scenario.model_copy(update={"real": real})


def base_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the legs, what is transferred and what `--set` says, as fields of a scenario.

    Left out are the fields that the rows of a comparison have.

    Raises:
        SettingsError: an option's value is wrong, with the allowed ones.
    """
    plugins, workload = load_plugins(arguments.plugins), _workload(arguments)
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
