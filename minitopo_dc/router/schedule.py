"""What happens to legs at set times after the start: outages, changes of delay, loss, errors.

Changes of the rate are part of a leg's capacity (`LegSettings.capacity`), which is exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from minitopo_dc.link import AnyLeg, Bernoulli
from minitopo_dc.router.settings import ElementLeg
from minitopo_dc.settings import LegSettings
from minitopo_dc.units import NS_PER_S

Action = Callable[[int], None]
"""Takes the time at which it is done."""
NO_LOSS = Bernoulli(0.0)


class HasLeg(Protocol):
    """A leg's driver, over real packets or in virtual time."""

    @property
    def leg(self) -> AnyLeg[Any]:
        """The leg."""


class Schedule:
    """The outages and changes of all legs; a timed part of the loop."""

    def __init__(
        self, legs: Iterable[ElementLeg], drivers: Mapping[int, HasLeg], after: Action
    ) -> None:
        """Plan it; `after` is done after each change."""
        self._after = after
        self._start: int | None = None
        planned = [
            (round(moment * NS_PER_S), action)
            for leg in legs
            for moment, action in _actions(leg.radio, drivers[leg.leg].leg)
        ]
        self._planned = deque(sorted(planned, key=lambda entry: entry[0]))

    def start(self, now: int) -> None:
        """The times count from `now`."""
        self._start = now

    def next_timeout(self) -> int | None:
        """When the next leg changes."""
        if self._start is None or not self._planned:
            return None
        return self._start + self._planned[0][0]

    def handle(self, now: int) -> None:
        """Make the next change."""
        _, action = self._planned.popleft()
        action(now)
        self._after(now)


def _actions(radio: LegSettings, leg: AnyLeg[Any]) -> Iterator[tuple[float, Action]]:
    """When (s), and what is to be done to the leg then."""
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
