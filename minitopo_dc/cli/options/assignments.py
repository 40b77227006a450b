"""`--set FIELD=VALUE`: any field of a scenario by its dotted path."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.field_paths import PathError, check_path, set_value
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import SettingsWarning
from minitopo_dc.settings.yaml_text import parse_yaml

WORDS = ("on", "off", "yes", "no")
"""What YAML 1.2 has as words and YAML 1.1 as true or false: `pdcp.delivery=off`."""
BEARER = ("pdcp", "uplink_pdcp")
OF_ROWS = (*BEARER, "options", "paths")
"""Fields that the rows of a comparison have each for itself: some fit some rows only."""


def add(parser: argparse._ActionsContainer, chosen: Iterable[str] = ()) -> None:
    """Add the option.

    Args:
        parser: gets it.
        chosen: fields, and with each those below it, that the command chooses by itself.
    """
    parser.add_argument(
        "--set",
        dest="assignments",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="any other field of a scenario: legs.1.downlink.loss_percent=0.1 (legs count from 0, "
        "* is all), pdcp.t_reordering_ms=40, ip_version=6; repeatable (docs/scenarios.md)",
    )
    parser.set_defaults(chosen_fields=tuple(chosen))


def assignments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values by their fields, in the order of the command line.

    Raises:
        SettingsError: one has another form, no scenario has the field, or the command chooses it.
    """
    values: dict[str, Any] = {}
    for words in arguments.assignments:
        path, _, value = words.partition("=")
        if not (path and value) or path in values:
            raise SettingsError(f"--set {words}: allowed: FIELD=VALUE, each field once")
        _check(path, arguments.chosen_fields)
        try:
            values[path] = value if value in WORDS else parse_yaml(value)
        except yaml.YAMLError:
            raise SettingsError(f"--set {words}: the value is not YAML") from None
    return values


def _check(path: str, chosen: Iterable[str]) -> None:
    try:
        check_path(path)
    except PathError as error:
        raise SettingsError(f"--set {error}") from None
    if any(is_below(path, field) for field in chosen):
        raise SettingsError(f"--set {path}: the command chooses it; `--help` lists its options")


def is_below(path: str, *fields: str) -> bool:
    """Return whether a path is one of the fields, or leads into one."""
    return any(path == field or path.startswith(f"{field}.") for field in fields)


def put(document: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Put values at their paths of a scenario's fields, and return these.

    Raises:
        SettingsError: an index is not in its list.
    """
    with warnings.catch_warnings():
        # Who writes `legs.*.uplink` means one direction.
        warnings.simplefilter("ignore", SettingsWarning)
        for path, value in values.items():
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
