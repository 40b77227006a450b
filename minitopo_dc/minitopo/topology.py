"""A topology file: which paths there are, how they change, and the split bearer over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.fields import Direction, PathSchedule, SettingsError
from minitopo_dc.minitopo import path_parameters
from minitopo_dc.minitopo.lines import Line, ParameterFile, Reader, boolean, plain, whole, word
from minitopo_dc.minitopo.path_parameters import (
    PATH_AT,
    PATH_TYPES,
    PathParameters,
    PathType,
    check_later,
    netem_change,
    path_of_key,
    read_path,
    read_path_lines,
)
from minitopo_dc.scenario import LegDirection, Pdcp
from minitopo_dc.trace import TraceError


def _ratio(line: Line, text: str, _name: str) -> tuple[str, ...]:
    """Return the shares of a ratio; Minitopo's own reader takes a second colon for a mistake."""
    if ":" in text:
        raise line.error(f"write the shares with commas: {text.replace(':', ',')}")
    return tuple(share.strip() for share in text.split(","))


BEARER: dict[str, tuple[str, Reader]] = {
    "split": ("split", plain),
    "batch": ("batch", plain),
    "ratio": ("ratio", _ratio),
    "snBits": ("sn_bits", whole(0, 64)),
    "tReordering": ("t_reordering_ms", plain),
    "delivery": ("delivery", plain),
}
"""Each key of a bearer with its field of Pdcp, which checks what is read."""
SPLIT_UPLINK = "splitUplink"


def _pdcp(file: ParameterFile, values: dict[str, Any], legs: int) -> dict[str, Any]:
    """Return the fields of Pdcp; SettingsError names the line that has a bad one."""
    given = [
        (line, BEARER[line.key][0], values[line.key]) for line in file.lines if line.key in BEARER
    ]
    for line, name, value in given:
        _check(line, {name: value}, None)
    pdcp = {name: value for _, name, value in given}
    for line, name, _ in given:
        if name in ("split", "batch", "ratio"):
            _check(line, pdcp, legs)
    return pdcp


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
PATH, NETEM_AT = "path_", "netemAt_"
DETAILS: dict[str, tuple[str, Callable[[Line], Any]]] = {
    "trace_": ("trace", path_parameters.trace),
    "jitter_": ("more", path_parameters.jitter),
    "uplink_": ("uplink", path_parameters.uplink),
    "outages_": ("outages", path_parameters.outages),
}
"""How keys begin that say more of a path, each with its field of PathParameters and its reader."""
MAX_PATHS = 120
"""The most paths of one type: both together must fit into an element's 255 leg numbers."""
_SUBNET = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.", re.ASCII)


def _subnet(line: Line, text: str, _name: str) -> str:
    octets = _SUBNET.fullmatch(text)
    if not octets or any(int(octet) > 255 for octet in octets.groups()):
        raise line.error("write the first two octets and a dot, for instance 10.0.")
    return text


READERS: dict[str, Reader] = {
    "topoType": word(*TOPOLOGIES),
    **dict.fromkeys(SUBNETS, _subnet),
    SWITCH: boolean,
    "seed": whole(0, 2**31),
    FREE_TEXT: plain,
    **{key: read for key, (_, read) in BEARER.items()},
    SPLIT_UPLINK: boolean,
}
"""What reads the value of each key that has one."""
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
    """The fields of Pdcp, and `split_uplink`; their defaults without Dual Connectivity."""
    seed: int
    notes: tuple[str, ...]
    """Notes on lines that change nothing, each with file and line."""
    ignored: tuple[str, ...]
    """Notes on lines that change nothing on this project's hosts, but do in Minitopo."""

    @property
    def duplicates(self) -> bool:
        """Return whether all legs carry everything."""
        return bool(self.bearer["pdcp"].get("split") == "duplicate")

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
    if (kind := file.one("topoType")) is not None:
        word(*TOPOLOGIES)(kind, kind.value, "topology ")
    values = file.values(READERS, (PATH, NETEM_AT, PATH_AT, *DETAILS), "topoType", TOPOLOGIES)
    assert kind is not None  # `values` needs it
    has_bearer = kind.value == DUAL_CONNECTIVITY
    for line in file.lines:
        if line.key in (*BEARER, SPLIT_UPLINK) and not has_bearer:
            raise line.error(f"needs topoType:{DUAL_CONNECTIVITY}")
    paths = _paths(file)
    _add_details(file, paths)
    _add_changes(file, paths, switch=values.get(SWITCH))
    c2r, r2s = (_in_order(kind, name, paths.values()) for name in PATH_TYPES)
    for leg in (*c2r, *r2s):
        _check_leg(leg)
    if kind.value == SEVERAL_CLIENTS and r2s:
        raise r2s[0].line.error(f"{SEVERAL_CLIENTS} has no r2s paths; use topoType:MultiIf")
    pdcp = _pdcp(file, values, len(c2r))
    opened = file.all(PATH_AT)
    if opened and has_bearer:
        raise opened[0].error(f"{DUAL_CONNECTIVITY} has no paths to open; use topoType:MultiIf")
    return Topology(
        file=path,
        type=kind,
        c2r=c2r,
        r2s=r2s,
        path_lines=read_path_lines(opened, len(c2r)),
        bearer={"pdcp": pdcp, "split_uplink": values.get(SPLIT_UPLINK, False)},
        seed=values.get("seed", 1),
        notes=tuple(_notes(file, switch=values.get(SWITCH))),
        ignored=tuple(_ignored(file, kind)),
    )


def _paths(file: ParameterFile) -> dict[PathKey, PathParameters]:
    paths: dict[PathKey, PathParameters] = {}
    for line in file.all(PATH):
        path = read_path(line)
        if (path.type, path.id) in paths:
            first = paths[path.type, path.id].line.number
            raise line.error(f"given twice, first in line {first}")
        paths[path.type, path.id] = path
    return paths


def _add_details(file: ParameterFile, paths: dict[PathKey, PathParameters]) -> None:
    for line in file.all(*DETAILS):
        name, read = DETAILS[line.key.partition("_")[0] + "_"]
        file.one(line.key)
        key = _existing_path(line, paths)
        paths[key] = replace(paths[key], **{name: read(line)})


def _add_changes(
    file: ParameterFile, paths: dict[PathKey, PathParameters], *, switch: bool | None
) -> None:
    """Add `netemAt_<type>_<id>:seconds,command` to the paths, unless they are switched off."""
    lines = file.all(NETEM_AT)
    for line in lines:
        key = _existing_path(line, paths)
        if switch is None:
            raise line.error(f"netemAt needs {SWITCH}:yes, or nothing changes")
        change, before = netem_change(line), paths[key].changes
        if before:
            check_later(line, change.at_s, before[-1].at_s)
        if change.rate_mbps is not None and paths[key].trace:
            raise line.error("the path has a trace, which rules its rate")
        paths[key] = replace(paths[key], changes=(*before, change))
    if switch and not lines:
        raise file.all(SWITCH)[0].error("there is no netemAt_<type>_<id>:seconds,command")
    if not switch:
        paths.update({key: replace(path, changes=()) for key, path in paths.items()})


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


def _notes(file: ParameterFile, *, switch: bool | None) -> Iterable[str]:
    off = file.all(SWITCH) if not switch else []
    for line in file.all(NETEM_AT) if off else ():
        yield line.says(f"ignored: {SWITCH}:{off[0].value} in line {off[0].number}")


def _ignored(file: ParameterFile, kind: Line) -> Iterable[str]:
    for line in file.all(*SUBNETS):
        yield line.says("ignored: the hosts' addresses are fixed (docs/minitopo-keys.md)")
    if kind.value == SEVERAL_CLIENTS:
        yield kind.says("the further clients send nothing here, and are left out")
