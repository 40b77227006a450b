"""Options for outages of legs and for path schedules."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.settings import PathSchedule, SettingsError, parse_path_words
from minitopo_dc.settings.path_schedule import ACTIONS


def add_paths_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for when the paths of mode `multipath` are opened, abandoned and ranked."""
    parser.add_argument(
        "--paths",
        nargs="+",
        metavar=("LEGS", "SECONDS:ACTION:LEG"),
        help="path schedule of mode multipath: the legs that have a path at the start (1,2), then "
        f"changes (2.5:open:2) with the actions {', '.join(ACTIONS)} (default: a path on each leg "
        "for the whole run)",
    )


def path_schedule(arguments: argparse.Namespace) -> PathSchedule | None:
    """Return the path schedule of `--paths`, or None.

    Raises:
        SettingsError: a word is wrong; the message says what is allowed.
    """
    return None if arguments.paths is None else parse_path_words(arguments.paths, "--paths")


OUTAGE = re.compile(r"(\d+):(\d+(?:\.\d*)?)-(\d+(?:\.\d*)?)", re.ASCII)


def add_outage_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for when legs are down in both directions."""
    parser.add_argument(
        "--outage",
        dest="outages",
        action="append",
        default=[],
        metavar="LEG:FROM-TO",
        help="period in s in which a leg is down in both directions (1:3-5.5); repeatable",
    )


def with_outages(
    legs: Sequence[Mapping[str, Any]], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return legs as fields of a scenario, with the outages of `--outage` added to their own.

    Raises:
        SettingsError: a value has another form, or names no leg.
    """
    made = [dict(leg) for leg in legs]
    for leg, outage in _outages(arguments.outages):
        if not 1 <= leg <= len(made):
            raise SettingsError(f"--outage: leg {leg} does not exist; allowed: 1 to {len(made)}")
        made[leg - 1]["outages"] = sorted([*made[leg - 1].get("outages", ()), outage])
    return made


def _outages(words: Sequence[str]) -> Iterator[tuple[int, tuple[float, float]]]:
    for word in words:
        found = OUTAGE.fullmatch(word)
        if found is None:
            raise SettingsError(f"--outage: {word!r}; write LEG:FROM-TO, times in s, e.g. 1:3-5.5")
        yield int(found[1]), (float(found[2]), float(found[3]))
