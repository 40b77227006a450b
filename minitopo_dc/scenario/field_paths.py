"""Fields of a scenario by dotted path: `pdcp.batch`, `legs.0.downlink.rate_mbps`.

A number is an index into a list, from 0, and `*` is every item of one. `legs.0.delay_ms` is of both
directions, but for an uplink that says otherwise. Below `options` and the other free mappings any
name is allowed: the runner checks it.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.scenario.leg import LegSettings
from minitopo_dc.scenario.radio import Leg, put_beside, tell_of_one_direction
from minitopo_dc.scenario.scenario import Scenario
from minitopo_dc.workloads import Workload, get_workload, workload_names

ALL = "*"
"""The part of a path that is every item of a list."""
MAX_DIGITS = 10
"""The most digits of an index: far more than any list is long."""


_LEG = r"(?:legs|real\.backhaul)\.[^.]+"
OF_LEG, OF_DIRECTION = re.compile(_LEG), re.compile(_LEG + r"\.(?:downlink|uplink)\.[^.]+")


class PathError(InputError):
    """A path that leads to no field; the message names what is allowed there."""


def check_path(path: str) -> None:
    """Refuse a path that no scenario has.

    Raises:
        PathError: names what is allowed where the path leaves the scenario.
    """
    kinds: list[Any] = [Scenario]
    passed: list[str] = []
    for part in path.split("."):
        following = [step for kind in kinds for step in _step(kind, part)]
        if not following:
            raise PathError(f"{path}: {_wrong(kinds, part, passed)}")
        passed.append(part)
        kinds = [bare for step in following for bare in _bare(step)]


def set_value(document: Any, path: str, value: Any) -> None:
    """Put `value` at `path` of a nested document, making the mappings on the way.

    Raises:
        PathError: an index is not in its list.
    """
    *way, last = path.split(".")
    in_direction = OF_DIRECTION.fullmatch(path)
    for leg in _places(document, way[:-1], path) if in_direction else ():
        tell_of_one_direction(way[-1], leg.keys() & {last})
    for place in _places(document, way, path):
        if isinstance(place, list):
            for index in _indices(place, last, path):
                place[index] = value
        elif last in Leg.BESIDE and OF_LEG.fullmatch(".".join(way)):
            put_beside(_mapping(place, path), last, value)
        else:
            _mapping(place, path)[last] = value


def _places(document: Any, way: list[str], path: str) -> list[Any]:
    """Return the mappings or lists in which the last part of a path is."""
    places = [document]
    for part in way:
        inner: list[Any] = []
        for place in places:
            if isinstance(place, list):
                inner += [place[index] for index in _indices(place, part, path)]
            else:
                fields = _mapping(place, path)
                if fields.get(part) is None:  # not given, or given as nothing
                    fields[part] = {}
                inner.append(fields[part])
        places = inner
    return places


def _mapping(place: Any, path: str) -> dict[str, Any]:
    if not isinstance(place, dict):
        raise PathError(f"{path}: leads into {place!r:.60}, which has no fields")
    return place


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < MAX_DIGITS


def _indices(items: list[Any], part: str, path: str) -> range:
    if part == ALL:
        return range(len(items))
    if not _is_index(part) or int(part) >= len(items):
        allowed = f"0 to {len(items) - 1} or {ALL}" if items else "none: the list is empty"
        raise PathError(f"{path}: {part} is no index here; allowed: {allowed}")
    return range(int(part), int(part) + 1)


def _bare(kind: Any) -> list[Any]:
    """Return a type without `Annotated`, or the parts of a union except None."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [bare for part in get_args(kind) for bare in _bare(part) if bare is not type(None)]
    return [kind]


def _step(kind: Any, part: str) -> list[Any]:
    """Return the types that `part` may lead to."""
    if kind is Workload:  # any of them; which one is for `kind` to say
        return (
            [str]
            if part == "kind"
            else [step for workload in _workloads() for step in _step(workload, part)]
        )
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = _fields_of(kind).get(part)
        return [field.annotation] if field else []
    if get_origin(kind) is tuple:
        return [get_args(kind)[0]] if part == ALL or _is_index(part) else []
    if get_origin(kind) is dict:
        return [get_args(kind)[1]] if part else []
    return [Any] if kind is Any and part else []


def _fields_of(kind: type[BaseModel]) -> Mapping[str, FieldInfo]:
    beside = {name: LegSettings.model_fields[name] for name in getattr(kind, "BESIDE", ())}
    return {**kind.model_fields, **beside}


def _workloads() -> list[type[Workload]]:
    return [get_workload(name) for name in workload_names()]


def _wrong(kinds: list[Any], part: str, passed: list[str]) -> str:
    if not passed and part in Scenario.MOVED:
        return f"write {Scenario.MOVED[part]}"
    if Workload in kinds:
        kinds = [*_workloads()]
    where = f"in {'.'.join(passed)}" if passed else "of a scenario"
    known = sorted(
        name
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in _fields_of(kind)
    )
    if known:
        hint = did_you_mean(part, known)
        return f"no field {part} {where}{hint and '; '}{hint}; allowed: {', '.join(known)}"
    if any(get_origin(kind) is tuple for kind in kinds):
        return f"{part} is no index {where}; allowed: 0, 1, ... or {ALL}"
    return f"{'.'.join(passed)} has no fields"
