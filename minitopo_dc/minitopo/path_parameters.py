"""Paths of a topology file: `path_<type>_<id>` and the keys that say more about one.

A Minitopo path has one rate, one delay and one queue, and they hold in each of its directions: a
path of 10 ms has a round-trip time of 20 ms (of empty packets; Minitopo's shaper lets a lone packet
pass at once, a leg takes the time of its serialisation).

Lines `pathAt_c2r_<id>:seconds,action` say when a client has a path on which link. They become a
scenario's path schedule. What happens at 0 s is the initial state: a path whose first line opens it
is not there before, all others are there from the beginning. Lines `netemAt_<id>` change a link.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from minitopo_dc.fields import (
    ACTIONS,
    PathChange,
    PathChangeError,
    PathEvent,
    PathSchedule,
    SettingsError,
)
from minitopo_dc.minitopo.lines import Line, Reader, fields, number, whole, word
from minitopo_dc.numbers import is_plain
from minitopo_dc.scenario.change import LegChange

PACKET_BYTES = 1500
"""The size of a packet from which queue field and limit are computed. tbf counts the Ethernet
header too, 1 % more, in the limit and in the rate alike, so that the longest wait is the same as
here."""
MINITOPO_MEGABIT = 1024 * 1024
MIN_WAIT_MS = 1


def round_trip_packets(delay_ms: float, rate_mbps: float) -> int:
    """Return the packets that a round trip holds, the queue of a path without a queue field.

    Args:
        delay_ms: of one direction.
        rate_mbps: the path's bandwidth.
    """
    return math.ceil(rate_mbps * 125_000.0 * (2 * delay_ms / 1000.0) / PACKET_BYTES)


def held_packets(delay_ms: float, queue_packets: int, rate_mbps: float) -> int:
    """Return how many packets of 1,500 bytes wait at most, including the one that is being sent.

    Args:
        delay_ms: the delay of one direction.
        queue_packets: the queue field.
        rate_mbps: the path's bandwidth, not what a trace or a change makes of it.

    Returns:
        At least 1: a leg holds the packet that it sends.
    """
    wait_ms = int(queue_packets * PACKET_BYTES * 8 * 1000.0 / (rate_mbps * MINITOPO_MEGABIT))
    limit_bytes = (
        PACKET_BYTES * round_trip_packets(delay_ms, rate_mbps)
        + rate_mbps * 1000.0 * max(wait_ms, MIN_WAIT_MS) / 8
    )
    return max(1, int(limit_bytes / PACKET_BYTES))


PathType = Literal["c2r", "r2s"]
"""The types of paths: client to router, and router to server."""
PATH_TYPES: tuple[PathType, ...] = get_args(PathType)
# Limits far beyond what one machine carries; they catch a unit mistaken for another.
DELAY_MS = (0.0, 600_000.0)
RATE_MBPS = (0.001, 1_000_000.0)
QUEUE_PACKETS = (1, 100_000_000)
LONGEST_S = 1e6
LINK_FIELDS: Mapping[str, Reader] = {
    "delay_ms": number(*DELAY_MS),
    "queue_packets": whole(*QUEUE_PACKETS),
    "bandwidth_mbps": number(*RATE_MBPS),
    "loss_percent": number(0, 100),
}
WITHOUT_QUEUE = {name: LINK_FIELDS[name] for name in ("delay_ms", "bandwidth_mbps")}
_ID = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PathParameters:
    """One path, with all that its file says about it, as fields of a leg's directions."""

    line: Line
    type: PathType
    id: int
    link: Mapping[str, Any]
    backup: bool
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of both directions."""
    trace: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the downlink in place of its rate."""
    uplink: Mapping[str, Any] | None = None
    changes: tuple[LegChange, ...] = ()
    outages: tuple[tuple[float, float], ...] = ()

    def leg(self) -> dict[str, Any]:
        """Return the path as the fields of a scenario's leg."""
        downlink = {**self.link, **self.more, "changes": self.changes, **self.trace}
        if self.trace:
            del downlink["rate_mbps"]
        changes = {"changes": self.changes} if self.uplink is None else {}
        uplink = {**(self.uplink or self.link), **self.more, **changes}
        outages = {"outages": self.outages} if self.outages else {}
        return {"downlink": downlink, "uplink": uplink, **outages}


def path_of_key(line: Line) -> tuple[PathType, int]:
    """Return type and id of a path from the key `name_<type>_<id>`."""
    parts = line.key.split("_")
    name = parts[0]
    if len(parts) == 2 and _ID.fullmatch(parts[1]):
        raise line.error(f"no path type (an older Minitopo's); write {name}_c2r_{parts[1]}")
    if len(parts) != 3:
        raise line.error(f"write {name}_<type>_<id>, for instance {name}_c2r_0")
    kind = next((known for known in PATH_TYPES if known == parts[1]), None)
    if kind is None:
        raise line.error(f"unknown path type {parts[1]!r}; allowed: {', '.join(PATH_TYPES)}")
    if not _ID.fullmatch(parts[2]):
        raise line.error(f"the id {parts[2]!r} is not one of 0, 1, 2, ...")
    return kind, int(parts[2])


def read_path(line: Line) -> PathParameters:
    """Return the path of a line `delay,queue,bandwidth[,loss[,backup]]`, or `delay,bandwidth`."""
    kind, identifier = path_of_key(line)
    if line.value.count(",") == 1:  # without a queue: what a round trip holds, as in Minitopo
        given = fields(line, WITHOUT_QUEUE, 2)
    else:
        given = fields(line, {**LINK_FIELDS, "backup": whole(0, 1)}, 3)
    backup = bool(given.pop("backup", False))
    return PathParameters(line, kind, identifier, _link(**given), backup)


def _link(
    delay_ms: float,
    bandwidth_mbps: float,
    queue_packets: int | None = None,
    loss_percent: float = 0.0,
) -> dict[str, Any]:
    """Return the fields of LegDirection; as with netem, no jitter without its own key."""
    if queue_packets is None:
        queue_packets = round_trip_packets(delay_ms, bandwidth_mbps)
    return {
        "rate_mbps": bandwidth_mbps,
        "delay_ms": delay_ms,
        "jitter_ms": 0.0,
        "loss_percent": loss_percent,
        "queue_packets": held_packets(delay_ms, queue_packets, bandwidth_mbps),
    }


def uplink(line: Line) -> dict[str, Any]:
    """Return the uplink of `uplink_<type>_<id>:delay,queue,bandwidth[,loss]`, never changing."""
    return _link(**fields(line, LINK_FIELDS, 3))


def trace(line: Line) -> dict[str, Any]:
    """Return the downlink's capacity of `trace_<type>_<id>:FILE[,loop|hold|stop]`."""
    return fields(line, {"trace": _file, "end": word("loop", "hold", "stop")}, 1)


def _file(line: Line, text: str, _name: str) -> Path:
    """Return the absolute path of a file that is named relative to the parameter file."""
    if "\0" in text:
        raise line.error("a file name has no NUL character")
    path = (line.file.parent / text).resolve()
    try:
        is_file = path.is_file()
    except OSError as error:
        raise line.error(f"{path}: {error.strerror}") from None
    if not is_file:
        raise line.error(f"no file {path}")
    return path


def jitter(line: Line) -> dict[str, Any]:
    """Return the jitter of both directions of `jitter_<type>_<id>:ms[,normal|uniform]`."""
    readers = {"jitter_ms": number(*DELAY_MS), "jitter": word("normal", "uniform")}
    return fields(line, readers, 1)


def outages(line: Line) -> tuple[tuple[float, float], ...]:
    """Return when both directions are down, of `outages_<type>_<id>:from-to[,from-to...]` (s)."""
    moments: list[float] = []
    for part in (part.strip() for part in line.value.split(",")):
        begin, dash, end = part.partition("-")
        if not (begin and dash and end):
            raise line.error(f"{part!r} is no outage; write from-to[,from-to...], in s: 0-2,4-6")
        moments += [number(0, LONGEST_S)(line, text, "") for text in (begin, end)]
    if any(later <= earlier for earlier, later in pairwise(moments)):
        raise line.error("each time must be after the one before it, as in 0-2,4-6")
    return tuple(zip(moments[::2], moments[1::2], strict=True))


PATH_AT = "pathAt_"
_AT_BEGIN = ("open", "abandon")
"""Actions that say, at 0 s, whether a path is there at the beginning."""


PathLine = tuple[Line, PathEvent]
"""One change of a path, whose leg is numbered from 1, and the line that describes it."""


def read_path_lines(lines: Sequence[Line], paths: int) -> tuple[Line, PathSchedule] | None:
    """Return the first line of a topology file's path schedule, and the schedule; None: no line.

    Args:
        lines: those that begin with `PATH_AT`, in the file's order.
        paths: how many `c2r` paths there are.

    Raises:
        SettingsError: names the line of the first mistake, and says what is allowed there.
    """
    if not lines:
        return None
    changes = [_change(line, paths) for line in lines]
    first: dict[int, PathEvent] = {}
    latest: dict[int, PathEvent] = {}
    for line, event in changes:
        if event.leg in latest:
            check_later(line, event.at_s, latest[event.leg].at_s)
        first.setdefault(event.leg, event)
        latest[event.leg] = event
    at_begin = [event for _, event in changes if event.at_s == 0 and event.action in _AT_BEGIN]
    # Of changes at the same time, openings come first.
    later = [change for change in changes if change[1] not in at_begin]
    later.sort(key=lambda change: (change[1].at_s, change[1].action != "open"))
    # At 0 s there are the paths opened then, in the file's order, and those without such a line.
    opened = [event.leg for event in at_begin if event.action == "open"]
    absent = [leg for leg, own in first.items() if own in at_begin or own.action == "open"]
    initial = [*opened, *(leg for leg in range(1, paths + 1) if leg not in absent)]
    return lines[0], _schedule(lines[0], initial, later, paths)


def check_later(line: Line, at_s: float, before_s: float) -> None:
    """Refuse the line of a change that does not come after its path's change before it (s)."""
    if at_s <= before_s:
        words = "is not after this path's change before it"
        raise line.error(f"{at_s:g} s {words} ({before_s:g} s)")


def _change(line: Line, paths: int) -> PathLine:
    kind, path = path_of_key(line)
    if kind != "c2r":
        raise line.error("a client's paths are those of type c2r")
    if path >= paths:
        raise line.error(f"there is no path_c2r_{path}; allowed: pathAt_c2r_0 to {paths - 1}")
    readers = {"seconds": number(0, LONGEST_S), "action": word(*ACTIONS)}
    at_s, action = fields(line, readers, 2).values()
    return line, PathEvent(at_s, action, path + 1)


def _schedule(
    line: Line, initial: Sequence[int], later: Sequence[PathLine], paths: int
) -> PathSchedule:
    if not initial:
        raise line.error("no path is there at 0 s; write 0,open for one of them")
    changes = ({"at_s": event.at_s, event.action: event.leg} for _, event in later)
    schedule = PathSchedule(
        initial=tuple(initial),
        schedule=tuple(PathChange.check(change, "pathAt") for change in changes),
        each_carries=False,  # at any time a link may have next to no capacity
    )
    try:
        schedule.plan(paths)
    except PathChangeError as error:
        raise later[error.number][0].error(f"{error.reason} (leg 1 is path_c2r_0)") from None
    except SettingsError as error:
        raise line.error(str(error)) from None
    return schedule


NETEM = {"delay": ("delay_ms", "jitter_ms"), "loss": ("loss_percent",), "rate": ("rate_mbps",)}
"""What a leg has of tc-netem(8), each with the fields of a LegChange that its values are. A value
may have a unit of tc(8); a bare time has changed its meaning between versions of tc, so that it
needs one here, and "bps" are bytes per second there."""
UNLIKE = {"limit": "it counts packets on the way too; a path's queue keeps its own size"}
"""Words that Minitopo's own files use, and why they have no counterpart."""


def netem_change(line: Line) -> LegChange:
    """Return the change of `netemAt_<type>_<id>:seconds,command`, a netem command (tc-netem(8)).

    That is `delay TIME [JITTER]`, `loss [random] PERCENT`, `rate RATE`, in any order, each at most
    once. A change keeps what it does not name. (Minitopo hands the command to `tc qdisc change`,
    which resets it, and so loses the delay.)

    Raises:
        SettingsError: a word that a leg does not have, or a bad value.
    """
    seconds, comma, command = (part.strip() for part in line.value.partition(","))
    if not comma:
        raise line.error("write seconds,command, for instance 5,delay 30ms loss 1%")
    change = {"at_s": number(0, LONGEST_S)(line, seconds, "seconds ")}
    words = command.replace("loss random", "loss").split()
    if not words:
        raise line.error("no command; write seconds,delay 30ms 2ms loss 1% rate 5mbit")
    while words:
        change |= _netem_values(line, words, change.keys())
    try:
        return LegChange.check(change, "netem")
    except SettingsError as error:
        raise line.error(str(error).replace("\n", "; ")) from None


def _netem_values(line: Line, words: list[str], known: Collection[str]) -> dict[str, str]:
    """Take a property and its values from the front of a command, as fields of a LegChange."""
    name = words.pop(0)
    if name not in NETEM:
        why = f" ({UNLIKE[name]})" if name in UNLIKE else ""
        raise line.error(f"netem's {name!r} is none of a leg's{why}; allowed: {', '.join(NETEM)}")
    if NETEM[name][0] in known:
        raise line.error(f"{name} is given twice")
    values: dict[str, str] = {}
    for field_name in NETEM[name]:
        if not words or (values and not words[0][0].isdigit()):
            break
        values[field_name] = words.pop(0).lower().replace("bps", "byte/s")
        if name != "loss" and is_plain(values[field_name]):
            raise line.error(f"{name} {values[field_name]!r} needs a unit, as 30ms or 5mbit")
    if not values:
        raise line.error(f"{name} has no value")
    return values
