"""Schedulers of a cell: which of the users with something to send has the next part of a slot.

A scheduler is a class, registered under the name that scenarios use, whose constructor takes its
parameters by keyword::

    @cell_scheduler("best-rate")
    class BestRate(CellScheduler):
        def choose(self, users: Sequence[CellUser], now: int) -> int:
            return max(range(len(users)), key=lambda index: users[index].bits)

The user that is chosen has what is left of the slot, or as much as it needs; then the scheduler is
asked of the others. Time is an argument (ns).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minitopo_dc.link.discipline import nanoseconds
from minitopo_dc.registry import Registry


class CellUser(NamedTuple):
    """A user that has something to send in a slot.

    Attributes:
        number: of the user in its cell, from 1: its legs, then the background users.
        bits: what it can carry in the whole slot.
        priority: 1 is served first, as the priority levels of TS 23.501, clause 5.7.3.3.
    """

    number: int
    bits: int
    priority: int


class CellScheduler:
    """The base of schedulers, each of which is one cell's."""

    def choose(self, users: Sequence[CellUser], now: int) -> int:
        """Return the index of the user who is served next in the slot that begins at `now` (ns).

        Args:
            users: those with something to send, at least one, by their numbers.
            now: the slot's begin.
        """
        raise NotImplementedError

    def served(self, user: CellUser, bits: int, now: int) -> None:
        """Learn that a chosen user has sent so many bits in the slot that began at `now` (ns)."""


_SCHEDULERS: Registry[Callable[..., CellScheduler]] = Registry(
    "cell scheduler", "minitopo_dc.cell_schedulers", (__name__,)
)
cell_scheduler = _SCHEDULERS.adding
"""Return a class decorator that makes a class known as the cell scheduler of a name."""
make_scheduler: Callable[[str, Mapping[str, Any]], CellScheduler] = _SCHEDULERS.make
"""Return a new scheduler of a name, of parameters by theirs; InputError: one of them is wrong."""


@cell_scheduler("round-robin")
class RoundRobin(CellScheduler):
    """Serves the users in turn, so that each has the same share of the time."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}

    def choose(self, users: Sequence[CellUser], now: int) -> int:  # noqa: ARG002
        """Return the next user of the best level behind the one that was served last of it."""
        levels = [self._level(user) for user in users]
        best = min(levels)
        turns = [index for index, level in enumerate(levels) if level == best]
        last = self._last.get(best, 0)
        index = next((index for index in turns if users[index].number > last), turns[0])
        self._last[best] = users[index].number
        return index

    def _level(self, user: CellUser) -> int:  # noqa: ARG002
        """Return the level of a user, of which the least is served first."""
        return 0


@cell_scheduler("priority")
class Priority(RoundRobin):
    """Serves users of the least priority number first, in turn among those of one priority."""

    def _level(self, user: CellUser) -> int:
        return user.priority


@cell_scheduler("proportional-fair")
class ProportionalFair(CellScheduler):
    """Serves the user whose rate is highest against what it had on average.

    The ratio of Kelly's proportional fairness (Jalali, Padovani and Pankaj, VTC 2000): each user's
    rate of the slot over its throughput, averaged by an exponential window.

    Args:
        averaging_ms: the window's time constant: 1,000 slots of 1 ms (ibid.: 1,000 slots).
    """

    def __init__(self, *, averaging_ms: float = 1000.0) -> None:
        (self._window,) = nanoseconds(averaging_ms=averaging_ms)
        # What users have had, each bit with the weight exp(its time since `_origin` / window): all
        # averages fade by the same factor, which leaves the ratios' order as it is.
        self._averages: defaultdict[int, float] = defaultdict(lambda: _LEAST)
        self._origin: int | None = None

    def choose(self, users: Sequence[CellUser], now: int) -> int:  # noqa: ARG002
        """Return the user with the greatest ratio; one that was never served is before all."""
        ratios = [user.bits / self._averages[user.number] for user in users]
        return ratios.index(max(ratios))

    def served(self, user: CellUser, bits: int, now: int) -> None:
        """Add what a user has sent to its average."""
        if self._origin is None:
            self._origin = now
        age = (now - self._origin) / self._window
        if age > _GREATEST:
            for number, average in self._averages.items():
                self._averages[number] = max(_LEAST, average * math.exp(-age))
            self._origin, age = now, 0.0
        self._averages[user.number] += bits * math.exp(age)


_LEAST = 1e-9
"""Of an average, in bits."""
_GREATEST = 300.0
"""Of an exponent, far below what a float holds."""
