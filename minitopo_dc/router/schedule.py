"""The scheduled events of legs: outages, and changes of delay, loss and block errors.

A change of the rate is no event: it is part of the leg's capacity (`LegSettings.capacity`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from minitopo_dc.link import AnyLeg, Bernoulli
from minitopo_dc.router.settings import ElementLeg
from minitopo_dc.settings import LegSettings
from minitopo_dc.units import NS_PER_S

Action = Callable[[int], None]
"""Takes the time at which it is done."""
NO_LOSS = Bernoulli(0.0)


class Schedule:
    """The outages and changes of all legs; a timed part of the loop."""

    def __init__(
        self, settings: Iterable[ElementLeg], legs: Mapping[int, AnyLeg[Any]], after: Action
    ) -> None:
        """Plan the events of these legs; `after` is called after each change."""
        self._after = after
        self._start: int | None = None
        made = [(each.radio, legs[each.leg]) for each in settings]
        planned = [
            (round(moment * NS_PER_S), action)
            for radio, leg in made
            for moment, action in _actions(radio, leg)
        ]
        delays = [_delays(radio, leg) for radio, leg in made if radio.delay_curve is not None]
        # A trace that loops changes its delay for ever, so changes are made as they are needed.
        self._planned = heapq.merge(
            sorted(planned, key=lambda entry: entry[0]), *delays, key=lambda entry: entry[0]
        )
        self._next = next(self._planned, None)

    def start(self, now: int) -> None:
        """Start the schedule's time at `now` (ns)."""
        self._start = now

    def next_timeout(self) -> int | None:
        """Return when the next leg changes (ns), None if none does."""
        if self._start is None or self._next is None:
            return None
        return self._start + self._next[0]

    def handle(self, now: int) -> None:
        """Make the next change, and call what is to follow it."""
        assert self._next is not None
        _, action = self._next
        self._next = next(self._planned, None)
        action(now)
        self._after(now)


def _actions(radio: LegSettings, leg: AnyLeg[Any]) -> Iterator[tuple[float, Action]]:
    """Yield when (s) something is to be done to the leg, and what."""
    for begin, end in radio.outages:
        yield begin, partial(leg.set_up, False)
        yield end, partial(leg.set_up, True)
    for change, stage in radio.stages():
        wanted: dict[str, Any] = {}
        if change.delay_ms is not None or change.jitter_ms is not None:
            wanted["delay"] = stage.delay_model()
        if change.loss_percent is not None:
            wanted["loss"] = stage.loss_model() or NO_LOSS
        if change.block_error_percent is not None and stage.rlc is not None:
            wanted["block_error"] = stage.rlc.block_error_percent / 100
        if wanted:
            yield change.at_s, partial(leg.retune, **wanted)


def _delays(radio: LegSettings, leg: AnyLeg[Any]) -> Iterator[tuple[int, Action]]:
    """Yield when (ns) the leg gets another delay, and the change; the first delay is set before."""
    for moment, delay in radio.delays():
        if moment:
            yield moment, partial(leg.retune, delay=delay)
