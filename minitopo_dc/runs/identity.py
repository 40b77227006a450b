"""The identity of a run, which does not change when a default changes.

A field that has its default is left out, so that a field which a later version adds changes no
identity. Where a default has changed, it is the first one that is left out: a run that a directory
has keeps its identity, and no run has that of another. What a run gives depends on the files that
its scenario names, too. A congestion control that has another name now counts by its first one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from minitopo_dc.data_model import CONTROL, FIRST_CONTROLS, renamed_controls
from minitopo_dc.fields.base import SettingsError, quoted
from minitopo_dc.fields.ranges import Direction
from minitopo_dc.results.kept_scenario import cached_digest
from minitopo_dc.runners.base import get_runner, runner_names
from minitopo_dc.scenario.leg import LegSettings
from minitopo_dc.scenario.scenario import Scenario

ID_DIGITS = 16
"""Hexadecimal digits of SHA-256: two of 10^6 runs agree with probability 3e-8."""
FIRST_CONGESTION_CONTROL = "reno"
FIRST_UPLINK = LegSettings(rate_mbps=20, delay_ms=10, queue_packets=10_000)
BUFFER = "receive_buffer_bytes"
"""An option of several runners whose first default was None, the system's own."""


def run_id(scenario: Scenario) -> str:
    """Return the digest of a scenario; traces and files of plugins count by their content.

    What only the other clock has does not count. Versions are in each run's `environment.json`,
    not in its identity.

    Raises:
        InputError: a trace or a plugin's file cannot be read, or a transport does not exist.
    """
    scenario = scenario.of_its_clock()
    document = scenario.model_dump(mode="json", exclude_defaults=True)
    document = renamed_controls({**document, CONTROL: scenario.congestion_control}, FIRST_CONTROLS)
    _first_defaults(scenario, document)
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


def _first_defaults(scenario: Scenario, document: dict[str, Any]) -> None:
    """Leave out fields with the first version's defaults, and write out their other values."""
    _put(document, CONTROL, document[CONTROL], left_out=FIRST_CONGESTION_CONTROL)
    links = (*scenario.legs, *scenario.real.backhaul)
    written = (*document["legs"], *document.get("real", {}).get("backhaul", ()))
    for link, leg in zip(links, written, strict=True):
        if link.uplink == FIRST_UPLINK:
            leg.pop("uplink", None)
        else:
            leg["uplink"] = link.uplink.model_dump(mode="json", exclude_defaults=True)
    for place, transport, options in _options(scenario, document):
        if transport not in runner_names():
            known = ", ".join(runner_names())
            raise SettingsError(f"transport: {quoted(transport)}; allowed: {known}")
        field = get_runner(transport).options_type.model_fields.get(BUFFER)
        if field is not None:
            given = place.setdefault("options", {})
            _put(given, BUFFER, options.get(BUFFER, field.default), left_out=None)
            if not given:
                place.pop("options")


def _options(
    scenario: Scenario, document: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], str, Mapping[str, Any]]]:
    """Yield each place of options with its transport; flows that share the scenario's have none."""
    if not scenario.flows:
        yield document, scenario.transport, scenario.options
        return
    shares = False
    for flow, place in zip(scenario.flows, document["flows"], strict=True):
        transport = flow.transport or scenario.transport
        if flow.options is None and transport == scenario.transport:
            shares = True
        else:
            yield place, transport, flow.options or {}
    if shares:
        yield document, scenario.transport, scenario.options


def _put(place: dict[str, Any], name: str, value: Any, *, left_out: Any) -> None:
    if value == left_out:
        place.pop(name, None)
    else:
        place[name] = value
