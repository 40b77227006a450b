"""Path schedules: which legs a multipath transport has a path on, and when that changes.

The terms are those of draft-ietf-quic-multipath: a path is opened, abandoned (PATH_ABANDON), and
has the status backup or available. MPTCP (RFC 8684) has the same: MP_JOIN opens a subflow, removing
its address closes it, MP_PRIO makes it a backup or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import model_validator

from minitopo_dc.fields.base import LeftOut, Settings, SettingsError
from minitopo_dc.fields.ranges import Milliseconds, Moment, Number, within

PathAction = Literal["open", "abandon", "backup", "available"]
PathStatus = Literal["available", "backup"]
"""The status of an open path. A backup carries data only where no open path is available."""
ACTIONS: tuple[PathAction, ...] = get_args(PathAction)
Kilobytes = Annotated[float, *within(0, 1_000_000, "kB")]
Period = tuple[float, float]
"""Begin and end, in s since time zero of the legs; infinite: to the end."""


class PathChange(Settings):
    """A change of the path on a leg at a moment: one of four actions, with the leg's number."""

    at_s: Moment
    """The time in s since time zero of the legs, as that of traces, outages and changes."""
    open: Number | None = None
    abandon: Number | None = None
    backup: Number | None = None
    available: Number | None = None

    @model_validator(mode="after")
    def _check_single_change(self) -> Self:
        if len(self._named()) != 1:
            raise ValueError(f"give exactly one of {', '.join(ACTIONS)}, with a leg's number")
        return self

    @property
    def event(self) -> PathEvent:
        """Return the change as a `PathEvent`, which names its action."""
        ((action, leg),) = self._named()
        return PathEvent(self.at_s, action, leg)

    def _named(self) -> list[tuple[PathAction, int]]:
        return [(action, getattr(self, action)) for action in ACTIONS if getattr(self, action)]


class PathSchedule(Settings):
    """The paths that a multipath flow has at first, and how they change."""

    initial: tuple[Number, ...] | None = None
    """The legs that have a path at first; on the first of them the connection begins. None: all
    legs of the scenario, `primary_leg` first, as without a schedule."""
    schedule: tuple[PathChange, ...] = ()
    """The changes in the order of their times; of equal times the list's order holds."""
    each_carries: LeftOut[bool] = True
    """Whether a run fails in which a path that was there for 1 s carried no data; else only one
    that was worth using may not (`minitopo_dc.results.judge`), as a handover rule needs it."""
    attempt_delay_ms: LeftOut[Milliseconds | None] = None
    """After how long without a connection the client also tries the next leg of `initial`; it keeps
    the first connection that is ready. RFC 8305, section 5, recommends 250 ms. None: it tries the
    first leg only, as connections do without such a rule."""
    others_after_kb: LeftOut[Kilobytes] = 0.0
    """What the client has received before it opens the paths on the other legs of `initial`, so
    that short transfers have one. 0: it opens them at once, as picoquic and MPTCP do."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.initial is not None and not self.initial:
            raise ValueError("initial: name at least one leg")
        if self.initial is not None and len(set(self.initial)) != len(self.initial):
            raise ValueError(f"initial: {_listed(self.initial)}; name each leg once")
        for earlier, later in pairwise(self.schedule):
            if later.at_s < earlier.at_s:
                raise ValueError(
                    f"schedule: at_s {later.at_s:g} must not be before {earlier.at_s:g}"
                )
        return self

    def plan(self, legs: int, primary: int = 1) -> PathPlan:
        """Return the schedule after checking it for a scenario.

        Args:
            legs: how many it has.
            primary: the number of the leg on which a connection begins, if nothing is said here.

        Raises:
            SettingsError: a leg does not exist.
            PathChangeError: a change does not fit the paths that are then open.
        """
        initial = primary_first(legs, primary) if self.initial is None else self.initial
        for leg in initial:
            _check_leg("initial", leg, legs)
        status: dict[int, PathStatus] = dict.fromkeys(initial, "available")
        events = tuple(change.event for change in self.schedule)
        for number, event in enumerate(events):
            _check_leg(f"schedule.{number}.{event.action}", event.leg, legs)
            if (reason := _event_error(event, status)) is not None:
                raise PathChangeError(number, event, reason)
            _apply(event, status)
        delay_s = None if self.attempt_delay_ms is None else self.attempt_delay_ms / 1e3
        after = round(self.others_after_kb * 1e3)
        return PathPlan(initial, events, self.each_carries, delay_s, after)


class PathEvent(NamedTuple):
    """One change of a path: when (s), which action, on which leg."""

    at_s: float
    action: PathAction
    leg: int


class PathChangeError(SettingsError):
    """A change of a schedule that cannot be made.

    Attributes:
        number: which change, from 0.
        reason: why it cannot be made.
    """

    def __init__(self, number: int, event: PathEvent, reason: str) -> None:
        """Join the parts into one message."""
        super().__init__(f"schedule.{number}.{event.action}: {event.leg}: {reason}")
        self.number = number
        self.reason = reason


@dataclass(frozen=True)
class PathPlan:
    """A path schedule that was checked for the legs of its scenario.

    Attributes:
        initial: legs that have a path at first; on the first of them the connection begins.
        events: the changes, in the order in which they happen.
        each_carries: whether each path must carry data if it was there for 1 s.
        attempt_delay_s: when a client tries the next leg (s), None: never.
        others_after_bytes: what it has received before it opens other paths.
    """

    initial: tuple[int, ...]
    events: tuple[PathEvent, ...] = ()
    each_carries: bool = True
    attempt_delay_s: float | None = None
    others_after_bytes: int = 0

    @classmethod
    def whole(cls, legs: int) -> PathPlan:
        """Return the plan without a schedule: a path on every leg from the beginning to the end."""
        return cls(primary_first(legs, 1))

    def is_whole(self, legs: int) -> bool:
        """Return whether each of so many legs has a path from the beginning to the end."""
        return len(self.initial) == legs and not self.events and not self.start_fields

    def is_default(self, legs: int) -> bool:
        """Return whether the paths are those of a transport that knows no schedule and no roles."""
        return self.is_whole(legs) and self.initial == self.whole(legs).initial

    @property
    def start_fields(self) -> tuple[str, ...]:
        """Return the fields by which the client tries several legs, or opens other paths later."""
        tries = ("attempt_delay_ms",) if self.attempt_delay_s is not None else ()
        return (*tries, "others_after_kb") if self.others_after_bytes > 0 else tries

    @property
    def attempts(self) -> tuple[int, ...]:
        """Return the legs that the client tries, one after the other, behind the first."""
        return () if self.attempt_delay_s is None else self.initial[1:]

    def opened_late(self, leg: int) -> bool:
        """Return whether a leg's path waits for what the client receives before."""
        return self.others_after_bytes > 0 and leg in self.initial[1:]

    @property
    def legs(self) -> tuple[int, ...]:
        """Return the legs that ever have a path, in the order in which they get their first one."""
        opened = (event.leg for event in self.events if event.action == "open")
        return tuple(dict.fromkeys((*self.initial, *opened)))

    def open_periods(self, leg: int) -> list[Period]:
        """Return the periods (s) in which a leg has a path, whatever its status."""
        return list(self._periods(leg, begins=("open",), ends=("abandon",)))

    def available_periods(self, leg: int) -> list[Period]:
        """Return the periods (s) in which a leg has a path that is no backup."""
        return list(self._periods(leg, begins=("open", "available"), ends=("abandon", "backup")))

    def status(self, leg: int, at_s: float) -> PathStatus | None:
        """Return the status that a leg's path was asked to have at a moment; None when not open."""
        if any(begin <= at_s < end for begin, end in self.available_periods(leg)):
            return "available"
        is_open = any(begin <= at_s < end for begin, end in self.open_periods(leg))
        return "backup" if is_open else None

    def usable_periods(
        self,
        start_s: float,
        end_s: float,
        least_s: float,
        down: Mapping[int, Sequence[Period]] = MappingProxyType({}),
    ) -> dict[int, list[Period]]:
        """Return the periods of `least_s` or more in which a leg's path was open, available and up.

        Args:
            start_s: what was before it does not count: when the flow began to connect.
            end_s: nor what is after: when the flow had ended.
            least_s: how long without a break, in s.
            down: when legs were down, by their number, in ascending order.

        Returns:
            Of each leg that has any, in the order of their numbers.
        """
        usable = {
            leg: [
                (max(begin, start_s), min(end, end_s))
                for period in self.available_periods(leg)
                for begin, end in without(period, down.get(leg, ()))
                if min(end, end_s) - max(begin, start_s) >= least_s
            ]
            for leg in sorted(self.legs)
        }
        return {leg: periods for leg, periods in usable.items() if periods}

    def _periods(
        self, leg: int, *, begins: Sequence[PathAction], ends: Sequence[PathAction]
    ) -> Iterator[Period]:
        begin = 0.0 if leg in self.initial else None
        for event in self.events:
            if event.leg == leg and event.action in begins and begin is None:
                begin = event.at_s
            elif event.leg == leg and event.action in ends and begin is not None:
                yield begin, event.at_s
                begin = None
        if begin is not None:
            yield begin, inf


def primary_first(legs: int, primary: int) -> tuple[int, ...]:
    """Return the numbers of all legs, the primary one first."""
    return (primary, *(leg for leg in range(1, legs + 1) if leg != primary))


def without(period: Period, down: Sequence[Period]) -> Iterator[Period]:
    """Yield what is left of a period between those of `down`."""
    begin, end = period
    for down_from, down_to in down:
        if down_to > begin:
            yield begin, min(end, down_from)
            begin = down_to
    yield begin, end


def _check_leg(where: str, leg: int, legs: int) -> None:
    if leg > legs:
        raise SettingsError(f"{where}: leg {leg} does not exist; allowed: 1 to {legs}")


def _event_error(event: PathEvent, status: dict[int, PathStatus]) -> str | None:
    now = f"at {event.at_s:g} s open: {_listed(status)}"
    if event.action == "open":
        return f"its path is open; {now}" if event.leg in status else None
    if event.leg not in status:
        return f"no path to {_VERB[event.action]}; {now}"
    if event.action == "abandon" and len(status) == 1:
        return f"the last path cannot be abandoned; open another one before it ({now})"
    if event.action == status[event.leg]:
        return f"its path is {event.action} already; {now}"
    return None


_VERB = {"abandon": "abandon", "backup": "make a backup", "available": "make available"}


def _apply(event: PathEvent, status: dict[int, PathStatus]) -> None:
    if event.action == "abandon":
        del status[event.leg]
    else:
        status[event.leg] = "backup" if event.action == "backup" else "available"


def _listed(legs: Sequence[int] | dict[int, PathStatus]) -> str:
    return ", ".join(map(str, legs))


FORM = f"LEG[,LEG...] [SECONDS:{'|'.join(ACTIONS)}:LEG ...]"
LEGS = re.compile(r"[0-9]+(,[0-9]+)*")
CHANGE = re.compile(rf"(?P<at_s>[^:]*):(?P<action>{'|'.join(ACTIONS)}):(?P<leg>[0-9]+)")


def parse_path_words(words: Sequence[str], source: str, *, first: int = 1) -> PathSchedule:
    """Return the schedule that the words of an option or file describe.

    Args:
        words: the first one has the initial legs, each of the others a change.
        source: the option's or the file's name, with which an error begins.
        first: the number of the first leg in these words.

    Raises:
        SettingsError: a word has another form, or the schedule cannot be kept.
    """
    initial, changes = words[0], []
    if not LEGS.fullmatch(initial):
        raise SettingsError(f"{source}: {initial!r} is no list of legs; write {FORM}")
    for word in words[1:]:
        match = CHANGE.fullmatch(word)
        if match is None:
            raise SettingsError(f"{source}: {word!r} is no change of a path; write {FORM}")
        changes.append({"at_s": match["at_s"], match["action"]: int(match["leg"]) - first + 1})
    legs = [int(leg) - first + 1 for leg in initial.split(",")]
    return PathSchedule.check({"initial": legs, "schedule": changes}, source)
