"""The option of `advise` for outages of legs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.settings import SettingsError

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


def with_outages(legs: Sequence[Mapping[str, Any]], words: Sequence[str]) -> list[dict[str, Any]]:
    """Return legs as fields of a scenario, with the outages of `--outage` added to their own.

    Raises:
        SettingsError: a value has another form, or names no leg.
    """
    made = [dict(leg) for leg in legs]
    for leg, outage in _outages(words):
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
