"""Lines `pathAt_c2r_<id>:seconds,action`: when a client has a path on which link.

They become a scenario's path schedule. What happens at 0 s is the initial state: a path whose first
line opens it is not there before, all others are there from the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minitopo_dc.minitopo.lines import Line, fields, number, word
from minitopo_dc.minitopo.path_parameters import LONGEST_S, path_of_key
from minitopo_dc.settings import (
    ACTIONS,
    PathAction,
    PathChange,
    PathChangeError,
    PathSchedule,
    SettingsError,
)

PATH_AT = "pathAt_"


class PathLine(NamedTuple):
    """One change of a path, and the line that describes it."""

    line: Line
    path: int
    at_s: float
    action: PathAction

    @property
    def change(self) -> PathChange:
        """Return the change as a scenario has it; leg 1 is path 0."""
        return PathChange.check({"at_s": self.at_s, self.action: self.path + 1}, "pathAt")


class PathLines(NamedTuple):
    """The schedule of all lines, and the first one of them."""

    first: Line
    schedule: PathSchedule


def read_path_lines(lines: Sequence[Line], paths: int) -> PathLines | None:
    """Return the path schedule of a topology file; None if it has no such line.

    Args:
        lines: those that begin with `PATH_AT`, in the file's order.
        paths: how many `c2r` paths there are.

    Raises:
        ParameterError: names the line of the first mistake, and says what is allowed there.
    """
    if not lines:
        return None
    changes: dict[int, list[PathLine]] = {}
    for line in lines:
        change = _change(line, paths)
        before = changes.setdefault(change.path, [])
        if before and change.at_s <= before[-1].at_s:
            earlier = f"{before[-1].at_s:g} s, line {before[-1].line.number}"
            raise line.error(
                f"{change.at_s:g} s is not after this path's change before it ({earlier})"
            )
        before.append(change)
    return PathLines(lines[0], _schedule(lines[0], changes, paths))


def _change(line: Line, paths: int) -> PathLine:
    kind, path = path_of_key(line)
    if kind != "c2r":
        raise line.error("a client's paths are those of type c2r")
    if path >= paths:
        raise line.error(f"there is no path_c2r_{path}; allowed: pathAt_c2r_0 to {paths - 1}")
    seconds, action = fields(line, ("seconds", "action"), 2)
    at_s = number(line, seconds, "seconds", 0, LONGEST_S)
    word(line, action, "action", ACTIONS)
    return PathLine(line, path, at_s, next(each for each in ACTIONS if each == action))


def _schedule(first: Line, changes: Mapping[int, list[PathLine]], paths: int) -> PathSchedule:
    initial = _initial(changes, paths)
    if not initial:
        raise first.error("no path is there at 0 s; write 0,open for one of them")
    later = _in_order(changes)
    schedule = PathSchedule(
        initial=tuple(path + 1 for path in initial),
        schedule=tuple(each.change for each in later),
        each_carries=False,  # at any time a link may have next to no capacity
    )
    try:
        schedule.plan(paths)
    except PathChangeError as error:
        raise later[error.number].line.error(f"{error.reason} (leg 1 is path_c2r_0)") from None
    except SettingsError as error:
        raise first.error(str(error)) from None
    return schedule


def _initial(changes: Mapping[int, list[PathLine]], paths: int) -> list[int]:
    """Return the paths that are there at 0 s: first those opened by a line, in the file's order."""
    at_first = {path: (own[0].at_s, own[0].action) for path, own in changes.items()}
    opened = [path for path, first in at_first.items() if first == (0, "open")]
    kept = [
        path
        for path in range(paths)
        if path not in at_first
        or (at_first[path][1] != "open" and at_first[path] != (0, "abandon"))
    ]
    return [*opened, *kept]


def _in_order(changes: Mapping[int, list[PathLine]]) -> list[PathLine]:
    """Return the changes after the beginning by time; of equal times, openings come first."""
    happens = [
        each
        for own in changes.values()
        for each in own
        if each.at_s > 0 or each.action not in ("open", "abandon")
    ]
    return sorted(happens, key=lambda each: (each.at_s, each.action != "open", each.line.number))
