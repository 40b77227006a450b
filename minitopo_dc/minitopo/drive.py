"""A drive in a topology file: changes of each path, outages, and when a path is open.

A drive's channels (docs/cellular.md) have a capacity each second. A handover rule says which of
them are used; its schedule becomes `pathAt` lines. So the file says all of it, and is run without
the drive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import get_args

from minitopo_dc.fields import SettingsError
from minitopo_dc.installation import shipped
from minitopo_dc.link import DelayCurve, curve_delay_ns
from minitopo_dc.minitopo.path_parameters import LONGEST_S, RATE_MBPS
from minitopo_dc.scenario.change import STEP_S, HandoverSettings
from minitopo_dc.trace import read_channels
from minitopo_dc.trace.handover import HandoverPlan, plan_handovers
from minitopo_dc.units import NS_PER_MS

SHIPPED = ("residential", "road")
"""The drives that come with the project."""
MAX_CHANGES = 2400
"""The most changes of all paths together, one a second each: a scenario file of them has 400,000
characters of the 500,000 that it may have."""


@dataclass(frozen=True, slots=True)
class DriveChange:
    """A change of a path: its properties from a second on."""

    at_s: int
    rate_mbps: float
    delay_ms: float


@dataclass(frozen=True, slots=True)
class DrivePath:
    """The changes, outages and events of one path over time."""

    changes: tuple[DriveChange, ...]
    outages: tuple[tuple[int, int], ...]
    events: tuple[tuple[float, str], ...]
    """When (s) its path is opened or changed otherwise; at 0 s: its initial state."""


@dataclass(frozen=True, slots=True)
class Drive:
    """All paths of a drive; rate and delay are the best channel's mean, which sizes the queues."""

    rate_mbps: float
    delay_ms: float
    paths: tuple[DrivePath, ...]
    order: tuple[int, ...]
    """The paths, beginning with those that are open at first, the best one before the others."""


def drive_paths(
    drive: str, start: str, seconds: str, curve: str, handover: Mapping[str, str]
) -> Drive:
    """Return the paths of a drive, from a moment on; after its end the drive begins anew.

    Args:
        drive: one of `SHIPPED`, or the file of its channels.
        start: the second of the drive at which the transfer begins.
        seconds: for how long the changes last.
        curve: the kind of the delay's curve.
        handover: the fields of `HandoverSettings`.

    Raises:
        SettingsError, TraceError: a value or the file is wrong; the message says what is allowed.
    """
    kind = next((known for known in get_args(DelayCurve) if known == curve), None)
    if kind is None:
        raise SettingsError(f"curve={curve}; allowed: {', '.join(get_args(DelayCurve))}")
    rule = HandoverSettings.check(dict(handover), "handover")
    file = shipped("traces") / f"drive_{drive}.csv" if drive in SHIPPED else Path(drive)
    try:
        capacities = read_channels(file)
    except OSError as error:
        allowed = f"allowed: {', '.join(SHIPPED)}, or a file"
        raise SettingsError(f"drive={drive}: {error.strerror}; {allowed}") from None
    first = _whole("start", start, 0, int(LONGEST_S))
    count = _whole("seconds", seconds, 1, max(1, MAX_CHANGES // len(capacities.mbps)))
    rows = [[row[(first + s) % len(row)] for s in range(count)] for row in capacities.mbps]
    if not any(map(any, rows)):
        where = f"from {first} to {first + count} s"
        raise SettingsError(f"drive={drive}: no channel has any capacity {where}")
    if rule.case == "sp":
        rows, plan = [[max(step) for step in zip(*rows, strict=True)]], None
    elif rule.case > len(rows):
        what = f"the drive {drive} has {len(rows)} channels"
        raise SettingsError(f"case={rule.case}: {what}; allowed: sp, or 1 to {len(rows)}")
    else:
        plan = plan_handovers(rows, rule.rule(), STEP_S)
    initial = [] if plan is None else [number - 1 for number in plan.initial]
    mean = fmean(max(capacities.at(step)) for step in range(capacities.steps))
    return Drive(
        rate_mbps=round(max(mean, RATE_MBPS[0]), 3),
        delay_ms=_delay_ms(kind, mean),
        paths=tuple(
            DrivePath(
                changes=tuple(_changes(row, kind)),
                outages=tuple(_outages(row)),
                events=() if plan is None else tuple(_events(number, plan)),
            )
            for number, row in enumerate(rows, start=1)
        ),
        order=(*initial, *(path for path in range(len(rows)) if path not in initial)),
    )


def _changes(row: Sequence[float], curve: DelayCurve) -> Iterator[DriveChange]:
    """Yield the changes of rate and delay; while there is no capacity, both stay as before."""
    before = 0.0
    for second, rate in enumerate(row):
        if rate and rate != before:
            before = rate
            yield DriveChange(second, max(rate, RATE_MBPS[0]), _delay_ms(curve, rate))


def _outages(row: Sequence[float]) -> Iterator[tuple[int, int]]:
    for absent, group in groupby(range(len(row)), key=lambda second: not row[second]):
        if absent:
            seconds = list(group)
            yield seconds[0], seconds[-1] + 1


def _events(number: int, plan: HandoverPlan) -> Iterator[tuple[float, str]]:
    own = [(event.at_s, event.action) for event in plan.events if event.channel == number]
    if number in plan.initial:
        yield 0, "open"
    elif not own:
        yield 0, "abandon"
    yield from own


def _delay_ms(curve: DelayCurve, rate_mbps: float) -> float:
    return curve_delay_ns(curve, round(rate_mbps * 1e6)) / NS_PER_MS


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise SettingsError(f"{name}={text}; allowed: whole s, {least} to {most}")
    return int(text)
