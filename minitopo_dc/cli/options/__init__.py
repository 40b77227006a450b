"""Options that several commands share, each declared once, numbers with units, and rights.

A command that reads results as root becomes their owner. What somebody else has made is then read
and written with no more rights than theirs, whatever it contains, and whatever becomes of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from pwd import getpwuid
from typing import Any, get_args

import pydantic

from minitopo_dc.cli.screen import MATPLOTLIB, give_matplotlib_a_place
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.numbers import QUANTITIES, in_field_unit, quantity_of, whole
from minitopo_dc.runs.perform import MAX_DISTURBED, Retries
from minitopo_dc.scenario import Clock, Pdcp
from minitopo_dc.scenario.presets import NAMES, XN_MS
from minitopo_dc.workloads import Download, workload_names

SPLIT = Pdcp().split
"""The split policy of Dual Connectivity unless another one is named: the papers'."""


def quantity(name: str) -> Callable[[str], float]:
    """Return the function that converts an option's number to this unit (`ms`, `mb`, ...)."""

    def read(text: str) -> float:
        try:
            return in_field_unit(text, QUANTITIES[name])
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is {error}") from None

    return read


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


def listed(values: Sequence[str]) -> list[str]:
    """Return the values one by one, whether they were given as `A B` or as `A,B`."""
    return [part for value in values for part in value.split(",") if part]


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add options of `_declared` by their names.

    Args:
        parser: gets them.
        names: of the options.
        changes: what is different from the declaration, as argparse names it.
    """
    for name in names:
        parser.add_argument(*name.split(), **_declared()[name] | changes)


def add_output(
    parser: argparse._ActionsContainer, command: str, condition: str = "must not exist"
) -> None:
    """Add the option for where `new_directory` puts a command's results, and what may be there."""
    default = f"default: results/{command}-TIME"
    add(parser, "--output", help=f"results directory; {condition} ({default})")


@cache
def _declared() -> dict[str, dict[str, Any]]:
    return {
        "--clock": {
            "choices": get_args(Clock),
            "help": "real: Linux kernels in real time, needs root; virtual: discrete events "
            "(default: real where this machine can run it)",
        },
        "--plugin": {
            "dest": "plugins",
            "action": "append",
            "default": [],
            "metavar": "MODULE",
            "help": "Python module or file.py with your runners, workloads or split policies; "
            "repeatable",
        },
        "--jobs": {
            "type": whole,
            "metavar": "N",
            "help": "runs at the same time (default: one a processor, on the real clock 1)",
        },
        "--retry-disturbed": {
            "type": whole,
            "default": Retries.disturbed,
            "metavar": "N",
            "help": "repeat a run that the machine disturbed at most N times (docs/trust.md; "
            f"allowed: 0 to {MAX_DISTURBED}; default: {Retries.disturbed})",
        },
        "--output": {"type": Path, "metavar": "DIR"},
        "--json": {"action": "store_true", "help": "print JSON instead of tables"},
        "--pcap": {
            "dest": "capture",
            "action": "store_const",
            "const": ("legs",),
            "default": (),
            "help": "capture each leg with PDCP headers; real clock only (docs/element.md)",
        },
        "--seed": {
            "type": whole,
            "default": 1,
            "help": "of losses and jitter; those of a row: SEED, SEED + 1, ... (default: 1)",
        },
        "--dc": {
            "nargs": 1,
            "metavar": "NAME",
            "help": f"Dual Connectivity: {', '.join(NAMES)} (docs/split-policies.md)",
        },
        "--xn": {
            "type": quantity("ms"),
            "metavar": "MS",
            "help": f"one-way delay of Xn, of the deployable one (default: {XN_MS:g})",
        },
        "--split": {
            "nargs": 1,
            "default": (SPLIT,),
            "metavar": "POLICY",
            "help": f"split policy (docs/split-policies.md; default: {SPLIT})",
        },
        "--size": {
            "type": quantity("mb"),
            "metavar": "MB",
            "help": f"size of a download in 10^6 bytes (default: {Download().size_mb:g})",
        },
        "--workload": {
            "default": Download.kind,
            "metavar": "NAME[:KEY=VALUE,...]",
            "help": f"of {', '.join(workload_names())} (docs/workloads.md; default: download)",
        },
        "--congestion-control": {
            "default": CONGESTION_CONTROL,
            "metavar": "NAME",
            "help": f"that of the transports (docs/runners.md; default: {CONGESTION_CONTROL})",
        },
        "--set": {
            "dest": "assignments",
            "action": "append",
            "default": [],
            "metavar": "FIELD=VALUE",
            "help": "any other field of a scenario: legs.1.downlink.loss_percent=0.1 (legs count "
            "from 0, * is all), pdcp.t_reordering_ms=40, ip_version=6; repeatable "
            "(docs/scenarios.md)",
        },
        # Minitopo's two files have the names that they have on its own command line.
        "-t --topo_param_file": {
            "dest": "topology",
            "type": Path,
            "metavar": "TOPO",
            "help": "Minitopo's topology file (docs/minitopo.md)",
        },
        "-x --experiment_param_file": {
            "dest": "experiment",
            "type": Path,
            "metavar": "XP",
            "help": "Minitopo's experiment file (docs/minitopo.md); without it Mininet's command "
            "line opens",
        },
    }


NOBODY = 65_534
"""The group of an owner that this machine does not know, where a directory's group is root's."""
ROOT_VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", MATPLOTLIB)
"""Environment variables that name directories of the user who began the command."""


def drop_privileges(directories: Sequence[Path]) -> None:
    """Become, as root, the owner of directories for the rest of this process, and print a line.

    The process takes the owner's groups, and cannot go back. Nothing happens where the owner is
    root, or when another user than root asks.

    Args:
        directories: the directories; those that exist must have one owner.

    Raises:
        SettingsError: they have several owners, or nobody can become this one.
    """
    if os.geteuid() != 0:
        return
    places = {directory: directory.stat() for directory in directories if directory.is_dir()}
    owners = {facts.st_uid for facts in places.values()}
    if len(owners) > 1:
        words = ", ".join(f"{path} ({_name(facts.st_uid)}'s)" for path, facts in places.items())
        raise SettingsError(f"several owners: {words}; give directories of one, or not as root")
    if owners <= {0}:
        return
    directory, facts = next(iter(places.items()))
    name = _name(facts.st_uid)
    try:
        _set_user(facts.st_uid, facts.st_gid)
    except OSError as error:
        raise SettingsError(f"{directory}: cannot be read as {name}: {error.strerror}") from None
    if not all(os.access(path, os.R_OK) for path in (__file__, pydantic.__file__)):
        raise SettingsError(f"{directory} is {name}'s, who cannot read this program ({__file__})")
    words = f"{directory} is {name}'s: read and written as {name}, not as root"
    print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _set_user(uid: int, group: int) -> None:
    """Change the groups, then the user: who is no longer root cannot give up groups."""
    try:
        entry = getpwuid(uid)
    except KeyError:
        os.setgroups([])
        os.setgid(group or NOBODY)
        home = "/"
    else:
        os.initgroups(entry.pw_name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        home = entry.pw_dir
    os.setuid(uid)
    os.environ["HOME"] = home
    for name in ROOT_VARIABLES:
        os.environ.pop(name, None)
    give_matplotlib_a_place()
