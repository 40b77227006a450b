"""A comparison is a campaign whose cases are ways: their names, and whose runs a directory has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.store import FACTS, load
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.results.kept_scenario import load_recorded, run_id
from minitopo_dc.results.measures.row_pairs import KINDS
from minitopo_dc.results.tables.runs import MODES, flat
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario

LABEL = "way"
"""The label of a comparison's cases."""
MAX_LISTED = 5
"""The most differences that a message lists; with more it is another comparison."""
PROTOCOLS = {"tcp": "TCP", "mptcp": "MPTCP", "quic": "QUIC", "mpquic": "MP-QUIC"}
"""What transports are, by the beginnings of their names."""
TELLING = {"pdcp.split": "{}", "pdcp.t_reordering_ms": "t-Reordering {} ms"}
"""The fields that tell ways of a kind apart before all others, each with its words."""


def scenario_of_row(base: Scenario, row: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a row: the fields in which it differs from `base`, and all others.

    Raises:
        SettingsError: the two do not fit together.
    """
    return Scenario.check({**base.model_dump(), **row}, "compare")


def ways_of(scenarios: Sequence[Scenario]) -> dict[str, Scenario]:
    """Return scenarios by the names of their ways, one leg first and multipath last.

    A name says the kind, the Dual Connectivity's name or what sets it apart from others, and, where
    several transports have that kind, which: `leg 1`, `DC (deployable, Xn 5 ms)`, `DC (papers',
    TCP)`, `MP-QUIC`.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    groups: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in sorted(scenarios, key=lambda scenario: MODES.index(scenario.mode)):
        alike = groups.setdefault((_kind(scenario), scenario.transport), [])
        alike += [scenario] * (scenario not in alike)
    ways = {}
    for (kind, transport), alike in groups.items():
        shown = _transport(transport, [name for other, name in groups if other == kind])
        for variant, scenario in zip(_variants(alike), alike, strict=True):
            words = ", ".join(filter(None, (variant, shown)))
            ways[f"{kind} ({words})" if words else kind] = scenario
    return ways


def _kind(scenario: Scenario) -> str:
    by = _protocol(scenario.transport)
    match scenario.mode:
        case "sc" if get_runner(scenario.transport).every_leg:
            return "each leg alone"
        case "sc":
            return f"leg {scenario.leg}"
        case "multipath":
            return by
        case "atsss":
            return f"ATSSS by {by}" if by.startswith("MP") else "ATSSS-LL"
        case "dc-duplicate":
            return "DC with duplicates"
    return KINDS.get(scenario.mode, scenario.mode)


def _protocol(transport: str) -> str:
    return PROTOCOLS.get(transport.partition("-")[0], transport)


def _transport(name: str, names: Sequence[str]) -> str:
    """Return which of several transports it is; empty: there is no other."""
    if len(names) < 2:
        return ""
    known = {other: _protocol(other) for other in names}
    return known[name] if len(set(known.values())) == len(names) else name


def _variants(alike: Sequence[Scenario]) -> list[str]:
    """Return what sets each of some scenarios of one kind and transport apart from the others."""
    names = [scenario.dc_name for scenario in alike]
    if all(names) and len(set(names)) == len(names):
        return names
    fields = list(map(scenario_fields, alike))
    return [_difference(mine, fields) for mine in fields]


def _difference(mine: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> str:
    """Return in words the fields in which a scenario differs from others."""
    differ = [key for key in mine if len({str(fields.get(key)) for fields in alike}) > 1]
    telling = [key for key in TELLING if key in differ]
    if sum(all(fields.get(key) == mine[key] for key in telling) for fields in alike) > 1:
        telling = differ
    words = []
    for key in telling:
        value = f"{mine[key]:g}" if isinstance(mine[key], float) else str(mine[key])
        words.append(TELLING.get(key, f"{key} {{}}").format(value))
    return ", ".join(words)


def check_resumed(directory: Path, ways: Mapping[str, Scenario]) -> None:
    """Refuse a directory that has runs of other ways, as a comparison has one scenario for each.

    Raises:
        SettingsError: it has some; the message lists the fields that differ.
        InputError: its files are damaged, or of another version of the data model.
    """
    if not (directory / FACTS).exists():
        return
    differences = list(dict.fromkeys(_differences(directory, ways)))
    if differences:
        more = "; ..." if len(differences) > MAX_LISTED else ""
        listed = "; ".join(differences[:MAX_LISTED]) + more
        raise SettingsError(
            f"{quoted(directory)}: holds a comparison with other options: {listed}; "
            "give a new directory"
        )


def _differences(directory: Path, ways: Mapping[str, Scenario]) -> Iterator[str]:
    runs = load(directory)
    if runs.attrs["labels"] != [LABEL]:
        yield f"labels {', '.join(runs.attrs['labels'])}, here {LABEL}"
        return
    for way, run, seed in runs[runs["status"] != "missing"][[LABEL, "run", "seed"]].to_numpy():
        if way not in ways:
            yield f"{way}, which is not here"
            continue
        scenario = ways[way].model_copy(update={"seed": int(seed)})
        if Path(run).name != run_id(scenario):
            fields = differing_fields(load_recorded(directory / run), scenario)
            fields.pop("plugins", None)  # which are not read
            yield from (f"{name} {old}, here {new}" for name, (old, new) in fields.items())
            if not fields:
                yield "a trace or a plugin has changed since its runs"


def differing_fields(first: Scenario, second: Scenario) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two scenarios differ, with both values, by their paths."""
    old, new = map(scenario_fields, (first, second))
    pairs = {path: (old.get(path), new.get(path)) for path in (*old, *new)}
    return {path: values for path, values in pairs.items() if values[0] != values[1]}


def scenario_fields(scenario: Scenario) -> dict[str, Any]:
    """Return the values of a scenario's fields by their dotted paths."""
    return dict(flat(scenario.model_dump(mode="json")))
