"""A topology file: which paths there are, how they change, and the split bearer over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.fields import Direction, PathSchedule, SettingsError
from minitopo_dc.minitopo.lines import Line, ParameterFile, boolean, fields, number, whole, word
from minitopo_dc.minitopo.path_parameters import (
    LONGEST_S,
    PATH_AT,
    PATH_TYPES,
    PathParameters,
    PathType,
    netem_change,
    path_of_key,
    read_path,
    read_path_lines,
    with_jitter,
    with_outages,
    with_trace,
    with_uplink,
)
from minitopo_dc.scenario import LegDirection, Pdcp
from minitopo_dc.trace import TraceError

MAX_PACKETS = 1_000_000
MAX_SHARES = 250


def _ratio(line: Line) -> tuple[float, ...]:
    """Return the shares of a ratio; Minitopo's own reader takes a second colon for a mistake."""
    if ":" in line.value:
        raise line.error(f"write the shares with commas: {line.value.replace(':', ',')}")
    names = [f"share{index}" for index in range(1, line.value.count(",") + 2)][:MAX_SHARES]
    shares = fields(line, names, min(2, len(names)))
    return tuple(number(line, share, "share", 0, MAX_PACKETS) for share in shares)


def _t_reordering(line: Line) -> float | str:
    if line.value == "infinity":
        return line.value
    return number(line, line.value, "tReordering", 0, 1e6)


_FIELDS: dict[str, tuple[str, Callable[[Line], Any]]] = {
    "split": ("split", lambda line: line.value),
    "batch": ("batch", lambda line: whole(line, line.value, "batch", 1, MAX_PACKETS)),
    "ratio": ("ratio", _ratio),
    "snBits": ("sn_bits", lambda line: whole(line, line.value, "snBits", 0, 64)),
    "tReordering": ("t_reordering_ms", _t_reordering),
    "delivery": ("delivery", lambda line: line.value),
}
"""Each key with its field of Pdcp, and how its value is read."""
BEARER_KEYS = (*_FIELDS, "splitUplink")


def read_bearer(file: ParameterFile, legs: int, *, allowed: bool) -> tuple[dict[str, Any], bool]:
    """Return the fields of Pdcp and `split_uplink`, and whether all legs carry everything.

    Raises:
        SettingsError: a bad value, or a bearer's key where there is no bearer.
    """
    given = {key: line for key in BEARER_KEYS if (line := file.one(key)) is not None}
    for line in given.values():
        if not allowed:
            raise line.error("needs topoType:DualConnectivity")
    pdcp: dict[str, Any] = {}
    for key, (field, read) in _FIELDS.items():
        if key in given:
            pdcp[field] = read(given[key])
            _check(given[key], {field: pdcp[field]}, None)
    for line in (given.get("split"), given.get("batch"), given.get("ratio")):
        if line is not None:
            _check(line, pdcp, legs)
    duplicates = pdcp.get("split") == "duplicate"
    uplink = given.get("splitUplink")
    return {"pdcp": pdcp, "split_uplink": uplink is not None and boolean(uplink)}, duplicates


def _check(line: Line, pdcp: dict[str, Any], legs: int | None) -> None:
    try:
        settings = Pdcp.check(pdcp, "bearer")
        if legs is not None:
            settings.policy(legs)
    except (SettingsError, ValueError, TypeError) as error:
        raise line.error(str(error)) from None


DUAL_CONNECTIVITY = "DualConnectivity"
SEVERAL_CLIENTS = "MultiIfMultiClient"
TOPOLOGIES = ("MultiIf", SEVERAL_CLIENTS, DUAL_CONNECTIVITY)
SUBNETS = ("leftSubnet", "rightSubnet")
FREE_TEXT = "desc"
SWITCH = "changeNetem"
"""The key that says whether there are changes; without it Minitopo makes none, and here there may
be none."""
NAMES = ("topoType", *SUBNETS, SWITCH, "seed", FREE_TEXT, *BEARER_KEYS)
PATH, NETEM_AT = "path_", "netemAt_"
DETAILS: dict[str, Callable[[PathParameters, Line], PathParameters]] = {
    "trace_": with_trace,
    "jitter_": with_jitter,
    "uplink_": with_uplink,
    "outages_": with_outages,
}
MAX_PATHS = 120
"""The most paths of one type: both together must fit into an element's 255 leg numbers."""
_SUBNET = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.", re.ASCII)

PathKey = tuple[PathType, int]


@dataclass(frozen=True, slots=True)
class Topology:
    """The checked content of a topology file."""

    file: Path
    type: Line
    c2r: tuple[PathParameters, ...]
    r2s: tuple[PathParameters, ...]
    path_lines: tuple[Line, PathSchedule] | None
    """The first of its lines, and the schedule of a multipath transport's paths on `c2r` paths."""
    bearer: dict[str, Any]
    """The fields of Pdcp, and `split_uplink`; empty without Dual Connectivity."""
    duplicates: bool
    seed: int
    notes: tuple[str, ...]
    """Notes on lines that change nothing, each with file and line."""
    ignored: tuple[str, ...]
    """Notes on lines that change nothing on this project's hosts, but do in Minitopo."""

    @property
    def dual_connectivity(self) -> bool:
        """Return whether a bearer splits packets over the paths."""
        return self.type.value == DUAL_CONNECTIVITY


def read_topology(path: Path) -> Topology:
    """Read and check a topology file.

    Raises:
        SettingsError: names file and line of the first mistake, and says what is allowed there.
    """
    file = ParameterFile.read(path)
    # The type is read before the keys, as another topology has others.
    if (given := file.one("topoType")) is not None:
        word(given, given.value, "topology", TOPOLOGIES)
    file.check_keys(NAMES, (PATH, NETEM_AT, PATH_AT, *DETAILS))
    kind = file.needed("topoType", TOPOLOGIES)
    paths = _paths(file)
    _add_details(file, paths)
    _add_changes(file, paths)
    c2r, r2s = (_in_order(kind, name, paths.values()) for name in PATH_TYPES)
    for leg in (*c2r, *r2s):
        _check_leg(leg)
    if kind.value == SEVERAL_CLIENTS and r2s:
        raise r2s[0].line.error(f"{SEVERAL_CLIENTS} has no r2s paths; use topoType:MultiIf")
    bearer, duplicates = read_bearer(file, len(c2r), allowed=kind.value == DUAL_CONNECTIVITY)
    seed = file.whole("seed", 0, 2**31)
    opened = [line for line in file.lines if line.key.startswith(PATH_AT)]
    if opened and kind.value == DUAL_CONNECTIVITY:
        raise opened[0].error(f"{DUAL_CONNECTIVITY} has no paths to open; use topoType:MultiIf")
    return Topology(
        file=path,
        type=kind,
        c2r=c2r,
        r2s=r2s,
        path_lines=read_path_lines(opened, len(c2r)),
        bearer=bearer,
        duplicates=duplicates,
        seed=1 if seed is None else seed,
        notes=tuple(_notes(file)),
        ignored=tuple(_ignored(file, kind)),
    )


def _paths(file: ParameterFile) -> dict[PathKey, PathParameters]:
    paths: dict[PathKey, PathParameters] = {}
    for line in file.lines:
        if line.key.startswith(PATH):
            path = read_path(line)
            if (path.type, path.id) in paths:
                first = paths[path.type, path.id].line.number
                raise line.error(f"given twice, first in line {first}")
            paths[path.type, path.id] = path
    return paths


def _add_details(file: ParameterFile, paths: dict[PathKey, PathParameters]) -> None:
    for line in file.lines:
        for prefix, add in DETAILS.items():
            if line.key.startswith(prefix):
                file.one(line.key)
                key = _existing_path(line, paths)
                paths[key] = add(paths[key], line)


def _add_changes(file: ParameterFile, paths: dict[PathKey, PathParameters]) -> None:
    """Add `netemAt_<type>_<id>:seconds,command` to the paths, unless they are switched off."""
    lines = [line for line in file.lines if line.key.startswith(NETEM_AT)]
    switch = file.one(SWITCH)
    changing = switch is not None and boolean(switch)
    for line in lines:
        key = _existing_path(line, paths)
        if switch is None:
            raise line.error(f"netemAt needs {SWITCH}:yes, or nothing changes")
        change = _change(line)
        before = paths[key].changes
        if before and change["at_s"] <= before[-1]["at_s"]:
            raise line.error(
                f"{change['at_s']:g} s is not after this path's change before it "
                f"({before[-1]['at_s']:g} s)"
            )
        if "rate_mbps" in change and paths[key].trace:
            raise line.error("the path has a trace, which rules its rate")
        paths[key] = replace(paths[key], changes=(*before, change))
    if switch is not None and changing and not lines:
        raise switch.error("there is no netemAt_<type>_<id>:seconds,command")
    if not changing:
        paths.update({key: replace(path, changes=()) for key, path in paths.items()})


def _change(line: Line) -> dict[str, float]:
    seconds, comma, command = (part.strip() for part in line.value.partition(","))
    if not comma:
        raise line.error("write seconds,command, for instance 5,delay 30ms loss 1%")
    return {"at_s": number(line, seconds, "seconds", 0, LONGEST_S), **netem_change(line, command)}


def _existing_path(line: Line, paths: dict[PathKey, PathParameters]) -> PathKey:
    key = path_of_key(line)
    if key not in paths:
        known = ", ".join(f"{kind}_{number}" for kind, number in sorted(paths)) or "none"
        raise line.error(f"there is no path_{key[0]}_{key[1]}; paths: {known}")
    return key


def _in_order(
    kind: Line, name: PathType, paths: Iterable[PathParameters]
) -> tuple[PathParameters, ...]:
    """Return the paths of a type in order, whose ids have to be 0, 1, 2, ..."""
    own = sorted((path for path in paths if path.type == name), key=lambda path: path.id)
    for expected, path in enumerate(own):
        if path.id != expected:
            raise path.line.error(f"ids are 0, 1, 2, ...: path_{name}_{expected} is missing")
    if len(own) > MAX_PATHS:
        raise own[MAX_PATHS].line.error(f"at most {MAX_PATHS} paths of a type")
    least = 2 if kind.value == DUAL_CONNECTIVITY else 1
    if name == "c2r" and len(own) < least:
        raise kind.error(f"{kind.value} needs path_c2r_0{' and path_c2r_1' if least > 1 else ''}")
    return tuple(own)


def _check_leg(path: PathParameters) -> None:
    leg = path.leg()
    for direction in get_args(Direction):
        try:
            LegDirection.check(leg[direction], direction).capacity()
        except (SettingsError, TraceError, ValueError) as error:
            raise path.line.error(str(error)) from None


def _notes(file: ParameterFile) -> Iterable[str]:
    switch = file.one(SWITCH)
    if switch is not None and not boolean(switch):
        for line in file.lines:
            if line.key.startswith(NETEM_AT):
                yield line.says(f"ignored: {SWITCH}:{switch.value} in line {switch.number}")


def _ignored(file: ParameterFile, kind: Line) -> Iterable[str]:
    for line in filter(None, map(file.one, SUBNETS)):
        octets = _SUBNET.fullmatch(line.value)
        if not octets or any(int(octet) > 255 for octet in octets.groups()):
            raise line.error("write the first two octets and a dot, for instance 10.0.")
        yield line.says("ignored: the hosts' addresses are fixed (docs/minitopo-keys.md)")
    if kind.value == SEVERAL_CLIENTS:
        yield kind.says("the further clients send nothing here, and are left out")
