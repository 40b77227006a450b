"""Handover: which channels a terminal uses at each time, as a pure function of their capacities.

The k best channels are in use. A better one that appears takes the place of the worst of them, but
not at once: the papers' terminal "does not immediately switch away from radio stations with
temporal drops" (Electronics 11 (2022) 1492, section 4). At each step:

1. A channel that was absent (capacity 0) for as long as `give_up_s` is given up, unless it is the
   last one that has a path.
2. Fewer than k in use: the best of the others that are there come into use at once.
3. A channel that was better than one in use, by more than `hysteresis`, for `time_to_trigger_s`
   without a break (as event A3 of TS 36.331, clause 5.5.4.4) takes its place: its path is opened,
   and the other one's abandoned `overlap_s` later. Each is done in one step; of several the best
   channel goes first, and replaces the worst.

An absent channel in use keeps its path until then: the path goes on when the channel returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

ChannelAction = Literal["open", "abandon", "backup", "available"]
Channels = Sequence[Sequence[float]]
"""`capacities[channel][step]` in any unit, 0 for an absent channel."""


@dataclass(frozen=True, slots=True)
class HandoverRule:
    """The rule's parameters, in s but for `most` and `hysteresis`.

    Attributes:
        most: k, how many channels are in use at once.
        time_to_trigger_s: how long another channel must be better; in effect whole steps.
        hysteresis: by which part of the capacity it must be better; 0.1 is 10 %.
        overlap_s: from the opening of a path to the end of the one that it replaces; at most a
            step.
        give_up_s: how long an absent channel keeps its path.
        keep: the path of a replaced channel that is there becomes a backup, until it is given up.
    """

    most: int
    time_to_trigger_s: float = 1.0
    hysteresis: float = 0.0
    overlap_s: float = 0.02
    give_up_s: float = 5.0
    keep: bool = False


class ChannelEvent(NamedTuple):
    """What happens to the path on a channel (1, 2, ...)."""

    at_s: float
    action: ChannelAction
    channel: int


class Handover(NamedTuple):
    """A handover: a channel came into use in the place of another one."""

    at_s: float
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class HandoverPlan:
    """The channels in use and their changes that a rule makes of capacities.

    Attributes:
        initial: channels that have a path at first, the best first; at least one.
        events: in the order in which they happen.
        handovers: the replacements among them.
    """

    initial: tuple[int, ...]
    events: tuple[ChannelEvent, ...]
    handovers: tuple[Handover, ...]


def plan_handovers(capacities: Channels, rule: HandoverRule, step_s: float = 1.0) -> HandoverPlan:
    """Apply a rule, step by step, to as many steps as there are.

    Where no channel is there at first, the terminal begins with the one that appears first.

    Raises:
        ValueError: no channel ever has any capacity, or the overlap is longer than a step.
    """
    if rule.overlap_s > step_s:
        raise ValueError(f"overlap_s: {rule.overlap_s:g}; allowed: at most a step, {step_s:g}")
    steps = list(zip(*capacities, strict=True))
    first = next((number for number, row in enumerate(steps) if any(row)), None)
    if first is None:
        raise ValueError(f"no channel has any capacity in the first {len(steps) * step_s:g} s")
    best = _ranked(steps[first], range(1, len(capacities) + 1))
    terminal = _Terminal(rule, step_s, best[: 1 if first else rule.most])
    for number, row in enumerate(steps):
        terminal.step(number, row)
    events = sorted(terminal.events, key=lambda event: event.at_s)
    return HandoverPlan(terminal.initial, tuple(events), tuple(terminal.handovers))


def best_channels(capacities: Channels) -> list[int]:
    """Return for each step the channel (1, 2, ...) with most capacity, the first of equals."""
    return [max(range(len(row)), key=row.__getitem__) + 1 for row in zip(*capacities, strict=True)]


class _Terminal:
    """The channels in use, and since when others are better; steps are numbered from 0."""

    def __init__(self, rule: HandoverRule, step_s: float, initial: Sequence[int]) -> None:
        self.initial = tuple(initial)
        self.events: list[ChannelEvent] = []
        self.handovers: list[Handover] = []
        self._rule = rule
        self._step_s = step_s
        self._used = list(initial)
        self._backups: list[int] = []
        self._absent_since: dict[int, int] = {}
        self._better_since: dict[tuple[int, int], int] = {}  # a channel, and one in use

    def step(self, number: int, row: Sequence[float]) -> None:
        for channel, capacity in enumerate(row, start=1):
            if capacity:
                self._absent_since.pop(channel, None)
            else:
                self._absent_since.setdefault(channel, number)
        self._give_up(number)
        for channel in self._others(row)[: self._rule.most - len(self._used)]:
            self._enter(number, channel)
        left: set[int] = set()
        while (due := self._due(number, row, left)) is not None:
            new, old = due
            self._used.remove(old)
            left.add(old)
            self._enter(number, new)
            keep = self._rule.keep and bool(row[old - 1])
            self._happens(number, "backup" if keep else "abandon", old, late=True)
            if keep:
                self._backups.append(old)
            self.handovers.append(Handover(number * self._step_s, old, new))
        self._give_up(number)  # what was the last path has another one beside it now

    def _give_up(self, number: int) -> None:
        for channel in [*self._used, *self._backups]:
            since = self._absent_since.get(channel, number)
            lasted = (number - since) * self._step_s
            if lasted >= self._rule.give_up_s and len(self._used) + len(self._backups) > 1:
                (self._used if channel in self._used else self._backups).remove(channel)
                self._happens(number, "abandon", channel)

    def _due(self, number: int, row: Sequence[float], left: set[int]) -> tuple[int, int] | None:
        """Return this step's next replacement: the best channel that may, and the worst in use."""
        better = [
            (new, old)
            for new in self._others(row)
            for old in self._used
            if row[new - 1] > (1 + self._rule.hysteresis) * row[old - 1]
        ]
        self._better_since = {pair: self._better_since.get(pair, number) for pair in better}
        due = [
            pair
            for pair in better
            if (number - self._better_since[pair]) * self._step_s >= self._rule.time_to_trigger_s
            and pair[0] not in left
        ]
        return min(due, key=lambda pair: (-row[pair[0] - 1], row[pair[1] - 1], pair), default=None)

    def _others(self, row: Sequence[float]) -> list[int]:
        return _ranked(row, [other for other in range(1, len(row) + 1) if other not in self._used])

    def _enter(self, number: int, channel: int) -> None:
        self._used.append(channel)
        is_backup = channel in self._backups
        if is_backup:
            self._backups.remove(channel)
        self._happens(number, "available" if is_backup else "open", channel)

    def _happens(
        self, number: int, action: ChannelAction, channel: int, *, late: bool = False
    ) -> None:
        at_s = number * self._step_s + (self._rule.overlap_s if late else 0.0)
        self.events.append(ChannelEvent(at_s, action, channel))


def _ranked(row: Sequence[float], channels: Sequence[int]) -> list[int]:
    """Return those of the channels that are there, the best first, the lowest of equals first."""
    there = [channel for channel in channels if row[channel - 1]]
    return sorted(there, key=lambda channel: (-row[channel - 1], channel))
