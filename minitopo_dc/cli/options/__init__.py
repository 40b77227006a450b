"""How the options are read from the texts of `cli.commands`, and how their values are.

This module imports nothing that takes time: `--help` and a wrong option are answered at once.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitopo_dc.installation import shipped
from minitopo_dc.numbers import QUANTITIES, in_field_unit, real, whole

if TYPE_CHECKING:
    from minitopo_dc.scenario import Mode
    from minitopo_dc.scenario.presets import DualConnectivity

MODES: tuple[Mode, ...] = ("sc", "dc", "dc-duplicate", "atsss", "multipath")
COMPARED: tuple[DualConnectivity, ...] = ("papers", "deployable")
"""The Dual Connectivities of a comparison: what was measured, and what can be deployed."""
SPLIT = "batch"
"""The split policy of Dual Connectivity unless another one is named: the papers'."""
CONTROL = "cubic"
SEEDS, REAL_SEEDS = 5, 3
"""Repetitions of a comparison; on the real clock, where each takes as long as its transfer."""
CHOSEN = ("transport", "mode", "leg", "clock")
"""Fields that the rows of a comparison differ in, by options of their own."""
BEARER = ("pdcp", "split_uplink", "uplink_pdcp")
OF_ROWS = (*BEARER, "options", "paths")
"""Fields that the rows of a comparison have each for itself: some fit some rows only."""
OF_COMMAND = {
    "advise": (*CHOSEN, *OF_ROWS),
    **dict.fromkeys(("compare", "explore"), (*CHOSEN, "pdcp.split")),
    **dict.fromkeys(
        ("exec", "shell"), (*CHOSEN, "workload", "congestion_control", "options", "paths")
    ),
}
"""Fields that a command chooses itself, so that its `--set` refuses them and those below."""
DEFAULT_LEGS = tuple(str(shipped("traces") / f"lte_{name}.csv") for name in "ab")
BOTH = dict(delay="delay_ms", jitter="jitter_ms", loss="loss_percent", queue="queue_packets")  # noqa: C408
"""Options of both directions of a leg, and their fields."""


def quantity(name: str) -> Callable[[str], float]:
    """Return the function that converts an option's number to this unit (`ms`, `mb`, ...)."""

    def read(text: str) -> float:
        try:
            return in_field_unit(text, QUANTITIES[name])
        except ValueError as error:
            from minitopo_dc.fields.base import quoted  # noqa: PLC0415 (pydantic takes a second)

            raise argparse.ArgumentTypeError(f"{quoted(text)} is {error}") from None

    return read


PATHS = ("CELLS", "DIR", "FILE", "OUTPUT", "PATH", "PNG", "SCENARIO.yaml", "TOPO", "XP")
TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(PATHS, Path),
    **{name.upper(): quantity(name) for name in ("s", "ms", "mb", "mbps", "percent")},
    **{**dict.fromkeys(("N", "PORT", "4|6"), whole), "NUMBER": real},
}
"""What values are, by the words that stand for them; others are text, which may have a unit."""
VALUE = re.compile(r"(?P<may>\[)?(?P<name>.+?)(?P<times>\.\.\.|[*!])?(?(may)\])")


def add_options(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the options of a text, whose other lines are left out.

    An option is a line that begins with two spaces, and goes on in lines that begin with more:

        --time S = 60  what it is, two spaces behind its names, its value and its default
        name [FILE]    a word without a name on the command line, which may be left out

    `DIR...` is one value or more, `N*` an option that is repeated, `N!` one that is required,
    `real|virtual` one of these words. Of lines that begin with `|` one may be given. A line in
    brackets is the title of those below.
    """
    group: argparse._ActionsContainer = parser
    either = None
    for line in re.sub(r"\n {4,}", " ", text).splitlines():
        if line.startswith("["):
            group = parser.add_argument_group(line[1:-1])
        elif line.startswith("| "):
            either = either or group.add_mutually_exclusive_group()
            _add(either, line[1:])
        elif line.startswith("  "):
            _add(group, line)


def _add(group: argparse._ActionsContainer, line: str) -> None:
    spec, _, words = line.strip().partition("  ")
    words = words.replace("%", "%%")
    spec, _, default = spec.partition(" = ")
    *names, value = spec.split()
    if not names or (known := VALUE.fullmatch(value)) is None or value.startswith("-"):
        group.add_argument(*names, value, action="store_true", help=words)
        return
    name, times = known["name"], known["times"]
    what: dict[str, Any] = {"type": TYPES.get(name, str), "metavar": name}
    if "|" in name and name == name.lower():
        what |= {"choices": [*map(what["type"], name.split("|"))], "metavar": None}
    if times == "..." or known["may"]:
        what["nargs"] = ("*" if known["may"] else "+") if times else "?"
    elif times == "*":
        what |= {"action": "append", "default": []}
    elif times:
        what["required"] = True
    if default:
        values = tuple(map(what["type"], default.split(",")))
        what["default"] = values if times else values[0]
        of = f"default: {default.replace(',', ' ')}"
        words = f"{words[:-1]}; {of})" if words.endswith(")") else f"{words} ({of})"
    group.add_argument(*names, help=words, **what)


def listed(values: Sequence[str]) -> list[str]:
    """Return the values one by one, whether they were given as `A B` or as `A,B`."""
    return [part for value in values for part in value.split(",") if part]


MAX_REPETITIONS = 10_000
"""The most repetitions of a comparison, which lists them all; a campaign may have more."""
REPETITIONS = f"1 to {MAX_REPETITIONS}"


def check_repetitions(number: int) -> None:
    """Refuse a number of repetitions that makes no comparison: a SettingsError."""
    if not 1 <= number <= MAX_REPETITIONS:
        from minitopo_dc.fields import SettingsError  # noqa: PLC0415 (pydantic takes a second)

        raise SettingsError(f"--repetitions: {number}; allowed: {REPETITIONS}")
