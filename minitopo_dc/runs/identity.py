"""The identity of a run: of its scenario, and of the files that this names.

A field that has its default is left out, so that a field which a later version adds changes no
identity.
"""

from __future__ import annotations

import hashlib
import json
from typing import get_args

from minitopo_dc.fields.base import SettingsError, quoted
from minitopo_dc.fields.ranges import Direction
from minitopo_dc.results.kept_scenario import cached_digest
from minitopo_dc.scenario.scenario import Scenario

ID_DIGITS = 16
"""Hexadecimal digits of SHA-256: two of 10^6 runs agree with probability 3e-8."""


def run_id(scenario: Scenario) -> str:
    """Return the digest of a scenario; traces and files of plugins count by their content.

    What only the other clock has does not count. Versions are in each run's `environment.json`,
    not in its identity.

    Raises:
        SettingsError: a trace or a plugin's file cannot be read.
    """
    scenario = scenario.of_its_clock()
    document = scenario.model_dump(mode="json", exclude_defaults=True)
    for where, links in (
        ("legs", document["legs"]),
        ("real.backhaul", document.get("real", {}).get("backhaul", ())),
    ):
        for number, leg in enumerate(links):
            for name in get_args(Direction):
                for field in {"trace", "delay_trace"} & leg.get(name, {}).keys():
                    place = f"{where}.{number}.{name}.{field}"
                    leg[name][field] = _content(place, leg[name][field])
    for number, cell in enumerate(document.get("cells", ())):
        for index, users in enumerate(cell.get("background", ())):
            if "trace" in users:
                place = f"cells.{number}.background.{index}.trace"
                users["trace"] = _content(place, users["trace"])
    plugins = document.get("plugins", [])
    plugins[:] = [_content("plugins", it) if it.endswith(".py") else it for it in plugins]
    text = json.dumps(document, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def _content(place: str, path: str) -> str:
    """Return what a file counts as; SettingsError names the place where it cannot be read."""
    try:
        return cached_digest(path)
    except OSError as error:
        raise SettingsError(f"{place}: {quoted(path)}: {error.strerror}") from None
