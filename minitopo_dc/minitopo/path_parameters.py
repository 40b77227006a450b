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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast, get_args

from minitopo_dc.fields import (
    ACTIONS,
    PathAction,
    PathChange,
    PathChangeError,
    PathSchedule,
    SettingsError,
)
from minitopo_dc.minitopo.lines import Line, fields, file, number, whole, word

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
LINK_FIELDS = ("delay_ms", "queue_packets", "bandwidth_mbps", "loss_percent")
_ID = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a path, as its line gives it."""

    delay_ms: float
    queue_packets: int
    """The queue field of the file."""
    rate_mbps: float
    loss_percent: float = 0.0

    def fields(self) -> dict[str, Any]:
        """Return the fields of LegDirection; as with netem, no jitter without its own key."""
        return {
            "rate_mbps": self.rate_mbps,
            "delay_ms": self.delay_ms,
            "jitter_ms": 0.0,
            "loss_percent": self.loss_percent,
            "queue_packets": held_packets(self.delay_ms, self.queue_packets, self.rate_mbps),
        }


@dataclass(frozen=True, slots=True)
class PathParameters:
    """One path, with all that its file says about it."""

    line: Line
    type: PathType
    id: int
    link: Link
    backup: bool
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of both directions."""
    trace: dict[str, Any] = field(default_factory=dict)
    """Fields of the downlink in place of its rate."""
    uplink: Link | None = None
    changes: tuple[dict[str, float], ...] = ()
    outages: tuple[tuple[float, float], ...] = ()

    def leg(self) -> dict[str, Any]:
        """Return the path as the fields of a scenario's leg."""
        changes = {"changes": list(self.changes)}
        downlink = {**self.link.fields(), **self.more, **changes}
        if self.trace:
            del downlink["rate_mbps"]
        uplink = {**(self.uplink or self.link).fields(), **self.more}
        if self.uplink is None:
            uplink |= changes
        outages = {"outages": list(self.outages)} if self.outages else {}
        return {"downlink": {**downlink, **self.trace}, "uplink": uplink, **outages}


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
        parts = fields(line, ("delay_ms", "bandwidth_mbps"), 2)
        delay_ms = number(line, parts[0], "delay_ms", *DELAY_MS)
        rate_mbps = number(line, parts[1], "bandwidth_mbps", *RATE_MBPS)
        link = Link(delay_ms, round_trip_packets(delay_ms, rate_mbps), rate_mbps)
    else:
        parts = fields(line, (*LINK_FIELDS, "backup"), 3)
        link = _link(line, parts[:4])
    backup = len(parts) == 5 and whole(line, parts[4], "backup", 0, 1) == 1
    return PathParameters(line, kind, identifier, link, backup)


def _link(line: Line, parts: Sequence[str]) -> Link:
    return Link(
        delay_ms=number(line, parts[0], "delay_ms", *DELAY_MS),
        queue_packets=whole(line, parts[1], "queue_packets", *QUEUE_PACKETS),
        rate_mbps=number(line, parts[2], "bandwidth_mbps", *RATE_MBPS),
        loss_percent=number(line, parts[3], "loss_percent", 0, 100) if len(parts) > 3 else 0.0,
    )


def with_trace(path: PathParameters, line: Line) -> PathParameters:
    """Add `trace_<type>_<id>:FILE[,loop|hold|stop]`: the downlink's capacity over time."""
    name, *end = fields(line, ("file", "end"), 1)
    rule = word(line, end[0], "end", ("loop", "hold", "stop")) if end else "loop"
    trace = file(line, name)
    try:
        is_file = trace.is_file()
    except OSError as error:
        raise line.error(f"{trace}: {error.strerror}") from None
    if not is_file:
        raise line.error(f"no file {trace}")
    return replace(path, trace={"trace": trace, "end": rule})


def with_jitter(path: PathParameters, line: Line) -> PathParameters:
    """Add `jitter_<type>_<id>:ms[,normal|uniform]`, in both directions."""
    spread, *kind = fields(line, ("jitter_ms", "distribution"), 1)
    jitter_ms = number(line, spread, "jitter_ms", *DELAY_MS)
    distribution = word(line, kind[0], "distribution", ("normal", "uniform")) if kind else "normal"
    return replace(path, more={"jitter_ms": jitter_ms, "jitter": distribution})


def with_uplink(path: PathParameters, line: Line) -> PathParameters:
    """Add `uplink_<type>_<id>:delay,queue,bandwidth[,loss]`: an uplink that never changes."""
    return replace(path, uplink=_link(line, fields(line, LINK_FIELDS, 3)))


def with_outages(path: PathParameters, line: Line) -> PathParameters:
    """Add `outages_<type>_<id>:from-to[,from-to...]` (s): the path is down in both directions."""
    outages: list[tuple[float, float]] = []
    for part in (part.strip() for part in line.value.split(",")):
        begin, dash, end = part.partition("-")
        if not (begin and dash and end):
            raise line.error(f"{part!r} is no outage; write from-to[,from-to...], in s: 0-2,4-6")
        outages.append(
            (number(line, begin, "from", 0, LONGEST_S), number(line, end, "to", 0, LONGEST_S))
        )
    moments = [moment for outage in outages for moment in outage]
    if any(later <= earlier for earlier, later in pairwise(moments)):
        raise line.error("each time must be after the one before it, as in 0-2,4-6")
    return replace(path, outages=tuple(outages))


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
    # At 0 s there are the paths opened then, in the file's order, and those without such a line.
    opened = [path for path, own in first.items() if own.is_initial and own.action == "open"]
    absent = [path for path, own in first.items() if own.is_initial or own.action == "open"]
    initial = [*opened, *(path for path in range(paths) if path not in absent)]
    return lines[0], _schedule(lines[0], initial, later, paths)


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


MS = {
    **{"s": 1e3, "sec": 1e3, "secs": 1e3},
    **{"ms": 1.0, "msec": 1.0, "msecs": 1.0},
    **{"us": 1e-3, "usec": 1e-3, "usecs": 1e-3},
}
"""The units of time in ms. tc-netem(8) takes the units of tc(8): TIME and RATE. A bare time has
changed its meaning between versions of tc, so that it needs a unit here."""
MBPS = {
    **{"bit": 1e-6, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3},
    **{"bps": 8e-6, "kbps": 8e-3, "mbps": 8.0, "gbps": 8e3},
}
"""The units of rate in Mbit/s. In tc(8) "bps" is bytes per second."""
_QUANTITY = re.compile(r"([0-9.]+)([A-Za-z%]*)", re.ASCII)

Change = dict[str, float]
"""The fields of a LegChange."""


def netem_change(line: Line, command: str) -> Change:
    """Return the fields of a LegChange that a netem command (tc-netem(8)) names.

    That is `delay TIME [JITTER]`, `loss [random] PERCENT`, `rate RATE`, in any order, each at most
    once. A change keeps what it does not name. (Minitopo hands the command to `tc qdisc change`,
    which resets it, and so loses the delay.)

    Raises:
        SettingsError: a word that a leg does not have, or a bad value.
    """
    words = command.split()
    change: Change = {}
    while words:
        name = words.pop(0)
        if name not in _READERS:
            why = f" ({_UNLIKE[name]})" if name in _UNLIKE else ""
            allowed = ", ".join(_READERS)
            raise line.error(f"netem's {name!r} is none of a leg's{why}; allowed: {allowed}")
        named = _READERS[name](line, words)
        if change.keys() & named.keys():
            raise line.error(f"{name} is given twice")
        change |= named
    if not change:
        raise line.error("no command; write seconds,delay 30ms 2ms loss 1% rate 5mbit")
    return change


def _delay(line: Line, words: list[str]) -> Change:
    change = {"delay_ms": _quantity(line, words, "delay", MS, DELAY_MS)}
    if words and _QUANTITY.fullmatch(words[0]):
        change["jitter_ms"] = _quantity(line, words, "jitter", MS, DELAY_MS)
    return change


def _loss(line: Line, words: list[str]) -> Change:
    if words and words[0] == "random":
        words.pop(0)
    if not words:
        raise line.error("loss has no value")
    return {"loss_percent": number(line, words.pop(0).removesuffix("%"), "loss", 0, 100)}


_READERS: dict[str, Callable[[Line, list[str]], Change]] = {
    "delay": _delay,
    "loss": _loss,
    "rate": lambda line, words: {"rate_mbps": _quantity(line, words, "rate", MBPS, RATE_MBPS)},
}
_UNLIKE = {"limit": "it counts packets on the way too; a path's queue keeps its own size"}
"""Words that Minitopo's own files use, and why they have no counterpart."""


def _quantity(
    line: Line,
    words: list[str],
    name: str,
    units: dict[str, float],
    limits: tuple[float, float],
) -> float:
    if not words:
        raise line.error(f"{name} has no value")
    text = words.pop(0)
    match = _QUANTITY.fullmatch(text)
    if not match or match[2].lower() not in units:
        raise line.error(f"{name} {text!r} needs a number and a unit of {', '.join(units)}")
    scale = units[match[2].lower()]
    least, most = (limit / scale for limit in limits)
    return round(number(line, match[1], name, least, most) * scale, 9)
