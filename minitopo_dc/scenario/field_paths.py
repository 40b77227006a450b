"""Fields of a scenario by dotted path: `pdcp.batch`, `legs.0.downlink.rate_mbps`.

A number is an index into a list, from 0, and `*` is every item of one. `legs.0.delay_ms` is of both
directions, but for an uplink that says otherwise. Who checks the scenario finds unknown fields.
"""

from __future__ import annotations

import re
from typing import Any

from minitopo_dc.errors import InputError
from minitopo_dc.scenario.radio import Leg, put_beside, tell_of_one_direction

ALL = "*"
"""The part of a path that is every item of a list."""
MAX_DIGITS = 10
"""The most digits of an index: far more than any list is long."""


_LEG = r"(?:legs|real\.backhaul)\.[^.]+"
OF_LEG, OF_DIRECTION = re.compile(_LEG), re.compile(_LEG + r"\.(?:downlink|uplink)\.[^.]+")


class PathError(InputError):
    """A path that leads to no field; the message names what is allowed there."""


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


def _indices(items: list[Any], part: str, path: str) -> range:
    if part == ALL:
        return range(len(items))
    is_index = part.isascii() and part.isdigit() and len(part) < MAX_DIGITS
    if not is_index or int(part) >= len(items):
        allowed = f"0 to {len(items) - 1} or {ALL}" if items else "none: the list is empty"
        raise PathError(f"{path}: {part} is no index here; allowed: {allowed}")
    return range(int(part), int(part) + 1)
