"""What became of each path that a multipath flow was to have: was it used, and if not, why not.

A transport that *could not* use a path although there was time for it fell back, and its run has
failed. One whose scheduler chose another path, or whose transfer was over first, has not.

What tells it is, in this order: the bytes on the leg; the transport's own report of its paths
(`PathReport`: a QUIC path that was validated, an MPTCP subflow that was established); of a
transport without reports again the bytes, as a validated path has carried a padded answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile
from math import inf
from typing import Any, Literal

from minitopo_dc.fields import PathPlan
from minitopo_dc.fields.path_schedule import Period
from minitopo_dc.results.run_result import available_bits
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PATHS

PathUse = Literal[
    "used", "unused by scheduler", "over first", "not available", "not validated", "given up"
]
PATH_USE = "path_use"
"""Of `details`: the `PathUse` of each leg that was to have a path, by its number as a text.

* `used`: it carried data.
* `unused by scheduler`: the transport had the path for long enough, and chose others.
* `over first`: the transfer was over before the path could carry data.
* `not available`: it was a backup, or its leg down or without capacity, but for too short times.
* `not validated`: there was time for it, and the transport never had it.
* `given up`: the transport had it, and gave it up long before it was to end.
"""
FALLBACK: Mapping[PathUse, str] = {
    "not validated": "was never validated",
    "given up": "was given up",
}
"""The uses of a path that the transport could not use, and what happened to it."""

MINIMUM_PATH_BYTES = 15_000
"""A path that carried less than ten full packets carried a handshake, not data."""
DATA_SHARE = 0.1
"""Of a flow that is too short for ten packets on each leg: a tenth of it is data, too."""
PADDED_BYTES = 1_200
"""A datagram with PATH_CHALLENGE or PATH_RESPONSE has at least so many (RFC 9000, section 8.2)."""
MINIMUM_PATH_S = 1.0
"""With a schedule or outages, a path counts as usable where it was asked to be open and available,
and its leg was up, for so long: at the papers' longest round trip of 400 ms that is enough to open
it and for a first window of ten packets. It is also the first probe timeout of a path whose round
trip is not known (RFC 9002, section 6.2.2), after which a lost packet is sent again."""
ROUND_TRIPS = 4
"""Of the first leg and of the path's own, until a path must be open: twice those that MPTCP needs
(two, RFC 8684, section 3.2; QUIC: one, RFC 9000, section 8.2), as packets wait in queues."""
PROGRAMS_S = 0.1
"""For programs to start and to open paths, on the real clock."""
WORTH_USING = 100 * MINIMUM_PATH_BYTES
"""The bytes that a leg could have carried in one period, so that it fails a run in which not each
path has to carry data: a drive also has channels of 0.01 Mbit/s, for one second."""


@dataclass(frozen=True)
class FlowPaths:
    """The paths of one flow with a plan, and what its legs carried for it."""

    scenario: Scenario
    flow: ResolvedFlow
    plan: PathPlan
    measured: Measurement
    carried: Sequence[int]
    """The bytes of each leg."""

    @cached_property
    def uses(self) -> dict[int, PathUse]:
        """Return what became of the path on each leg of the plan, in the order of the legs."""
        return {leg: self._use(leg) for leg in sorted(self.plan.legs)}

    @property
    def details(self) -> dict[str, Any]:
        """Return what became of each path as details of the run's result."""
        return {PATH_USE: {str(leg): use for leg, use in self.uses.items()}} if self.uses else {}

    def failure(self) -> str | None:
        """Return what is wrong with the paths, and the bytes of each leg; None: nothing.

        It is a leg that carried data although the schedule opens no path on it, or the first path
        that counts and could not be used. Small answers may all take one path: of a workload
        without goodput only the transport's own report counts.
        """
        carried = f"bytes per leg {list(self.carried)}"
        for leg, count in enumerate(self.carried, start=1):
            if count >= MINIMUM_PATH_BYTES and leg not in self.plan.legs:
                what = f"leg {leg} carried data, although the schedule opens no path on it"
                return f"{what}: {carried}"
        if PATHS not in self.measured.details and not self.flow.workload.has_goodput:
            return None
        for leg, use in self.uses.items():
            usable = self._usable(leg)
            counts = self.plan.each_carries or self._most_bytes(leg, usable) >= WORTH_USING
            if use in FALLBACK and counts:
                usable_s = max(end - begin for begin, end in usable)
                why = f"{FALLBACK[use]}, although {usable_s:.3g} s were there"
                return f"the path on leg {leg} {why}: {carried}"
        return None

    def _use(self, leg: int) -> PathUse:
        count, total = self.carried[leg - 1], sum(self.carried)
        short = max(2 * PADDED_BYTES, DATA_SHARE * total)
        if count >= min(MINIMUM_PATH_BYTES, short) or count == max(self.carried):
            return "used"
        if not (usable := self._usable(leg)):
            over = self._periods(leg, inf) and not self._periods(leg, self._end_s)
            return "over first" if over else "not available"
        if PATHS not in self.measured.details:
            return "unused by scheduler" if count >= PADDED_BYTES else "not validated"
        return self._reported(leg, usable)

    def _reported(self, leg: int, usable: Sequence[Period]) -> PathUse:
        shared = [
            (until - since, end - until)
            for path in self.measured.details[PATHS]
            if path["leg"] == leg
            for begin, end in usable
            for since, until in [_overlap(path, begin, end)]
            if until > since
        ]
        if not shared:
            return "not validated"
        had_s, without_s = zip(*shared, strict=True)
        if min(without_s) >= MINIMUM_PATH_S:
            return "given up"
        return "unused by scheduler" if max(had_s) >= self._needed_s(leg) else "over first"

    def _usable(self, leg: int) -> list[Period]:
        """Return the periods in which the flow had time, and the leg capacity, to use a path."""
        periods = self._periods(leg, self._end_s)
        return [one for one in periods if self._most_bytes(leg, [one]) >= MINIMUM_PATH_BYTES]

    def _periods(self, leg: int, end_s: float) -> list[Period]:
        """Return the periods in which a leg's path was open, available and up for long enough."""
        start = self.measured.started_s
        if leg != self.plan.initial[0]:
            start += self.measured.details.get("handshake_s") or 0
        if self.plan.opened_late(leg):  # as if bytes had come at one rate
            share = self.plan.others_after_bytes / max(1, self.measured.bytes_received)
            start += share * self.measured.completion_s
        periods = self.plan.usable_periods(start, end_s, self._needed_s(leg), self._down())
        return periods.get(leg, [])

    @property
    def _end_s(self) -> float:
        return self.measured.started_s + self.measured.completion_s

    def _down(self) -> dict[int, Sequence[Period]]:
        legs = enumerate(self.scenario.legs, start=1)
        return {number: leg.down_periods() for number, leg in legs}

    def _needed_s(self, leg: int) -> float:
        """Return how long a path must be there before it must have been opened, in s."""
        start, end = self.measured.started_s, self._end_s
        first, own = (self.scenario.legs[number - 1] for number in (self.plan.initial[0], leg))
        opening = PROGRAMS_S + ROUND_TRIPS * (round_trip_s(first, end) + round_trip_s(own, end))
        if _loses(first) or _loses(own):
            opening += MINIMUM_PATH_S
        down = any(since < end and until > start for since, until in self._down()[leg])
        always = self.plan.is_whole(len(self.scenario.legs)) and not down
        return opening if always else max(opening, MINIMUM_PATH_S)

    def _most_bytes(self, leg: int, periods: Sequence[Period]) -> float:
        legs, loads = self.scenario.legs, self.scenario.loads
        bits = (available_bits(legs, loads, *period)[leg - 1] for period in periods)
        return max(bits, default=0) / 8


def _overlap(path: Mapping[str, Any], begin: float, end: float) -> Period:
    opened, closed = path.get("opened_s"), path.get("closed_s")
    since = begin if opened is None else max(begin, opened)
    return since, end if closed is None else min(end, closed)


def round_trip_s(leg: Leg, end_s: float) -> float:
    """Return the longest round trip of a leg without queues until a moment, in s."""
    return longest_delay_s(leg.downlink, end_s) + longest_delay_s(leg.uplink, end_s)


def longest_delay_s(radio: LegDirection, end_s: float) -> float:
    """Return the longest one-way delay of a direction without its queue until a moment, in s."""
    if radio.delay_varies:  # a trace that loops has delays without end
        until = takewhile(lambda step: step[0] <= end_s * NS_PER_S, radio.delays())
        return max(model.mean_ns for _, model in until) / NS_PER_S
    return max(stage.delay_ms for stage in _stages(radio)) / 1000


def _loses(leg: Leg) -> bool:
    """Return whether packets are lost at random on a leg, so that one may have to be sent again."""
    stages = chain(_stages(leg.downlink), _stages(leg.uplink))
    return any(stage.mean_loss_percent() or stage.rlc or stage.wifi for stage in stages)


def _stages(radio: LegDirection) -> Iterator[LegDirection]:
    yield radio
    yield from (stage for _, stage in radio.stages())
