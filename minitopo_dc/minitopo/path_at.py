"""Lines `pathAt_c2r_<id>:seconds,action`: when a client has a path on which link.

They become a scenario's path schedule. What happens at 0 s is the initial state: a path whose first
line opens it is not there before, all others are there from the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from minitopo_dc.fields import (
    ACTIONS,
    PathAction,
    PathChange,
    PathChangeError,
    PathSchedule,
    SettingsError,
)
from minitopo_dc.minitopo.lines import Line, fields, number, word
from minitopo_dc.minitopo.path_parameters import LONGEST_S, path_of_key

PATH_AT = "pathAt_"


class PathLine(NamedTuple):
    """One change of a path, and the line that describes it."""

    line: Line
    path: int
    at_s: float
    action: PathAction

    @property
    def is_initial(self) -> bool:
        """Return whether it says that a path is there, or is not, at the beginning."""
        return self.at_s == 0 and self.action in ("open", "abandon")


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
    first: dict[int, PathLine] = {}
    latest: dict[int, PathLine] = {}
    changes = []
    for line in lines:
        change = _change(line, paths)
        before = latest.get(change.path)
        if before and change.at_s <= before.at_s:
            earlier = f"{before.at_s:g} s, line {before.line.number}"
            raise line.error(
                f"{change.at_s:g} s is not after this path's change before it ({earlier})"
            )
        first.setdefault(change.path, change)
        latest[change.path] = change
        changes.append(change)
    later = [change for change in changes if not change.is_initial]
    # Of changes at the same time, openings come first.
    later.sort(key=lambda change: (change.at_s, change.action != "open", change.line.number))
    return PathLines(lines[0], _schedule(lines[0], _initial(first, paths), later, paths))


def _change(line: Line, paths: int) -> PathLine:
    kind, path = path_of_key(line)
    if kind != "c2r":
        raise line.error("a client's paths are those of type c2r")
    if path >= paths:
        raise line.error(f"there is no path_c2r_{path}; allowed: pathAt_c2r_0 to {paths - 1}")
    seconds, action = fields(line, ("seconds", "action"), 2)
    at_s = number(line, seconds, "seconds", 0, LONGEST_S)
    word(line, action, "action", ACTIONS)
    return PathLine(line, path, at_s, cast(PathAction, action))


def _initial(first: Mapping[int, PathLine], paths: int) -> list[int]:
    """Return the paths that are there at 0 s: first those opened by a line, in the file's order."""
    opened = [path for path, own in first.items() if own.is_initial and own.action == "open"]
    absent = [path for path, own in first.items() if own.is_initial or own.action == "open"]
    return [*opened, *(path for path in range(paths) if path not in absent)]


def _schedule(
    line: Line, initial: Sequence[int], later: Sequence[PathLine], paths: int
) -> PathSchedule:
    if not initial:
        raise line.error("no path is there at 0 s; write 0,open for one of them")
    changes = ({"at_s": change.at_s, change.action: change.path + 1} for change in later)
    schedule = PathSchedule(
        initial=tuple(path + 1 for path in initial),
        schedule=tuple(PathChange.check(change, "pathAt") for change in changes),
        each_carries=False,  # at any time a link may have next to no capacity
    )
    try:
        schedule.plan(paths)
    except PathChangeError as error:
        raise later[error.number].line.error(f"{error.reason} (leg 1 is path_c2r_0)") from None
    except SettingsError as error:
        raise line.error(str(error)) from None
    return schedule
